# SPDX-License-Identifier: Apache-2.0
"""What the training jobs have in common: options, the step loop under the profiler, and the files a
rank leaves in --out:
  rank<R>.trace.json   the torch.profiler trace (absent with --profile 0)
  steps.<R>.json       wall time of every step and of its phases, measured in the loop
  fault.<R>.json       what was really injected: [step, begin in Unix ns, ns in this step, kind]

Ranks are described by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as torchrun sets them.
"""
import argparse
import datetime
import json
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from faults import Faults, before_window


def parser(description):
    """Options every job takes; step counts, seeds and milliseconds decide all of a job's behaviour."""
    p = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--batch", type=int, default=8, help="samples per step and rank")
    p.add_argument("--seq", type=int, default=32, help="tokens per sample")
    p.add_argument("--device-ms", type=float, default=0, help="emulated accelerator: wait per block in the "
                   "forward, twice that in the backward")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--warm", type=int, default=5, help="steps before anything is measured")
    p.add_argument("--plain", type=int, default=10, help="measured steps without the profiler")
    p.add_argument("--profile", type=int, default=6, help="profiled steps, after the plain ones")
    p.add_argument("--with-stack", action="store_true", help="record Python stacks")
    p.add_argument("--shapes", action="store_true", help="record the shapes of inputs")
    p.add_argument("--timeout-s", type=float, default=120, help="of a collective")
    p.add_argument("--fault", default="[]", help="JSON list, see faults.py")
    p.add_argument("--out", required=True, help="folder for what the ranks write")
    return p


class Job:
    """One rank of a job: process group, faults, step log."""

    def __init__(self, options):
        self.options = options
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        torch.set_num_threads(1)
        torch.manual_seed(options.seed)
        os.makedirs(options.out, exist_ok=True)
        self.write("pid", os.getpid())
        dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=options.timeout_s))
        self.faults = Faults(json.loads(options.fault), self.rank)
        self.steps, self.metadata = [], {}

    def path(self, name):
        return os.path.join(self.options.out, name)

    def write(self, name, value):
        with open(self.path(f"{name}.{self.rank}.json"), "w") as f:
            json.dump(value, f, indent=1)

    def total_steps(self):
        o = self.options
        return o.warm + o.plain + (o.profile + 2 if o.profile else 0)

    def run(self, one_step):
        """Calls one_step(step, phases) for all steps, the last ones under the profiler (two of them
        as its warm-up)."""
        o = self.options
        kinds = ["warm"] * o.warm + ["plain"] * o.plain
        for step, kind in enumerate(kinds):
            self.timed(one_step, step, kind)
        if not o.profile:
            return
        export = lambda p: p.export_chrome_trace(self.path(f"rank{self.rank}.trace.json"))
        with profile(activities=[ProfilerActivity.CPU], schedule=self.profiler_schedule(),
                     record_shapes=o.shapes, with_stack=o.with_stack, on_trace_ready=export) as profiler:
            for i in range(o.profile + 2):
                self.timed(one_step, len(kinds) + i, "profiled" if i >= 2 else "profiler-warm")
                if i == 1:
                    before_window(self.faults)
                if i == o.profile:
                    for key, value in self.metadata.items():
                        profiler.add_metadata_json(key, json.dumps(value))
                profiler.step()

    def profiler_schedule(self):
        """Two steps to warm up, then the recorded ones.  After the last one, and outside it, a rank waits for
        the others: the first one done would begin to write its trace, which takes all of a core, and where
        cores are few the others would seem to pause in that step."""
        active = self.options.profile
        usual = schedule(wait=0, warmup=2, active=active, repeat=1)

        def action(step):
            if step == active + 2:
                self.meet()
            return usual(step)

        return action

    def meet(self):
        """Waits until every rank has come here, by files, so that no collective enters the trace."""
        self.write("ended", len(self.steps))
        deadline = time.time() + self.options.timeout_s
        while not all(os.path.exists(self.path(f"ended.{r}.json")) for r in range(self.world)):
            if time.time() > deadline:
                raise TimeoutError("another rank did not end its last step")
            time.sleep(0.002)

    def timed(self, one_step, step, kind):
        self.faults.step = step
        phases = Phases()
        one_step(step, phases)
        self.steps.append({"step": step, "kind": kind, **phases.record()})

    def save(self):
        with open(self.path(f"steps.{self.rank}.json"), "w") as f:
            json.dump({"rank": self.rank, "world": self.world, "steps": self.steps}, f)
        self.write("fault", self.faults.injected())

    def finish(self):
        self.save()
        dist.barrier()
        dist.destroy_process_group()


class Phases:
    """Wall time of the named phases of one step, each also a span in the trace."""

    def __init__(self):
        self.wall, self.begin, self.ns = time.time_ns(), time.perf_counter_ns(), {}

    def __call__(self, name, visible=True):
        return _Phase(self, name, visible)

    def record(self):
        return {"begin_unix_ns": self.wall, "ns": time.perf_counter_ns() - self.begin,
                **{f"{name.replace(' ', '_')}_ns": ns for name, ns in self.ns.items()}}


class _Phase:
    def __init__(self, phases, name, visible):
        self.phases, self.name = phases, name
        self.span = record_function(name) if visible else None

    def __enter__(self):
        self.begin = time.perf_counter_ns()
        if self.span:
            self.span.__enter__()

    def __exit__(self, *why):
        if self.span:
            self.span.__exit__(*why)
        ns = self.phases.ns
        ns[self.name] = ns.get(self.name, 0) + time.perf_counter_ns() - self.begin
