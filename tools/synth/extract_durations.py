#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes durations.tsv: what the generator of artificial jobs draws its durations from.

For every kind of operation it records how often it was seen in real traces, the median duration, and the
quantiles of duration / median-of-its-group, where a group is "the same operation of the same job" (same name and
launch shape; on the CPU the same place in the step). The generator scales the median by model size and draws the
spread from these quantiles.

Usage: extract_durations.py <folder with the outside data> > durations.tsv
"""
import collections
import csv
import gzip
import io
import json
import os
import re
import statistics
import sys
import tarfile

# Probabilities of the recorded quantiles. The outermost hundredths are left out: they hold the one-off pauses of the
# machines, which the generator adds by itself and at a chosen rate.
PROBABILITIES = [0.01, 0.04, 0.10, 0.16, 0.23, 0.30, 0.37, 0.44, 0.50, 0.56, 0.63, 0.70, 0.77, 0.84, 0.90, 0.96, 0.99]

# kind -> pattern of kernel names. The first match wins; what matches nothing is left out.
KERNEL_KINDS = [
    ("nccl", r"nccl"),
    ("optimizer", r"multi_tensor_apply"),
    ("attention", r"flash_fwd_kernel"),
    ("layernorm", r"layer_norm|rms_norm"),
    ("activation", r"gelu|silu|Gelu"),
    ("embedding", r"indexSelectLargeIndex|embedding_codegen_forward"),
    ("softmax", r"softmax|SoftMax"),
    ("moe_gemm", r"^bmm_"),
    ("moe_routing", r"moe::dev::(routing|finalize)"),
    ("conv", r"xmma_(fprop|wgrad|dgrad)|cudnn::bn"),
    ("gemm", r"gemm|cutlass|nvjet"),
    ("reduce", r"reduce_kernel"),
    ("fill", r"FillFunctor"),
    ("copy", r"direct_copy|copy_kernel|CatArray"),
    ("elementwise", r"elementwise_kernel"),
]

GPU_TRACES = [
    "hta/nccl_parser_config/nccl_data.json.gz",
    "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz",
    "tracelens/h100/Falconsai_nsfw_image_detection__1016002.json.gz",
    "tracelens/b200/eager_trace.json.gz",
]
RUNTIME_NAMES = [
    "cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaEventRecord",
    "cudaStreamWaitEvent", "cudaStreamIsCapturing", "cudaStreamSynchronize", "cudaEventQuery",
    "cudaDeviceSynchronize",
]
HOST_OPS = [
    "aten::linear", "aten::mm", "aten::addmm", "aten::layer_norm", "aten::native_layer_norm", "aten::add", "aten::mul",
    "aten::gelu", "aten::silu", "aten::copy_", "aten::empty", "aten::to", "aten::_to_copy",
    "aten::scaled_dot_product_attention", "aten::embedding", "record_param_comms", "c10d::allreduce_",
    "nccl:all_reduce", "AddmmBackward0", "MmBackward0", "autograd::engine::evaluate_function: AddmmBackward0",
    "torch::autograd::AccumulateGrad", "aten::item", "aten::_local_scalar_dense", "aten::_foreach_add_",
]
CPU_OPS = [
    "aten::mm", "aten::addmm", "aten::native_layer_norm", "aten::gelu", "aten::add", "aten::linear",
    "aten::native_layer_norm_backward", "aten::gelu_backward", "aten::embedding", "aten::_log_softmax",
    "aten::_foreach_add_", "c10d::allreduce_", "c10d::_allgather_base_", "c10d::_reduce_scatter_base_",
    "c10d::alltoall_base_", "c10d::send", "c10d::recv_",
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
]


def load(path):
    with open(path, "rb") as f:
        raw = f.read()
    return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)


def dlrm(root):
    with tarfile.open(os.path.join(root, "param/dlrm_kineto.tar.gz")) as tar:
        for member in sorted(tar.getmembers(), key=lambda m: m.name):
            if member.isfile():
                yield "param/dlrm_kineto.tar.gz", json.load(io.TextIOWrapper(tar.extractfile(member)))


def quantiles(ratios):
    ratios = sorted(ratios)
    picks = [ratios[round(p * (len(ratios) - 1))] for p in PROBABILITIES]
    return ",".join(f"{v:.4f}" for v in picks)


def clusters(durations):
    """Splits durations at gaps of more than 30 %: one name and grid may serve matrices of several depths."""
    durations = sorted(durations)
    begin = 0
    for i in range(1, len(durations) + 1):
        if i == len(durations) or durations[i] > 1.3 * durations[i - 1]:
            yield durations[begin:i]
            begin = i


class Kind:
    def __init__(self, split=False):
        self.split = split
        self.groups = collections.defaultdict(list)
        self.sources = set()
        self.shapes = collections.Counter()

    def add(self, source, group, dur, shape=None):
        if dur <= 0:
            return
        self.groups[(source, group)].append(dur)
        self.sources.add(source)
        if shape:
            self.shapes[shape] += 1

    def row(self, section, name):
        durs = [d for g in self.groups.values() for d in g]
        ratios = []
        groups = [c for g in self.groups.values() for c in (clusters(g) if self.split else [g])]
        for group in groups:
            median = statistics.median(group)
            whole_us = all(d == int(d) for d in group) and median < 50  # rounded to us: the rounding is not spread
            if len(group) >= 3 and not whole_us:  # a group of one or two says nothing of its spread
                ratios += [d / median for d in group]
        ratios += [1.0] * max(0, 20 - len(ratios))  # hardly seen: (nearly) no spread
        return "\t".join([section, name, str(len(durs)), f"{statistics.median(durs):.3f}", quantiles(ratios),
                          ";".join(sorted(self.sources))])


def self_times(events):
    """Yields (event, time not spent in events nested in it) for the spans of one thread."""
    events.sort(key=lambda e: (e["ts"], -e["dur"]))
    stack = []
    for e in events:
        while stack and stack[-1][0]["ts"] + stack[-1][0]["dur"] <= e["ts"]:
            yield stack.pop()
        if stack:
            stack[-1][1] -= e["dur"]
        stack.append([e, e["dur"]])
    while stack:
        yield stack.pop()


def gpu_rows(root):
    kernels = collections.defaultdict(lambda: Kind(split=True))
    calls = collections.defaultdict(Kind)
    host = collections.defaultdict(Kind)
    copies = collections.defaultdict(Kind)
    bandwidth = collections.defaultdict(list)
    traces = [(p, load(os.path.join(root, p))) for p in GPU_TRACES] + list(dlrm(root))
    for source, trace in traces:
        threads = collections.defaultdict(list)
        for e in trace["traceEvents"]:
            cat = e.get("cat")
            if cat == "kernel":
                kind = next((k for k, p in KERNEL_KINDS if re.search(p, e["name"])), None)
                if kind is None or kind == "nccl":
                    continue
                a = e["args"]
                shape = (e["name"], a.get("registers per thread", 0), a.get("shared memory", 0),
                         str(a.get("grid", [1, 1, 1])), str(a.get("block", [128, 1, 1])),
                         a.get("blocks per SM", 0), a.get("warps per SM", 0), a.get("est. achieved occupancy %", 0))
                kernels[kind].add(source, shape[:5], e["dur"], shape)
            elif cat == "cuda_runtime" and e["name"] in RUNTIME_NAMES:
                calls[e["name"]].add(source, e["name"], e["dur"])
            elif cat == "gpu_memcpy":
                copies[e["name"]].add(source, e["args"].get("bytes"), e["dur"])
                if e["args"].get("bytes", 0) >= 1 << 20:
                    bandwidth[e["name"]].append(e["args"]["bytes"] / e["dur"] / 1e3)
            if cat in ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "python_function") and e["ph"] == "X":
                threads[e["tid"]].append(e)
            if cat == "user_annotation" and e["name"].startswith("enumerate(DataLoader)"):
                host["loader_next"].add(source, source, e["dur"])
        for events in threads.values():
            for e, own in self_times(events):
                if e["name"] in HOST_OPS:
                    host[e["name"]].add(source, e["name"], own)
    # The one trace with large copies from ordinary memory.
    source = "hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz"
    for e in load(os.path.join(root, source))["traceEvents"]:
        if e.get("cat") == "gpu_memcpy" and e["args"].get("bytes", 0) >= 1 << 20 and e["dur"] > 0:
            bandwidth[e["name"]].append(e["args"]["bytes"] / e["dur"] / 1e3)
            copies[e["name"]].add(source, e["args"]["bytes"], e["dur"])
    for kind in sorted(kernels):
        yield kernels[kind].row("kernel", kind)
        for shape, count in sorted(kernels[kind].shapes.items(), key=lambda s: (-s[1], s[0]))[:3]:
            yield "\t".join(["shape", kind, str(count)] + [str(v) for v in shape[1:]] + [shape[0]])
    for name in sorted(calls):
        yield calls[name].row("call", name)
    for name in sorted(host):
        yield host[name].row("host", name)
    for name in sorted(copies):
        row = copies[name].row("copy", name)
        gbs = statistics.median(bandwidth[name]) if bandwidth[name] else 0
        yield row + f"\t{gbs:.3f}"


def cpu_rows(root):
    """Operations of real CPU jobs; the spread is that of one place in the step over steps and ranks."""
    kinds = collections.defaultdict(Kind)
    for case in ("cpu_mesh/healthy-dp-tp", "cpu_mesh/healthy-dp-pp", "cpu_ddp/healthy-gpt", "cpu_ddp/healthy-mlp"):
        folder = os.path.join(root, case)
        for name in sorted(os.listdir(folder)):
            if not re.fullmatch(r"rank\d+\.json\.gz", name):
                continue
            events = load(os.path.join(folder, name))["traceEvents"]
            steps = sorted((e["ts"], e["ts"] + e["dur"]) for e in events
                           if e["ph"] == "X" and e["name"].startswith("ProfilerStep#"))
            spans = [e for e in events if e["ph"] == "X" and e["name"] in CPU_OPS]
            for begin, end in steps:
                seen = collections.Counter()
                for e in sorted((s for s in spans if begin <= s["ts"] < end), key=lambda s: s["ts"]):
                    seen[e["name"]] += 1
                    kinds[e["name"]].add(case, (e["name"], seen[e["name"]]), e["dur"])
    for name in sorted(kinds):
        yield kinds[name].row("cpu", name)


def link_rows(root):
    """Start-up time and bus bandwidth of collectives inside a node and between nodes (one GPU per node)."""
    def factor(op, n):
        return 2 * (n - 1) / n if op == "all_reduce" else 1 if op == "sendrecv" else (n - 1) / n

    small, large = collections.defaultdict(list), collections.defaultdict(list)
    path = "measured_kernels/nccl.csv"
    with open(os.path.join(root, path), newline="") as f:
        for r in csv.DictReader(f):
            if "h100" in r["system"] and r["dtype"] == "half" and r["num_gpus"] == "8":
                size, us = int(r["message_bytes"]), float(r["time_us"])
                if size <= 4096:
                    small["node", path].append(us)
                elif 32 << 20 <= size <= 256 << 20:
                    large["node", path].append(size / us / 1e3 * factor(r["op"], 8))
    path = "collectives/nccl_multinode.csv"
    with open(os.path.join(root, path), newline="") as f:
        for r in csv.DictReader(f):
            if r["cluster"] == "cluster01" and r["kind"] == "multi-node" and r["num_gpus"] == "10":
                size, us = int(r["message_bytes"]), float(r["time_us"])
                large["network", path].append(size / us / 1e3 * factor(r["op"], 10))
    for (link, source), values in sorted(large.items()):
        start = statistics.median(small[link, source]) if small[link, source] else 0
        yield "\t".join(["link", link, str(len(values)), f"{start:.2f}", f"{statistics.median(values):.2f}", source])


def main():
    root = sys.argv[1]
    print("# SPDX-License-Identifier: Apache-2.0")
    print("# Written by extract_durations.py; do not edit. Times in us, bandwidth in GB/s. Columns:")
    print("#   kernel|call|host|cpu  kind  n  median_us  quantiles of duration/median of its group  sources")
    print("#   copy   name  n  median_us  quantiles  sources  GB/s of copies of 1 MiB and more (0: none seen)")
    print("#   shape  kind  n  registers  shared memory  grid  block  blocks/SM  warps/SM  occupancy  kernel name")
    print("#   link   name  n  start-up us (0: not measured)  bus bandwidth GB/s  source")
    print("# The quantiles are those of the probabilities " + ", ".join(f"{p:g}" for p in PROBABILITIES) + ".")
    for rows in (gpu_rows, cpu_rows, link_rows):
        for row in rows(root):
            print(row)


if __name__ == "__main__":
    main()
