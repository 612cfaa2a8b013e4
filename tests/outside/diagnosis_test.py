#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real jobs with really injected faults: every labelled case is right, first in the list, without a false alarm."""

import os
import subprocess
import sys

from outside_data import ROOT, need


def main():
    folders = need("cpu_ddp", "cpu_mesh")
    program = os.environ.get("HEADWAY_PROGRAM") or os.path.join(ROOT, "headway")
    score = os.path.join(ROOT, "bench", "diagnosis_score")
    return subprocess.run([sys.executable, score, "--require", "--headway", program, *folders], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
