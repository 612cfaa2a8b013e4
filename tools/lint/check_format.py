#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds every .cc and .h file to .clang-format. --fix FILE… rewrites (with no file named, all)."""

import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from source_files import cxx_files  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--tool", default="clang-format-19")
    parser.add_argument("--fix", action="store_true")
    arguments = parser.parse_args()
    names = arguments.files or cxx_files(arguments.root)
    if not names:
        return 0
    mode = ["-i"] if arguments.fix else ["--dry-run", "-Werror", "--ferror-limit=1"]
    command = [arguments.tool, *mode, *names]
    done = subprocess.run(command, cwd=arguments.root, capture_output=True, text=True, check=False)
    wrong = [line for line in done.stderr.splitlines() if ": error:" in line]
    if done.returncode != 0:
        print("\n".join(wrong) or done.stderr)
        print(f"{len(wrong)} of {len(names)} files; to rewrite them: tools/lint/check_format.py --fix [FILE…]")
        return 1
    print(f"{len(names)} files are formatted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
