#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small DistributedDataParallel job on gloo and CPU whose ranks can be made slow in known ways."""
import contextlib
import json
import time

import job as jobs  # first: sets the number of threads before torch starts

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

import faults as faulty
import hang_dumps
from ddp_models import MODELS, VOCAB
from device import Device


class Synthetic(Dataset):
    """Random samples; the first of each batch asks for its shard."""

    def __init__(self, options, width, n, rank, faults):
        self.options, self.width, self.n, self.faults = options, width, n, faults
        self.rng = np.random.default_rng(options.seed * 1000 + rank)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i % self.options.batch == 0:
            faulty.read_shard(self.faults)
        if self.options.model == "gpt":
            x = torch.from_numpy(self.rng.integers(0, VOCAB, self.options.seq + 1))
            return x[:-1], x[1:]
        shape = (3, 32, 32) if self.options.model == "cnn" else (self.width,)
        x = torch.from_numpy(self.rng.standard_normal(shape, dtype=np.float32))
        return x, int(self.rng.integers(0, 10))


def options():
    p = jobs.parser(__doc__)
    p.add_argument("--model", choices=MODELS, default="mlp")
    p.add_argument("--width", type=int, help="of the model; its own default if not given")
    p.add_argument("--depth", type=int, help="blocks of the model; its own default if not given")
    p.add_argument("--bucket-cap-mb", type=float, default=0.5)
    p.add_argument("--gradient-as-bucket-view", action="store_true")
    p.add_argument("--accumulate", type=int, default=1, help="micro-batches per step (no_sync but the last)")
    return p.parse_args()


class Training:
    def __init__(self, o):
        self.job = jobs.Job(o)
        self.faults = self.job.faults
        self.collectors = faulty.prepare(self.faults)
        make, width, depth = MODELS[o.model]
        width, depth = o.width or width, o.depth or depth
        self.model = DDP(make(width, depth, Device(o.device_ms, self.faults)), bucket_cap_mb=o.bucket_cap_mb,
                         gradient_as_bucket_view=o.gradient_as_bucket_view)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9, foreach=True)
        samples = (self.job.total_steps() * o.accumulate + 1) * o.batch
        self.batches = iter(DataLoader(Synthetic(o, width, samples, self.job.rank, self.faults), o.batch))
        self.accumulate = o.accumulate

    def step(self, step, phase):
        for micro in range(self.accumulate):
            with contextlib.nullcontext() if micro == self.accumulate - 1 else self.model.no_sync():
                loss = self.micro_batch(phase)
        with phase("optimizer"):
            self.optimizer.step()
            self.optimizer.zero_grad()
        with phase("log", visible=False):
            faulty.log_metrics(self.faults, loss, self.job.path(f"metrics.{self.job.rank}.log"))
            faulty.save_checkpoint(self.faults, self.model, self.job.path(f"checkpoint.{self.job.rank}.pt"))

    def micro_batch(self, phase):
        with phase("data"):
            x, y = next(self.batches)
        with phase("forward"):
            out = self.model(faulty.extra_adapter(self.faults, x))
            loss = F.cross_entropy(out.flatten(0, -2), y.flatten())
        with phase("host", visible=False):
            self.before_backward()
        with phase("backward"):
            loss.backward()
        return loss

    def before_backward(self):
        for collector in self.collectors:
            collector.churn()
        faulty.first_use(self.faults)
        faulty.ask_to_be_stopped(self.faults)
        for fault in self.faults.active("hang"):
            fault.log.append([self.faults.step, time.time_ns(), 0])
            self.job.write("hanging", self.faults.step)
            faulty.wait_for_lock(fault)


def main():
    o = options()
    training = Training(o)
    if any(f["kind"] == "hang" for f in json.loads(o.fault)):
        hang_dumps.serve(training.job)
    training.job.run(training.step)
    training.job.finish()


if __name__ == "__main__":
    main()
