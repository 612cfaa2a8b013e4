#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Odd files among HTA's example traces: each is read as HTA's tests assert, and what was guessed or left out is said."""

import os
import shutil
import sys
import tempfile

from outside_data import Checks, headway, inspect, need


def ranks_of(document):
    return [(rank["rank"], rank["rank_from"]) for rank in document["ranks"]]


def main():
    checks = Checks()
    # No rank in the file, or no distributedInfo at all: rank 0, and a word about it.
    for path in ("hta/rank_unavailable/rank_not_found.json.gz",
                 "hta/distributed_info_unavailable/distributed_info_not_found.json.gz"):
        document = inspect(need(path)[0])
        checks.equal(f"{path}: rank", ranks_of(document), [(0, "assumed")])
        checks.equal(f"{path}: said to be assumed", document["problems"].get("rank-assumed"), 1)

    # Two files of one rank: the first by name is kept, the other one is left out and named.
    original, = need("hta/trace_file_list/inference_rank_1.json.gz")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first.json.gz", "second.json.gz"):
            shutil.copyfile(original, os.path.join(folder, name))
        document = inspect(folder)
        text, status = headway("inspect", folder)
    checks.equal("two files of one rank: status", status, 0)
    checks.equal("two files of one rank: kept", [os.path.basename(r["file"]) for r in document["ranks"]], ["first.json.gz"])
    checks.equal("two files of one rank: rank", [r["rank"] for r in document["ranks"]], [1])
    checks.equal("two files of one rank: left out", document["problems"].get("duplicate-rank"), 1)
    checks.that("second.json.gz" in text, f"two files of one rank: the one left out is not named\n{text}")

    # "Comms Id" above int64.
    document = inspect(need("hta/large_integer_trace/rank-70.Mar_25_20_48_12.2861.pt.trace.json.gz")[0])
    checks.equal("large integers: rank", document["ranks"][0]["rank"], 70)
    checks.equal("large integers: nothing lost", [p for p in document["problems"] if p.startswith(("un", "bad"))], [])

    # HTA finds a critical path in these, from the first step on; here all steps are told apart and a diagnosis is made.
    for path, steps in (("hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 5),
                        ("hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz", None)):
        document = inspect(need(path)[0])
        checks.that(document["ranks"][0]["device_rows"] > 0, f"{path}: no device rows")
        if steps is not None:
            checks.equal(f"{path}: steps", len(document["ranks"][0]["steps"]), steps)
        checks.equal(f"{path}: diagnosis", headway("diagnose", "--quiet", "--json", need(path)[0])[1], 0)
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())
