# SPDX-License-Identifier: Apache-2.0
"""Faults that a training process inflicts on itself, and the hooks through which it does so.

A fault is an object of the case file, such as {"kind": "slow_loader", "ranks": [2], "ms": 45}.
  ranks       list of ranks, or "all"
  only_step   strikes in this training step only
  from_step   strikes from this step on
  every       strikes in every n-th step
The functions below carry the names a diagnosis is expected to report (read_shard, log_metrics ...),
so that a trace with Python stacks shows where the time went.
"""
import contextlib
import gc
import os
import time

import torch


class Fault:
    """One fault as this rank sees it; remembers what it really did."""

    def __init__(self, spec, rank):
        self.spec = spec
        self.kind = spec["kind"]
        self.log = []  # [step, begin in Unix ns, duration in ns]
        ranks = spec.get("ranks", [])
        self.mine = ranks == "all" or rank in ranks

    def strikes(self, step):
        if not self.mine:
            return False
        if "only_step" in self.spec:
            return step == self.spec["only_step"]
        return step >= self.spec.get("from_step", 0) and step % self.spec.get("every", 1) == 0


class Faults:
    """All faults of a job on this rank, at the current training step."""

    def __init__(self, specs, rank):
        self.all = [Fault(spec, rank) for spec in specs]
        self.step = 0

    def active(self, kind):
        return [f for f in self.all if f.kind == kind and f.strikes(self.step)]

    def mine(self, kind):
        return [f for f in self.all if f.kind == kind and f.mine]

    @contextlib.contextmanager
    def noted(self, fault):
        wall, begin = time.time_ns(), time.perf_counter_ns()
        yield
        fault.log.append([self.step, wall, time.perf_counter_ns() - begin])

    def injected(self):
        """What was injected, summed by kind and step: [step, first begin in Unix ns, ns, kind]."""
        total = {}
        for fault in self.all:
            for step, wall, ns in fault.log:
                begin, so_far = total.get((fault.kind, step), (wall, 0))
                total[fault.kind, step] = begin, so_far + ns
        return [[step, begin, ns, kind] for (kind, step), (begin, ns) in total.items()]


def burn_cpu(ms):
    """Real arithmetic for about ms milliseconds of this thread's CPU time."""
    a = torch.randn(320, 320)
    end = time.thread_time_ns() + int(ms * 1e6)
    while time.thread_time_ns() < end:
        a = torch.tanh(a @ a)
    return a


def read_shard(faults):
    """Called by the data set for every batch."""
    for fault in faults.active("slow_loader"):
        with faults.noted(fault):
            time.sleep(fault.spec["ms"] / 1e3)


def extra_adapter(faults, x):
    """Work that only some ranks have."""
    for fault in faults.active("slow_compute"):
        with faults.noted(fault):
            burn_cpu(fault.spec["ms"])
    return x


def log_metrics(faults, loss, path):
    """Writes the loss to disk line by line, and makes sure of every line."""
    for fault in faults.active("slow_logging"):
        with faults.noted(fault), open(path, "a") as out:
            for i in range(fault.spec["writes"]):
                out.write(f"{faults.step} {i} {loss.item():.6f}\n")
                out.flush()
                os.fsync(out.fileno())


def save_checkpoint(faults, model, path):
    """Saves the weights to storage that takes `ms` longer than the local disk."""
    for fault in faults.active("checkpoint"):
        with faults.noted(fault):
            torch.save(model.state_dict(), path)
            time.sleep(fault.spec["ms"] / 1e3)


def first_use(faults):
    """Traces and lowers a function with torch.compile on first use: `layers` sets how long it takes."""
    for fault in faults.active("compile"):
        with faults.noted(fault):
            layers = fault.spec["layers"]

            def fused_activation(x):
                for i in range(layers):
                    x = torch.tanh(x * (1.0 + i)) + torch.sigmoid(x)
                return x

            torch.compile(fused_activation, backend="aot_eager")(torch.randn(8, 8))


def before_window(faults):
    """Called once, just before the profiler begins to record."""
    for fault in faults.active("late_entry"):
        with faults.noted(fault):
            time.sleep(fault.spec["ms"] / 1e3)


def ask_to_be_stopped(faults):
    """Asks the launcher, through the pipe STOPPER_FD, for SIGSTOP and, `ms` later, SIGCONT; returns when
    it has been stopped."""
    for fault in faults.active("sigstop"):
        with faults.noted(fault):
            begin = last = time.perf_counter()
            os.write(int(os.environ["STOPPER_FD"]), f"{os.getpid()} {fault.spec['ms']}\n".encode())
            now = time.perf_counter()
            while now - last < fault.spec["ms"] / 2e3 and now - begin < 1:
                last = now
                time.sleep(0.0005)
                now = time.perf_counter()


def wait_for_lock(fault):
    time.sleep(fault.spec["ms"] / 1e3)


class SlowGc:
    """Keeps a large heap of containers alive.  With "explicit" the job calls gc.collect() itself;
    otherwise it replaces most of the heap in every step, which brings about one automatic full
    collection a step, timed with gc.callbacks."""

    def __init__(self, faults, fault):
        self.faults, self.fault, self.begin, self.wall = faults, fault, 0, 0
        n = fault.spec["objects"]
        gc.disable()
        self.heap, self.slab = [{"i": i, "l": [i]} for i in range(n)], []
        gc.enable()
        gc.set_threshold(5000, 3, 1)
        gc.callbacks.append(self.called)

    def called(self, phase, info):
        if phase == "start":
            self.begin, self.wall = time.perf_counter_ns(), time.time_ns()
        elif info["generation"] == 2:
            self.fault.log.append([self.faults.step, self.wall, time.perf_counter_ns() - self.begin])

    def churn(self):
        if self.fault.strikes(self.faults.step):
            if self.fault.spec.get("explicit"):
                gc.collect()
            else:
                self.slab = [[i] for i in range(self.fault.spec["objects"] * 3 // 4)]


def prepare(faults):
    """Builds what faults need before the job starts; returns the slow garbage collectors."""
    if faults.mine("compile"):
        torch.compile(torch.cos, backend="aot_eager")(torch.randn(2))  # imports the compiler
    return [SlowGc(faults, fault) for fault in faults.mine("gc_pause")]
