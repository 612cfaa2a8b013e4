# SPDX-License-Identifier: Apache-2.0
"""Lays out what the ranks left as a labelled case: rank<R>.json.gz, steps.<R>.json, groups.<R>.json (mesh jobs),
truth.json, run.json, and for a hang fr_rank<R>.pkl/.json and stacks.<R>.txt."""
import glob
import gzip
import json
import os
import pickle
import re
import shutil
import statistics

HERE = os.path.dirname(os.path.abspath(__file__))
WRITTEN = ("rank*.json.gz", "steps.*.json", "groups.*.json", "fr_rank*", "stacks.*.txt", "truth.json", "run.json")
QUIET_CORES = 0.3  # other work above this makes healthy ranks late by up to tens of ms


def write_case(case, options, raw, where, load):
    """raw: the folder the ranks wrote to; options: the job's options as used; load: of LoadMeter."""
    os.makedirs(where, exist_ok=True)
    for pattern in WRITTEN:
        for old in glob.glob(f"{where}/{pattern}"):
            os.remove(old)
    ranks = range(case.get("ranks", 4))
    for rank in ranks:
        _copy_trace(case, rank, raw, where)
        for name in (f"steps.{rank}.json", f"groups.{rank}.json"):
            if os.path.exists(f"{raw}/{name}") and not case.get("bare"):
                shutil.copy(f"{raw}/{name}", where)
        _copy_hang_dumps(rank, raw, where)
    steps = {rank: _load(f"{raw}/steps.{rank}.json", {"steps": []})["steps"] for rank in ranks}
    truth = _truth(case, options, raw, load)
    run = {"job": case.get("job", "ddp"), "ranks": len(ranks), "train": options,
           **{k: case[k] for k in ("netns", "links", "quota", "burners") if k in case},
           "load": load, "step_ms": _step_ms(steps)}
    for name, value in (("truth", truth), ("run", run)):
        with open(f"{where}/{name}.json", "w") as f:
            json.dump(value, f, indent=1)
    return truth, run


def clean(text):
    """Removes this machine's paths: the trace's own, the interpreter's and the job's folders."""
    text = re.sub(r'"traceName": "[^"]*/', '"traceName": "', text)
    text = re.sub(r"/[\w./+-]*?/(site-packages/|lib/python3\.\d+/)", "", text)
    return text.replace(HERE + "/", "")


def _copy_trace(case, rank, raw, where):
    source = f"{raw}/rank{rank}.trace.json"
    if not os.path.exists(source):
        return
    with open(source) as f:
        text = clean(f.read()).replace(f"rank{rank}.trace.json", f"rank{rank}.json")
    host = f"n{rank}" if case.get("host_per_rank") else "n0"
    text = re.sub(r'"host_name": "[^"]*"', f'"host_name": "{host}"', text, count=1)
    with open(f"{where}/rank{rank}.json.gz", "wb") as out, gzip.GzipFile("", "wb", 9, out, 0) as z:
        z.write(text.encode())


def _copy_hang_dumps(rank, raw, where):
    if not os.path.exists(f"{raw}/fr.{rank}.raw"):
        return
    with open(f"{raw}/fr.{rank}.raw", "rb") as f:
        dump = pickle.load(f)  # written by our own rank
    for entry in dump.get("entries", []):
        for frame in entry.get("frames", []):
            frame["filename"] = clean(frame["filename"])
    with open(f"{where}/fr_rank{rank}.pkl", "wb") as f:
        pickle.dump(dump, f, 2)
    with open(f"{where}/fr_rank{rank}.json", "w") as f:
        json.dump(dump, f)
    with open(f"{raw}/stacks.{rank}.txt") as f, open(f"{where}/stacks.{rank}.txt", "w") as out:
        out.write(clean(f.read()))


def _truth(case, options, raw, load):
    truth = dict(case.get("truth", {}), fault=case.get("fault", []))
    first = options["warm"] + options["plain"]  # ProfilerStep#0 is this training step
    injected = {}
    for path in sorted(glob.glob(f"{raw}/fault.*.json")):
        log = [x for x in _load(path, []) if x[0] >= options["warm"]]
        if log:
            injected[int(path.split(".")[-2])] = log
    if injected:
        _add_magnitudes(truth, injected)
        _add_steps(truth, injected, first, options["profile"])
        truth["injected_step_unixns_ns_kind"] = injected
    elif truth.get("steps") == "all":  # a fault of the surroundings
        truth["profiler_steps_affected"] = [f"ProfilerStep#{s}" for s in range(2, 2 + options["profile"])]
    truth["profiler_step_of_train_step"] = f"ProfilerStep#N is train step N + {first}"
    threads = {r: _load(f"{raw}/threads.{r}.json", None) for r in range(case.get("ranks", 4))}
    if all(threads.values()):
        truth["gloo_threads_of_group"] = threads
    if load["other_cores"] > QUIET_CORES and load["scheduling"] != "realtime":
        truth["caution"] = (f"unrelated work took about {load['other_cores']:.1f} cores: every rank also has random "
                            "lateness of up to some tens of ms")
    return truth


def _add_magnitudes(truth, injected):
    """Median over the steps struck, by kind of fault and rank; one number where there is one kind."""
    ms = {}
    for rank, log in injected.items():
        for _, _, ns, kind in log:
            ms.setdefault(kind, {}).setdefault(rank, []).append(ns / 1e6)
    by_kind = {kind: {r: round(statistics.median(v), 1) for r, v in d.items()} for kind, d in ms.items()}
    truth["magnitude_ms_per_step"] = by_kind
    if len(by_kind) == 1:
        truth["magnitude_ms"] = round(statistics.median(next(iter(by_kind.values())).values()), 1)
    for fault in truth.get("faults", []):
        of_ranks = [v[r] for v in by_kind.values() for r in fault["culprit_ranks"] if r in v]
        if of_ranks:
            fault["magnitude_ms"] = round(statistics.median(of_ranks), 1)


def _add_steps(truth, injected, first, profiled):
    hit = {s: sorted(r for r, log in injected.items() if any(x[0] - first == s for x in log))
           for s in range(2, 2 + profiled)}
    truth["ranks_hit_in_step"] = {f"ProfilerStep#{s}": ranks for s, ranks in hit.items()}
    truth["profiler_steps_affected"] = [f"ProfilerStep#{s}" for s, ranks in hit.items() if ranks]


def _step_ms(steps):
    out = {}
    for kind in ("plain", "profiled"):
        for rank, records in steps.items():
            ms = [x["ns"] / 1e6 for x in records if x["kind"] == kind]
            if ms:
                out.setdefault(kind, {})[rank] = {"mean_ms": round(statistics.mean(ms), 2),
                                                  "median_ms": round(statistics.median(ms), 2)}
    return out


def _load(path, default):
    if not os.path.exists(path):
        return default
    with open(path) as f:
        return json.load(f)
