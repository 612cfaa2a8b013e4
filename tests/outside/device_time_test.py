#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Device time of real traces against figures that other tools assert or that were computed from the raw rows by others.

Milliseconds as the reference outputs of TraceLens print them (computation = kernels that are no communication, and sets;
exposed = nothing else runs), which must agree to 1e-3 ms; microseconds by exact interval union in whole nanoseconds, which
must agree to the nanosecond. The rows of h100_qwen hold only with the rows whose launch is in the file; both are checked.
"""

import sys

from outside_data import Checks, inspect, need

COMPUTE, COMMUNICATION, COPY, SET = 1, 2, 4, 8


def union(by_kinds, kinds, without=0):
    return sum(t for mask, t in enumerate(by_kinds) if mask & kinds and not mask & without)


# file, rows counted, total, computation, exposed copies, busy, idle (ms)
TRACELENS = [
    ("tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz", "all", 3.907825, 0.307198, 0.002240, 0.309438, 3.598387),
    ("tracelens/h100/Falconsai_nsfw_image_detection__1016002.json.gz", "all", 7.559844, 1.225309, 0, 1.225309, 6.334535),
    ("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "linked", 34.892419, 31.903115, 0.002368, 31.905483, 2.986936),
    ("tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "all", 49.652832, 45.644943, None, 45.647300, 4.005532),
    ("tracelens/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "linked", 33.131333, 29.743168, 0.000760, 29.743928, 3.387406),
    ("tracelens/mi300/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "all", 47.085800, 43.062032, None, None, 4.023008),
    ("tracelens/mi210/gpu_only_trace/gpu_only_trace.json.gz", "all", 5.979503, 5.343370, 0, 5.343370, 0.636133),
    ("tracelens/torch_compile_triton/trace.json.gz", "all", 12.549032, 12.549021, 0, 12.549021, 0.000011),
    ("tracelens/inference/vllm_decode_full/graph_execution.json.gz", "all", 10.743182, 10.674507, 0.043190, 10.717697, 0.025484),
    ("tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz", "all", 473.749943, 9.759752, 0.013177, 9.772929,
     463.977015),
]

# file, idle, computation, us. Computation: kernels whose name does not say nccl. headway knows the symmetric-memory
# collectives of the B200 trace as communication, which that figure does not: there only idle time is compared.
EXACT = [
    ("hta/nccl_parser_config/nccl_data.json.gz", 503050.991, 115655.847),
    ("hta/ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 7574.738, 468153.602),
    ("tracelens/b200/eager_trace.json.gz", 72890.696, None),
    ("kineto/resnet50_num_workers_0.worker0.1623143089861.pt.trace.json.gz", 392919.0, 591532.0),
]

# DLRM, 8 ranks: span, busy, idle, compute, communication, of it not under kernels or copies, copies and sets (ms; the files
# hold whole us)
DLRM = [
    (13.009, 6.590, 6.419, 1.034, 5.798, 5.537, 0.019), (18.749, 12.321, 6.428, 1.246, 11.336, 11.056, 0.019),
    (11.350, 4.304, 7.046, 1.068, 3.492, 3.217, 0.019), (18.853, 10.708, 8.145, 1.240, 9.774, 9.450, 0.028),
    (16.589, 7.702, 8.887, 1.126, 6.587, 6.550, 0.026), (16.392, 7.271, 9.121, 1.041, 6.251, 6.211, 0.019),
    (11.410, 4.359, 7.051, 1.051, 3.558, 3.289, 0.019), (10.967, 2.659, 8.308, 1.059, 1.746, 1.580, 0.020),
]


def main():
    checks = Checks()
    for path, rows, total, computation, copies, busy, idle in TRACELENS:
        rank = inspect(need(path)[0])["ranks"][0]
        by_kinds = rank["device_linked_ns_by_kinds" if rows == "linked" else "device_ns_by_kinds"]
        name = f"{path} ({rows})"
        checks.near(f"{name} total", sum(by_kinds) / 1e6, total, 1e-3)
        checks.near(f"{name} computation", union(by_kinds, COMPUTE | SET) / 1e6, computation, 1e-3)
        checks.near(f"{name} exposed copies", union(by_kinds, COPY, COMPUTE | SET | COMMUNICATION) / 1e6, copies, 1e-3)
        checks.near(f"{name} busy", union(by_kinds, 15) / 1e6, busy, 1e-3)
        checks.near(f"{name} idle", by_kinds[0] / 1e6, idle, 1e-3)
    for path, idle, computation in EXACT:
        by_kinds = inspect(need(path)[0])["ranks"][0]["device_ns_by_kinds"]
        checks.near(f"{path} idle", by_kinds[0] / 1e3, idle, 1e-9)
        checks.near(f"{path} computation", union(by_kinds, COMPUTE) / 1e3, computation, 1e-9)
    for rank, row in zip(inspect(need("param/dlrm_kineto.tar.gz")[0])["ranks"], DLRM):
        by_kinds = rank["device_ns_by_kinds"]
        got = (sum(by_kinds), union(by_kinds, 15), by_kinds[0], union(by_kinds, COMPUTE), union(by_kinds, COMMUNICATION),
               union(by_kinds, COMMUNICATION, COMPUTE | COPY), union(by_kinds, COPY | SET))
        for figure, value, expected in zip(("span", "busy", "idle", "compute", "comm", "exposed", "copy/set"), got, row):
            checks.near(f"dlrm rank {rank['rank']} {figure}", value / 1e6, expected, 2e-3)
    return checks.done()


if __name__ == "__main__":
    sys.exit(main())
