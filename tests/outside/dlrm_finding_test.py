#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one step of DLRM on eight devices suffers from: its ranks enter it up to 7.5 ms apart, so the cause lies before the
window and nobody inside is to blame; inside, ranks 7, 4 and 5 arrive last at the collectives, by times worked out here
from the raw rows (whole microseconds, one clock).
"""

import json
import re
import sys
import tarfile

from outside_data import Checks, headway_json, need

MICROSECONDS = {"us": 1, "ms": 1e3}


def raw_ranks(path):
    """By rank: start of its step, starts of its NCCL kernels in order (us)."""
    ranks = {}
    with tarfile.open(path) as archive:
        for member in archive:
            name = re.search(r"worker(\d)", member.name)
            if not member.isfile() or not name:
                continue
            rows = [e for e in json.load(archive.extractfile(member))["traceEvents"] if e.get("ph") == "X"]
            steps = [e["ts"] for e in rows if e["name"].startswith("ProfilerStep#")]
            kernels = [(e["ts"], e["name"]) for e in rows if e.get("cat") == "kernel" and "nccl" in e["name"].lower()]
            ranks[int(name.group(1))] = min(steps), [start for start, _ in sorted(kernels)]
    return ranks


def lateness(ranks):
    """By rank: how often it came last, and by how much after the second latest (us)."""
    late = {}
    for starts in zip(*(starts for _, starts in (ranks[r] for r in sorted(ranks)))):
        second, latest = sorted(starts)[-2:]
        rank = sorted(ranks)[starts.index(latest)]
        times, by = late.get(rank, (0, 0))
        late[rank] = times + 1, by + latest - second
    return late


def printed_us(text):
    value, unit = text.split()
    return float(value) * MICROSECONDS[unit]


def main():
    checks = Checks()
    path, = need("param/dlrm_kineto.tar.gz")
    ranks = raw_ranks(path)
    entered = [start for start, _ in ranks.values()]
    late = lateness(ranks)
    checks.equal("ranks that arrive last, by the raw rows", {r: times for r, (times, _) in late.items()}, {7: 5, 5: 2, 4: 1})

    document = headway_json("diagnose", path)
    first = document["findings"][0]
    checks.equal("cause", first["cause"], "late-entry")
    checks.that("up to 7.5 ms apart" in first["sentence"], first["sentence"])
    checks.that("The cause lies before the window." in first["sentence"], first["sentence"])
    checks.that(7 in first["scope"]["ranks"] and 1 not in first["scope"]["ranks"], f"late ranks {first['scope']['ranks']}")
    # Nobody inside the window costs the job anything worth a warning.
    checks.equal("other findings above info", [f["cause"] for f in document["findings"][1:] if f["severity"] != "info"], [])

    apart = next(e for e in first["evidence"] if e["metric"].startswith("start of the first step"))
    checks.near("entry apart (us)", printed_us(apart["value"]), max(entered) - min(entered), 50)
    arrivals = [e for e in first["evidence"] if e["metric"].startswith("inside the window rank")]
    named = []
    for row in arrivals:
        rank = int(re.search(r"rank (\d)", row["metric"]).group(1))
        named.append(rank)
        times, by = late[rank]
        # Printed with two digits: 1.3 ms.
        checks.near(f"rank {rank} late inside the window (us)", printed_us(row["value"]), by, max(1, 0.05 * by))
        checks.that(row["source"].startswith(f"{times} time"), f"rank {rank}: {row['source']}, expected {times}")
    checks.equal("ranks that arrive last inside the window", sorted(named), [4, 5, 7])
    checks.equal("the first of them", named[0], 7)
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())
