#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills README.md's blocks of real output, or with --check says where they are not what the program prints.

A block is a fenced code block below a line `<!-- output: ARGUMENTS -->`, arguments as for ./headway. A line that reads
`<!-- output 12: ARGUMENTS -->` takes the first 12 lines.
"""

import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
BLOCK = re.compile(r"(<!-- output(?: (\d+))?: (.+?) -->\n```\w*\n)(.*?)(^```$)", re.S | re.M)


def run(program, arguments, line_count):
    environment = {**os.environ, "NO_COLOR": "1", "LC_ALL": "C.UTF-8", "COLUMNS": "100"}
    done = subprocess.run(
        [program, *shlex.split(arguments)], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, encoding="utf-8", check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"headway {arguments}: exit status {done.returncode}\n{done.stderr}")
    lines = done.stdout.splitlines(keepends=True)
    return "".join(lines[: int(line_count)] if line_count else lines)


def refreshed(text, program):
    if not BLOCK.search(text):
        raise SystemExit("README.md has no block of real output (<!-- output: ARGUMENTS -->)")
    return BLOCK.sub(lambda block: block[1] + run(program, block[3], block[2]) + block[5], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.path.join(ROOT, "headway"))
    parser.add_argument("--readme", default=os.path.join(ROOT, "README.md"))
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    with open(arguments.readme, encoding="utf-8") as file:
        text = file.read()
    new = refreshed(text, arguments.program)
    if not arguments.check:
        with open(arguments.readme, "w", encoding="utf-8") as file:
            file.write(new)
        return 0
    for line in difflib.unified_diff(text.splitlines(), new.splitlines(), "README.md", "the program", lineterm=""):
        print(line)
    if new != text:
        print("README.md does not show what the program prints: run tools/update_readme.py and read the change")
    return 1 if new != text else 0


if __name__ == "__main__":
    sys.exit(main())
