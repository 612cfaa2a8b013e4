#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks artificial traces: valid JSON, sound in themselves, and of the form that real traces have.

Usage: check_traces.py DIR [--real FILE ...]

Sound: spans of a thread nest, kernels of a stream do not overlap, every kernel has its launch, all members of a group
have equally many collectives. Of the form of real traces: per category the same keys of events, no argument that no
real event of the category has, every argument that all real events of the category have, no unknown top-level key.
Prints what is wrong and exits with 1.
"""
import argparse
import collections
import gzip
import io
import json
import os
import re
import sys
import tarfile

# Written by newer versions of PyTorch than made the real files at hand (torch/csrc/distributed/c10d/ParamCommsUtils).
NEWER = {("kernel", k) for k in ("Seq", "Src Rank", "Dst Rank")} | {("cpu_op", k) for k in ("Seq", "Src Rank", "Dst Rank")}
# Only when asked for: shapes, or in some events.
OPTIONAL_TOP = {"with_stack", "record_shapes", "job_groups", "trace_id", "host_name", "displayTimeUnit", "baseTimeNanoseconds"}


def load(path):
    if path.endswith(".tar.gz"):
        with tarfile.open(path) as tar:
            return [json.load(io.TextIOWrapper(tar.extractfile(m))) for m in tar.getmembers() if m.isfile()]
    with open(path, "rb") as f:
        raw = f.read()
    return [json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)]


class Form:
    """Keys of the events of a set of traces, per category and phase."""

    def __init__(self, traces):
        self.top = set()
        self.keys = collections.defaultdict(set)
        self.any_args = collections.defaultdict(set)
        self.all_args = {}
        self.runtime = set()
        for trace in traces:
            self.top |= set(trace)
            for event in trace["traceEvents"]:
                kind = (event.get("cat") or event["name"] if event["ph"] != "i" else "instant", event["ph"])
                args = set(event.get("args", {}))
                self.keys[kind].add(frozenset(event))
                self.any_args[kind] |= args
                self.all_args[kind] = self.all_args.get(kind, args) & args
                if kind[0] == "cuda_runtime":
                    self.runtime.add(event["name"])


def compare(made, real):
    problems = [f"top-level key {k} is in no real file" for k in made.top - real.top - OPTIONAL_TOP]
    for kind in sorted(made.keys):
        if kind not in real.keys:
            problems.append(f"no real file has events {kind}")
            continue
        for keys in made.keys[kind] - real.keys[kind]:
            problems.append(f"{kind}: no real event has the keys {sorted(keys)}")
        for arg in made.any_args[kind] - real.any_args[kind]:
            if (kind[0], arg) not in NEWER:
                problems.append(f"{kind}: no real event has the argument {arg}")
        for arg in real.all_args[kind] - made.all_args[kind]:
            problems.append(f"{kind}: all real events have the argument {arg}")
    return problems


def nesting(trace, rank):
    threads = collections.defaultdict(list)
    for e in trace["traceEvents"]:
        if e["ph"] == "X" and e["cat"] in ("cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver"):
            if e["name"] not in ("gloo:send", "gloo:recv"):  # these end when they were waited for
                threads[e["tid"]].append((round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000), e["name"]))
    for tid, spans in threads.items():
        spans.sort(key=lambda s: (s[0], -s[1]))
        stack = []
        for begin, end, name in spans:
            while stack and stack[-1][0] <= begin + 2:  # times are rounded
                stack.pop()
            if stack and end > stack[-1][0] + 1002:
                yield f"rank {rank}: {name} begins in {stack[-1][1]} and ends after it (thread {tid})"
            stack.append((end, name))


def streams(trace, rank):
    lanes, launches = collections.defaultdict(list), {}
    for e in trace["traceEvents"]:
        if e["ph"] != "X":
            continue
        if e["cat"] in ("kernel", "gpu_memcpy"):
            lanes[e["tid"]].append((e["ts"], e["ts"] + e["dur"], e["args"]["correlation"]))
        elif e["cat"] == "cuda_runtime":
            if e["args"]["correlation"] in launches:
                yield f"rank {rank}: two calls have the correlation {e['args']['correlation']}"
            launches[e["args"]["correlation"]] = e["ts"]
    for tid, items in lanes.items():
        items.sort()
        for before, after in zip(items, items[1:]):
            if after[0] < before[1] - 1.001:
                yield f"rank {rank}: kernels overlap on stream {tid} at {after[0]}"
        for begin, _, correlation in items:
            if correlation not in launches:
                yield f"rank {rank}: no call for correlation {correlation}"
            elif begin < launches[correlation] - 1:
                yield f"rank {rank}: kernel {correlation} starts before its launch"


def collectives(traces):
    """Per process group, the sequence of collectives each member recorded."""
    groups = collections.defaultdict(dict)
    for trace in traces:
        rank = trace["distributedInfo"]["rank"]
        seen = collections.defaultdict(list)
        for e in trace["traceEvents"]:
            args = e.get("args", {})
            if e.get("cat") == "kernel" and "Process Group Name" in args and args["Collective name"] not in ("send", "recv"):
                seen[args["Process Group Name"]].append((e["ts"], args["Collective name"], args["In msg nelems"], args.get("Seq")))
        for name, events in seen.items():
            groups[name][rank] = [e[1:] for e in sorted(events)]
    for name, members in groups.items():
        first = min(members)
        for rank, events in members.items():
            if events != members[first]:
                yield f"group {name}: ranks {first} and {rank} recorded different collectives"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    parser.add_argument("--real", nargs="*", default=[])
    args = parser.parse_args()
    names = sorted(n for n in os.listdir(args.dir) if re.fullmatch(r"rank\d+\.json(\.gz)?", n))
    traces = [t for n in names for t in load(os.path.join(args.dir, n))]
    with open(os.path.join(args.dir, "truth.json")) as f:
        truth = json.load(f)
    problems = [] if names else ["no traces"]
    for key in ("kind", "culprit_ranks", "faults", "step_noise_ms", "recoverable_ms_per_step", "ranks_hit_in_step"):
        if key not in truth:
            problems.append(f"truth.json has no {key}")
    for trace in traces:
        rank = trace["distributedInfo"]["rank"]
        problems += list(nesting(trace, rank)) + list(streams(trace, rank))
        steps = {e["name"] for e in trace["traceEvents"] if e["name"].startswith("ProfilerStep#")}
        if steps != set(truth["ranks_hit_in_step"]):
            problems.append(f"rank {rank}: steps {sorted(steps)} are not those of truth.json")
    problems += list(collectives(traces))
    if args.real:
        problems += compare(Form(traces), Form([t for p in args.real for t in load(p)]))
    for problem in problems[:50]:
        print(problem)
    print(f"{args.dir}: {len(traces)} traces, {sum(len(t['traceEvents']) for t in traces)} events, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
