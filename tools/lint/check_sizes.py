#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A .cc or .h file has at most 400 lines. Files that were longer when the rule came are listed with their size in
tests/style/long_files.txt; the list only shrinks: a listed file may not grow, and must be listed at its present size.

--shrink writes the present sizes of the listed files (never a larger one) and drops those that are short enough.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from source_files import cxx_files, read  # noqa: E402

LIMIT = 400
LIST = "tests/style/long_files.txt"


def read_list(root):
    allowed = {}
    if os.path.isfile(os.path.join(root, LIST)):
        for line in read(root, LIST).splitlines():
            if line and not line.startswith("#"):
                name, lines = line.split()
                allowed[name] = int(lines)
    return allowed


def check(root):
    sizes = {name: len(read(root, name).splitlines()) for name in cxx_files(root)}
    allowed = read_list(root)
    mistakes = []
    for name, size in sizes.items():
        limit = allowed.get(name, LIMIT)
        if size > limit:
            mistakes.append(f"{name}: {size} lines, at most {limit}; split it by idea")
    for name, limit in allowed.items():
        size = sizes.get(name, 0)
        if size < limit:
            mistakes.append(f"{name}: now {size} lines, listed with {limit}; run tools/lint/check_sizes.py --shrink")
    return mistakes


def shrink(root):
    kept = ["# Files over the limit, with their size: tools/lint/check_sizes.py. This list only shrinks."]
    for name, limit in sorted(read_list(root).items()):
        path = os.path.join(root, name)
        size = len(read(root, name).splitlines()) if os.path.isfile(path) else 0
        if size > LIMIT:
            kept.append(f"{name} {min(size, limit)}")
    with open(os.path.join(root, LIST), "w", encoding="utf-8") as file:
        file.write("\n".join(kept) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--shrink", action="store_true", help="write the present sizes where they are smaller")
    arguments = parser.parse_args()
    if arguments.shrink:
        shrink(arguments.root)
    mistakes = check(arguments.root)
    print("\n".join(mistakes) if mistakes else f"no file grew beyond {LIMIT} lines")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
