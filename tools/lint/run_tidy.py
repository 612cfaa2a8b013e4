#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over the .cc files of some folders (and the project's headers they include); what passed is remembered."""

import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compile_flags import read_flags  # noqa: E402
from result_cache import ResultCache, check_all  # noqa: E402
from source_files import cxx_files, read  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", help="relative to the root: src/base fuzz")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--build", required=True, help="a build folder with compile_commands.json")
    parser.add_argument("--tool", default="clang-tidy-19")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    root = os.path.abspath(arguments.root)

    version = subprocess.run([arguments.tool, "--version"], capture_output=True, text=True, check=True).stdout
    cache = ResultCache(root, os.path.join(arguments.build, "lint-cache"), version, read(root, ".clang-tidy"))
    flags = read_flags(arguments.build)
    places = tuple(folder.rstrip("/") + "/" for folder in arguments.folders)
    names = [name for name in cxx_files(root) if name.startswith(places) and os.path.join(root, name) in flags]

    def run(name, file_flags):
        done = subprocess.run(
            [arguments.tool, "--quiet", os.path.join(root, name), "--", *file_flags, "-Wno-everything"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return ""
        return done.stdout.replace(root + "/", "").strip() or done.stderr.replace(root + "/", "")

    return 1 if check_all(cache, arguments.jobs, names, lambda name: flags[os.path.join(root, name)], run) else 0


if __name__ == "__main__":
    sys.exit(main())
