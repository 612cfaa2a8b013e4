# SPDX-License-Identifier: Apache-2.0
"""Traces of the examples with another host's name or clock."""

import gzip
import os
import re

from program import ROOT


def _later(nanoseconds):
    def change(match):
        whole, fraction = match[2], (match[3] or "")[1:]
        assert len(fraction) <= 3, match[0]
        time = int(whole) * 1000 + int(fraction.ljust(3, "0")) + nanoseconds
        assert time >= 0
        return f"{match[1]}{time // 1000}.{time % 1000:03d}"
    return change


def copy(example, rank, folder, host=None, later=0):
    """rank's trace of examples/EXAMPLE to FOLDER, its clock `later` nanoseconds ahead, exactly."""
    with gzip.open(os.path.join(ROOT, "examples", example, f"rank{rank}.json.gz"), "rt", encoding="utf-8") as file:
        text = file.read()
    if later:
        text = re.sub(r'("ts": ?)(\d+)(\.\d+)?', _later(later), text)
    if host is not None:
        text, count = re.subn(r'("host_name": ?)"[^"]*"', rf'\1"{host}"', text)
        assert count == 1
    with open(os.path.join(folder, f"rank{rank}.json"), "w", encoding="utf-8") as file:
        file.write(text)
