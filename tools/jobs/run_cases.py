#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs labelled cases of real training jobs and lays each out as a folder (see case_folder.py).

A case file is a JSON list of
  {"name": "slow-link", "job": "ddp" or "mesh", "ranks": 4, "train": {option: value},
   "fault": [{"kind", "ranks", ...}], "truth": {"kind", "culprit_ranks", "how", ...},
   "netns": true, "host_per_rank": true, "links": {"2": "200mbit"}, "quota": {"1": 12},
   "burners": {"count": 2, "duty": 0.5}, "bare": true}
with every field but "name" optional; bare leaves out steps.<R>.json and groups.<R>.json.
Cases that need network namespaces or a CPU quota are skipped with a sentence where these cannot be had.
Needs torch and numpy in the Python that runs it.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import launch
from case_folder import write_case
from machine_load import LoadMeter

DEFAULTS = {"seed": 1, "warm": 5, "plain": 10, "profile": 6}


def words_of(options):
    out = []
    for name, value in options.items():
        if value is not False:
            out += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    return out


def run(case, where, limit_s, scheduling=launch.NORMAL, keep_raw=None):
    """Runs one case once.  Returns (truth, run), or a sentence that says why it failed."""
    options = dict(DEFAULTS, **case.get("train", {}))
    raw = tempfile.mkdtemp()
    try:
        words = words_of(options) + ["--fault", json.dumps(case.get("fault", []))]
        try:
            with LoadMeter() as meter:
                codes, burner_s = launch.launch(case, words, raw, limit_s, scheduling)
        except (OSError, subprocess.CalledProcessError) as error:
            return f"its surroundings could not be made: {error}"
        hang = any(f["kind"] == "hang" for f in case.get("fault", []))
        if any(codes) and not hang:
            rank = next(r for r, code in enumerate(codes) if code)
            with open(f"{raw}/log.{rank}") as log:
                return f"rank {rank} ended with {codes[rank]}:\n{log.read()[-1500:]}"
        return write_case(case, options, raw, where, dict(meter.result(burner_s), scheduling=scheduling))
    finally:
        if keep_raw:
            shutil.copytree(raw, keep_raw, dirs_exist_ok=True)
        shutil.rmtree(raw)


def run_quietly(case, where, arguments):
    """Runs a case until other work took few enough cores, at most --tries times; the last try stays."""
    scheduling = launch.least_disturbed(case) if arguments.scheduling == "best" else arguments.scheduling
    for _ in range(arguments.tries):
        result = run(case, where, arguments.limit_s, scheduling, arguments.keep_raw)
        if isinstance(result, str):
            print(f"{case['name']}: failed: {result}", flush=True)
            continue
        truth, record = result
        load, step_ms = record["load"], record["step_ms"].get("profiled", {}).get(0, {})
        print(f"{case['name']}: {load} step {step_ms.get('median_ms')} ms, injected "
              f"{truth.get('magnitude_ms_per_step')}", flush=True)
        if scheduling == launch.REALTIME or load["other_cores"] - load["burner_cores"] <= arguments.max_other_cores:
            return True
    return not isinstance(result, str)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("cases", help="the case file")
    p.add_argument("out", help="folder that gets one folder per case")
    p.add_argument("names", nargs="*", help="only these cases")
    p.add_argument("--tries", type=int, default=1, help="how often a case is run if other work disturbs it or it fails")
    p.add_argument("--max-other-cores", type=float, default=0.2, help="what counts as quiet")
    p.add_argument("--limit-s", type=float, default=120, help="wall time of one run")
    p.add_argument("--scheduling", choices=("best", *launch.SCHEDULING_WORDS), default=launch.NORMAL,
                   help="priority of the ranks over other work (root); best: the highest that suits the case")
    p.add_argument("--keep-raw", help="folder for what the ranks wrote")
    arguments = p.parse_args()
    with open(arguments.cases) as f:
        cases = json.load(f)
    unknown = set(arguments.names) - {c["name"] for c in cases}
    if unknown:
        p.error(f"no such case: {', '.join(sorted(unknown))}")
    failed = 0
    for case in cases:
        if arguments.names and case["name"] not in arguments.names:
            continue
        if reason := launch.unavailable(case):
            print(f"{case['name']}: skipped: {reason}", flush=True)
            continue
        failed += not run_quietly(case, os.path.join(arguments.out, case["name"]), arguments)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
