#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every header under src/ includes what it needs. One that its own .cc or test includes first is proven by the build; the
others are compiled alone here. What passed is remembered."""

import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from compile_flags import read_flags, union  # noqa: E402
from result_cache import INCLUDE, ResultCache, check_all  # noqa: E402
from source_files import cxx_files, read  # noqa: E402


def proven_by_the_build(root, name):
    """Whether a source of the header's name includes it before anything else."""
    for ending in (".cc", "_test.cc"):
        source = name[: -len(".h")] + ending
        if os.path.isfile(os.path.join(root, source)):
            text = read(root, source)
            first = INCLUDE.search(text)
            earlier = text[: first.start()] if first else text
            if first and first.group(1) == name[len("src/") :] and "#include" not in earlier:
                return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--build", required=True, help="a build folder with compile_commands.json")
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    root = os.path.abspath(arguments.root)

    version = subprocess.run([arguments.compiler, "--version"], capture_output=True, text=True, check=True).stdout
    cache = ResultCache(root, os.path.join(arguments.build, "lint-cache"), "headers", version)
    flags = union(read_flags(arguments.build).values())
    headers = [name for name in cxx_files(root) if name.startswith("src/") and name.endswith(".h")]
    names = [name for name in headers if not proven_by_the_build(root, name)]

    def run(name, file_flags):
        # Through a file that includes it twice, as a header compiled directly warns about its own pragma.
        text = f'#include "{name[4:]}"\n#include "{name[4:]}"\n'
        command = [arguments.compiler, *file_flags, "-fsyntax-only", "-x", "c++", "-"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd=root)
        return "" if done.returncode == 0 else f"{name} does not compile alone:\n{done.stderr[:2000]}"

    return 1 if check_all(cache, arguments.jobs, names, lambda name: flags, run) else 0


if __name__ == "__main__":
    sys.exit(main())
