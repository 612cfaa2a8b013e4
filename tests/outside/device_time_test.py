#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Device time of real traces against figures that other tools assert or that were computed from the raw rows by others.

Milliseconds as the reference outputs of TraceLens print them (computation = kernels that are no communication, and sets;
exposed = nothing else runs), which must agree to 1e-3 ms; microseconds by exact interval union in whole nanoseconds, which
must agree to the nanosecond. TraceLens counts only rows whose launch is in the file (--gpu-events linked) and does not say
so; of two traces that makes a difference, and both figures are known.
"""

import csv
import os
import sys
import tempfile

from outside_data import Checks, headway, headway_json, inspect, need

COMPUTE, COMMUNICATION, COPY, SET = 1, 2, 4, 8


def union(by_kinds, kinds, without=0):
    return sum(t for mask, t in enumerate(by_kinds) if mask & kinds and not mask & without)


# Trace -> TraceLens's own output beside it, absent where its figures stand in its tests only. Every row of the file.
TRACELENS = [
    ("h100/gaunernst_bert-small-uncased__1016001.json.gz", "h100/gaunernst_bert-small-uncased__1016001.gpu_timeline.csv"),
    ("h100/Falconsai_nsfw_image_detection__1016002.json.gz",
     "h100/Falconsai_nsfw_image_detection__1016002.gpu_timeline.csv"),
    ("h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "h100/Qwen_Qwen1.5-0.5B-Chat__1016005.gpu_timeline.csv"),
    ("mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.gpu_timeline.csv"),
    ("mi210/gpu_only_trace/gpu_only_trace.json.gz", "mi210/gpu_only_trace/gpu_only_trace.gpu_timeline.csv"),
    ("torch_compile_triton/trace.json.gz", "torch_compile_triton/trace.gpu_timeline.csv"),
    ("inference/vllm_decode_full/graph_execution.json.gz", "inference/vllm_decode_full/gpu_timeline.csv"),
    ("inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz", "inference/sglang_decode/gpu_timeline.csv"),
]

# With all rows: total, computation, busy, idle (ms), where that differs; rows, and those without a launch. The H100's
# row counts are stated beside its figures; of the MI300 trace only the times are.
ALL_ROWS = {
    "h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz": (49.652832, 45.644943, 45.647300, 4.005532, 1707, 509),
    "mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz": (47.085800, 43.062032, None, 4.023008, None, None),
}

# file, rows counted, idle, computation, busy, us. Computation: kernels whose name does not say nccl.
EXACT = [
    ("hta/nccl_parser_config/nccl_data.json.gz", "all", 503050.991, 115655.847, None),
    ("hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", "all", 7574.738, 468153.602, None),
    ("kineto/resnet50_num_workers_0.worker0.1623143089861.pt.trace.json.gz", "all", 392919.0, 591532.0, None),
    ("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "all", 4005.532, None, 45647.300),
    ("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "linked", 2986.946, None, 31905.473),
]

# Its collectives in symmetric memory are communication to headway; the figure, which goes by the word nccl, counts them
# as computation. A rule of the user's says the same.
B200 = ("tracelens/b200/eager_trace.json.gz", 72890.696, 10771.685)
B200_RULES = 'version: 1\nkernels:\n  - {kind: kernel, match: ["*multimem*"]}\n'

# DLRM, 8 ranks: span, busy, idle, compute, communication, of it not under kernels or copies, under them, copies and sets
# (ms; the files hold whole us)
DLRM = [
    (13.009, 6.590, 6.419, 1.034, 5.798, 5.537, 0.261, 0.019), (18.749, 12.321, 6.428, 1.246, 11.336, 11.056, 0.280, 0.019),
    (11.350, 4.304, 7.046, 1.068, 3.492, 3.217, 0.275, 0.019), (18.853, 10.708, 8.145, 1.240, 9.774, 9.450, 0.324, 0.028),
    (16.589, 7.702, 8.887, 1.126, 6.587, 6.550, 0.037, 0.026), (16.392, 7.271, 9.121, 1.041, 6.251, 6.211, 0.040, 0.019),
    (11.410, 4.359, 7.051, 1.051, 3.558, 3.289, 0.269, 0.019), (10.967, 2.659, 8.308, 1.059, 1.746, 1.580, 0.166, 0.020),
]


def timeline(by_kinds):
    """The rows of a gpu_timeline.csv, ms."""
    return {
        "computation_time": union(by_kinds, COMPUTE | SET) / 1e6,
        "exposed_comm_time": union(by_kinds, COMMUNICATION, COMPUTE | COPY | SET) / 1e6,
        "exposed_memcpy_time": union(by_kinds, COPY, COMPUTE | SET | COMMUNICATION) / 1e6,
        "busy_time": union(by_kinds, 15) / 1e6,
        "idle_time": by_kinds[0] / 1e6,
        "total_time": sum(by_kinds) / 1e6,
        "total_comm_time": union(by_kinds, COMMUNICATION) / 1e6,
        "total_memcpy_time": union(by_kinds, COPY) / 1e6,
    }


def check_tracelens(checks):
    for trace, reference in TRACELENS:
        trace_path, reference_path = need("tracelens/" + trace, "tracelens/" + reference)
        with open(reference_path, encoding="utf-8", newline="") as lines:
            expected = {row["type"]: float(row["time ms"]) for row in csv.DictReader(lines)}
        rank = inspect(trace_path)["ranks"][0]
        got = timeline(rank["device_linked_ns_by_kinds"])
        checks.equal(f"{trace}: rows of the reference", sorted(expected), sorted(got))
        for figure, value in expected.items():
            checks.near(f"{trace}, linked, {figure}", got[figure], value, 1e-3)
        of_all = timeline(rank["device_ns_by_kinds"])
        if trace not in ALL_ROWS:
            checks.equal(f"{trace}: all rows have a launch", rank["device_rows"], rank["device_linked_rows"])
            checks.equal(f"{trace}: all against linked", of_all, got)
            continue
        total, computation, busy, idle, rows, without = ALL_ROWS[trace]
        checks.near(f"{trace}, all, total", of_all["total_time"], total, 1e-3)
        checks.near(f"{trace}, all, computation", of_all["computation_time"], computation, 1e-3)
        checks.near(f"{trace}, all, busy", of_all["busy_time"], busy, 1e-3)
        checks.near(f"{trace}, all, idle", of_all["idle_time"], idle, 1e-3)
        if rows is not None:
            checks.equal(f"{trace}: rows", (rank["device_rows"], rank["device_rows"] - rank["device_linked_rows"]),
                         (rows, without))


def check_policies(checks):
    """What the option asks for is what the table shows, and how much it changes is said either way."""
    path, = need("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz")
    for policy, busy, idle, done in (("all", "45.65", "4.01", "counted"), ("linked", "31.91", "2.99", "left out")):
        text, _ = headway("inspect", "--gpu-events", policy, "--quiet", "--section", "device", path)
        figures = text.splitlines()[-1].split()
        checks.equal(f"--gpu-events {policy}: busy and idle (ms)", figures[2:4], [busy, idle])
        said = f"509 of 1,707 rows have no launch in the file; 14 ms of busy time (30 %) are theirs alone and are {done}."
        checks.that(said in " ".join(text.split()), f"--gpu-events {policy} does not say: {said}\n{text}")
        # Both figures are there whichever is asked for. 45,647.300 - 31,905.473 us.
        rank = headway_json("inspect", "--gpu-events", policy, path)["ranks"][0]
        checks.equal(f"--gpu-events {policy}: busy time without a launch (ns)",
                     union(rank["device_ns_by_kinds"], 15) - union(rank["device_linked_ns_by_kinds"], 15), 13_741_827)
        quality, _ = headway("diagnose", "--gpu-events", policy, "--quiet", "--section", "data-quality", path)
        checks.that("busy time without a launch     14 ms" in quality, f"{policy}: data quality\n{quality}")


def check_exact(checks):
    for path, rows, idle, computation, busy in EXACT:
        rank = inspect(need(path)[0])["ranks"][0]
        by_kinds = rank["device_linked_ns_by_kinds" if rows == "linked" else "device_ns_by_kinds"]
        checks.near(f"{path} ({rows}) idle", by_kinds[0] / 1e3, idle, 1e-9)
        checks.near(f"{path} ({rows}) computation", union(by_kinds, COMPUTE) / 1e3, computation, 1e-9)
        checks.near(f"{path} ({rows}) busy", union(by_kinds, 15) / 1e3, busy, 1e-9)
    # 15.609 % of nccl_data's communication lies under kernels.
    by_kinds = inspect(need("hta/nccl_parser_config/nccl_data.json.gz")[0])["ranks"][0]["device_ns_by_kinds"]
    hidden = union(by_kinds, COMMUNICATION) - union(by_kinds, COMMUNICATION, COMPUTE)
    checks.near("nccl_data: communication under kernels (%)", 100 * hidden / union(by_kinds, COMMUNICATION), 15.609, 5e-4)
    path, idle, computation = need(B200[0])[0], *B200[1:]
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "rules.yaml")
        with open(rules, "w", encoding="utf-8") as out:
            out.write(B200_RULES)
        by_kinds = headway_json("inspect", "--name-rules", rules, path)["ranks"][0]["device_ns_by_kinds"]
    checks.near("b200 idle", by_kinds[0] / 1e3, idle, 1e-9)
    checks.near("b200 computation, symmetric memory counted in", union(by_kinds, COMPUTE) / 1e3, computation, 1e-9)
    checks.near("b200 idle by the program's own rules", inspect(path)["ranks"][0]["device_ns_by_kinds"][0] / 1e3, idle, 1e-9)


def check_dlrm(checks):
    for rank, row in zip(inspect(need("param/dlrm_kineto.tar.gz")[0])["ranks"], DLRM):
        by_kinds = rank["device_ns_by_kinds"]
        communication = union(by_kinds, COMMUNICATION)
        exposed = union(by_kinds, COMMUNICATION, COMPUTE | COPY)
        got = (sum(by_kinds), union(by_kinds, 15), by_kinds[0], union(by_kinds, COMPUTE), communication, exposed,
               communication - exposed, union(by_kinds, COPY | SET))
        figures = ("span", "busy", "idle", "compute", "comm", "exposed", "overlap", "copy/set")
        for figure, value, expected in zip(figures, got, row):
            checks.near(f"dlrm rank {rank['rank']} {figure}", value / 1e6, expected, 2e-3)


def main():
    checks = Checks()
    check_tracelens(checks)
    check_policies(checks)
    check_exact(checks)
    check_dlrm(checks)
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())
