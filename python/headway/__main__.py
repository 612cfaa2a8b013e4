# SPDX-License-Identifier: Apache-2.0
"""``python -m headway ARGS`` is the same as ``headway ARGS``."""

import os
import sys

from headway._program import find_program


def main():
    program = find_program()
    if program is None:
        print(
            "headway: the program was not found; install it with `pip install .` in a checkout of headway",
            file=sys.stderr,
        )
        return 4
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
