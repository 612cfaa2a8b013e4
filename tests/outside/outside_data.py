# SPDX-License-Identifier: Apache-2.0
"""Where the outside data lie, and the program under test. A script that needs them exits with 77 where they are absent."""

import json
import os
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))


def data_folder():
    return os.environ.get("HEADWAY_SHARED_DATA") or os.path.join(ROOT, "..", "shared", "data")


def need(*paths):
    """The paths below the data folder; ends the script as skipped where one is absent."""
    full = [os.path.join(data_folder(), path) for path in paths]
    for path in full:
        if not os.path.exists(path):
            print(f"skipped: {path} is not here")
            sys.exit(77)
    return full


def headway(*arguments):
    """Runs the program; its standard output as text, its exit status."""
    program = os.environ.get("HEADWAY_PROGRAM") or os.path.join(ROOT, "headway")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return done.stdout, done.returncode


def inspect(path):
    text, status = headway("inspect", "--json", "--quiet", path)
    if status != 0:
        raise AssertionError(f"headway inspect {path}: exit status {status}")
    return json.loads(text)
