#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums up ctest runs (JUnit files): what failed, what was skipped and why, what was slow; last, the counts."""

import argparse
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter


def read_cases(path):
    """(name, 'passed' | 'failed' | 'skipped', seconds, output) of each test; a run that left no file is a failure."""
    if not os.path.isfile(path):
        return [(f"ctest itself ({path})", "failed", 0.0, "it wrote no results")]
    cases = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        status = {"run": "passed", "fail": "failed"}.get(case.get("status"), "skipped")
        cases.append((case.get("name"), status, float(case.get("time", 0)), case.findtext("system-out") or ""))
    return cases


def skip_reason(output):
    """The line that says why: the one after a GoogleTest skip's place, else the one that says "skipped"."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for at, line in enumerate(lines):
        if re.search(r"\.(cc|h):\d+: Skipped$", line) and at + 1 < len(lines):
            return lines[at + 1]
    named = [line for line in lines if re.search(r"skip", line, re.I) and not line.startswith("[")]
    return (named or lines or ["no reason given"])[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--also", nargs=2, type=int, default=(0, 0), metavar=("PASSED", "FAILED"),
                        help="checks that ctest did not run")
    arguments = parser.parse_args()
    cases = [case for path in arguments.files for case in read_cases(path)]

    print()
    reasons = Counter(skip_reason(output) for _, status, _, output in cases if status == "skipped")
    for reason, count in sorted(reasons.items()):
        print(f"skipped ({count}): {reason}")
    slow = sorted(cases, key=lambda case: -case[2])[:5]
    if slow:
        print("slowest: " + ", ".join(f"{name} {seconds:.1f} s" for name, _, seconds, _ in slow))
    for name, status, _, _ in cases:
        if status == "failed":
            print(f"FAILED: {name}")
    counts = Counter(status for _, status, _, _ in cases)
    passed = counts["passed"] + arguments.also[0]
    failed = counts["failed"] + arguments.also[1]
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{passed} passed, {failed} failed{skipped}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
