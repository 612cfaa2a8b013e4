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


def headway(*arguments, folder=None):
    """Runs the program (in `folder`); its standard output as text, its exit status."""
    program = os.environ.get("HEADWAY_PROGRAM") or os.path.join(ROOT, "headway")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, cwd=folder)
    return done.stdout, done.returncode


def headway_json(command, *arguments, folder=None):
    text, status = headway(command, "--json", "--quiet", *arguments, folder=folder)
    if status != 0:
        raise AssertionError(f"headway {command} {' '.join(arguments)}: exit status {status}")
    return json.loads(text)


def inspect(*paths):
    return headway_json("inspect", *paths)


class Checks:
    """Counts figures that are right, prints those that are not."""

    def __init__(self):
        self.right = 0
        self.wrong = 0

    def that(self, condition, what):
        if condition:
            self.right += 1
            return
        self.wrong += 1
        print(what)

    def near(self, what, got, expected, tolerance):
        """Numbers; an expected None is not compared."""
        if expected is not None:
            self.that(abs(got - expected) <= tolerance, f"{what}: {got:.6f}, expected {expected:.6f}")

    def equal(self, what, got, expected):
        self.that(got == expected, f"{what}: {got}, expected {expected}")

    def done(self):
        """The exit status of the script."""
        print(f"{self.right} figures right, {self.wrong} wrong")
        return 1 if self.wrong else 0
