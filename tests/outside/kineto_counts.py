#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Kineto traces among the outside data hold, counted without any of our code: python3 kineto_counts.py DATA > kineto_counts.tsv.

One line a trace: its path in DATA (with the member's name for archives), the sum of the durations and the exclusive or
of the starts of its X rows, both in whole ns (decimal arithmetic, halves away from zero), the number of instant rows, and
the X rows of each category. kineto_outside_test.cc holds the reader to it.
"""
import collections
import gzip
import json
import os
import sys
import tarfile
from decimal import ROUND_HALF_UP, Decimal

FOLDERS = ("cpu_ddp", "cpu_mesh", "hta", "kineto", "param", "tracelens", "triosim")


def contents(root):
    for folder in FOLDERS:
        for directory, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                path = os.path.join(directory, name)
                relative = os.path.relpath(path, root)
                if name.endswith(".tar.gz"):
                    with tarfile.open(path) as archive:
                        for member in archive:
                            if member.isfile():
                                yield f"{relative}:{member.name}", archive.extractfile(member).read()
                elif name.endswith((".json", ".gz")):
                    data = open(path, "rb").read()
                    yield relative, gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def nanos(value):
    return int((Decimal(value) * 1000).to_integral_value(ROUND_HALF_UP))


def main(root):
    lines = []
    for path, data in contents(root):
        try:
            document = json.loads(data.decode("utf-8", "replace"), strict=False, parse_float=Decimal)
        except ValueError:
            continue
        events = document.get("traceEvents") if isinstance(document, dict) else None
        if events is None:
            continue
        rows = [e for e in events if e.get("ph") == "X"]
        categories = collections.Counter(e.get("cat", "") for e in rows)
        starts = 0
        for row in rows:
            starts ^= nanos(row["ts"])
        lines.append("\t".join([
            path, str(sum(nanos(e["dur"]) for e in rows if "dur" in e)), str(starts),
            str(sum(e.get("ph") == "i" for e in events)),
            ";".join(f"{name}={count}" for name, count in sorted(categories.items()))]))
    print("# path, sum of durations (ns), xor of starts (ns), instant rows, X rows by category: kineto_counts.py")
    print("\n".join(sorted(lines)))


if __name__ == "__main__":
    main(sys.argv[1])
