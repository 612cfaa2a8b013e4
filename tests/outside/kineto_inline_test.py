#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The hand-made traces of the TensorBoard plugin's tests, with the figures that those assert: how steps divide, what the
device is used, what communication hides and how much of it is waiting. All in whole microseconds.

distributed_nccl has a definition of its own: kineto_nccl_test.cc.
"""

import sys

from outside_data import Checks, inspect, need

FOLDER = "kineto/inline/"

# Trace, then of each step: kernels, copies, sets, runtime, input, host, other, in all. The plugin's "cpu" is host.
STEPS = [
    ("no_profilerstep", [(100, 0, 0, 10, 0, 70, 140, 320)]),
    ("multiple_profilersteps_no_overlap", [(0, 40, 0, 5, 0, 55, 120, 220), (200, 0, 0, 5, 0, 45, 10, 260)]),
    # The kernel at 150..240 is from before the first step, the copy of the first one ends in the second.
    ("multiple_profilersteps_with_overlap", [(0, 100, 0, 5, 0, 15, 20, 140), (200, 0, 0, 5, 0, 25, 0, 230)]),
    # The last two steps launched nothing. Kernel 150..330 and the earlier one's end, 110: 220. In it aten::to 120..130
    # around a runtime call 125..130, which leaves 110..120 and 130..150.
    ("last_steps_no_kernel", [(180, 0, 0, 5, 0, 5, 30, 220)]),
    ("pure_cpu", [(0, 0, 0, 0, 0, 10, 190, 200), (0, 0, 0, 0, 0, 40, 60, 100)]),
    ("runtime_called_by_profilerstep", [(8, 0, 0, 20, 0, 0, 272, 300)]),
    # Loader 100..280; operator 340..410 with calls 360..380, 390..400, 405..410 in it, of the last of which a copy hides
    # all 5: runtime 30, host 20 + 10 + 5; copy 405..415, set 420..425, kernel 430..445; step 50..450.
    ("all_categories", [(15, 10, 5, 30, 180, 35, 125, 400)]),
]

# Trace, share of its steps in which a kernel ran.
UTILISATION = [("gpu_utilization", 60 / 120), ("gpu_utilization_kernel_out_of_step", 0.0)]

# Trace, then of each rank: compute only, both, communication only, neither; transfer, waiting.
GLOO = [
    ("distributed_gloo_gpu", [((31, 70, 39, 16), (75, 34)), ((16, 54, 44, 32), (78, 20))]),
    # The same operations as with a device: so are transfer and waiting.
    ("distributed_gloo_cpu", [((47, 74, 35, 0), (75, 34)), ((36, 64, 34, 12), (78, 20))]),
]

PARTS = ("kernels", "copies", "sets", "runtime", "input", "host", "other")


def split_of(step):
    parts = step["by_part_ns"]
    return tuple(parts[name] / 1000 for name in PARTS) + (step["length_ns"] / 1000,)


def overlap_of(rank):
    compute, communication, both, length = (
        sum(step[key] for step in rank["step_splits"]) / 1000
        for key in ("compute_ns", "communication_ns", "overlapped_ns", "length_ns"))
    return compute - both, both, communication - both, length - compute - communication + both


def main():
    checks = Checks()
    for name, expected in STEPS:
        rank = inspect(need(f"{FOLDER}test_{name}_0.json")[0])["ranks"][0]
        checks.equal(f"{name}: steps", [split_of(step) for step in rank["step_splits"]], expected)
        checks.equal(f"{name}: no communication", rank["communication_ns"], None)
    for name, expected in UTILISATION:
        steps = inspect(need(f"{FOLDER}test_{name}_0.json")[0])["ranks"][0]["step_splits"]
        busy = sum(step["device_busy_ns"] for step in steps) / sum(step["length_ns"] for step in steps)
        checks.near(f"{name}: device busy", busy, expected, 1e-12)
    for name, expected in GLOO:
        ranks = inspect(*need(f"{FOLDER}test_{name}_0.json", f"{FOLDER}test_{name}_1.json"))["ranks"]
        for rank, (overlap, waits) in zip(ranks, expected, strict=True):
            checks.equal(f"{name} rank {rank['rank']}: compute, both, communication, neither", overlap_of(rank), overlap)
            times = rank["communication_ns"]
            checks.equal(f"{name} rank {rank['rank']}: transfer, waiting",
                         (times["transfer"] / 1000, times["waiting"] / 1000), waits)
            checks.equal(f"{name} rank {rank['rank']}: open", times["open"] / 1000, sum(waits))
            checks.equal(f"{name} rank {rank['rank']}: paired", times["paired_rows"], 5)
        # One rank alone: how much of it is waiting is not known, and is not made up.
        alone = inspect(need(f"{FOLDER}test_{name}_0.json")[0])["ranks"][0]["communication_ns"]
        checks.equal(f"{name} alone", (alone["open"] / 1000, alone["waiting"]), (sum(expected[0][1]), None))
    # The plugin adds 78 counters of device metrics to a trace: they are counted, and change nothing else.
    without, with_counters = (inspect(path) for path in need("kineto/gpu_metrics_input.json.gz",
                                                             "kineto/gpu_metrics_expected.json.gz"))
    counters = with_counters["problems"].pop("counter-row", 0) - without["problems"].pop("counter-row", 0)
    checks.equal("gpu_metrics: counters", counters, 78)
    for document in (without, with_counters):
        del document["ranks"][0]["file"]
        document["problems"].pop("rank-assumed", None)
    checks.equal("gpu_metrics: all else", with_counters, without)
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())
