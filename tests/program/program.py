# SPDX-License-Identifier: Apache-2.0
"""Runs the program that HEADWAY_PROGRAM names, in the root of the checkout."""

import os
import subprocess

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PROGRAM = os.environ.get("HEADWAY_PROGRAM", os.path.join(ROOT, "build", "dev", "bin", "headway"))


def headway(*arguments, **options):
    """The finished process; its output is text unless `options` say otherwise."""
    if "stdout" not in options:
        options["stdout"] = subprocess.PIPE
    return subprocess.run([PROGRAM, *arguments], cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False, **options)


def output(*arguments):
    done = headway(*arguments)
    if done.returncode != 0:
        raise AssertionError(f"headway {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout
