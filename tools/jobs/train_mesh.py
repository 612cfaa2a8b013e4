#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small job with several process groups at once (gloo, CPU) whose ranks can be made slow in known ways.

--pp x --dp x --tp = number of ranks; --moe puts an expert layer into every block, one expert per rank.
  dp   fsdp: fully_shard for every block and the root; allreduce: one all-reduce of flattened gradients
       per block after the backward; ddp: DistributedDataParallel on the dp group
  tp   parallelize_module: q, k, v, up column-wise, proj and down row-wise
  pp   torch.distributed.pipelining, Schedule1F1B with --micro micro-batches
Leaves groups.<R>.json (also in the trace, as "job_groups") and threads.<R>.json beside the files of job.py.
"""
import random

import job as jobs  # first: sets the number of threads before torch starts

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

import faults as faulty
from device import Device
from mesh_groups import MeshGroups
from mesh_model import VOCAB, Block, Experts, Stage, loss_of


class Batches(Dataset):
    """One item is the batch of one step.  With a long_sequence fault one dp replica, drawn anew in
    every step (all ranks draw the same), gets the long one."""

    def __init__(self, o, n, replica, faults):
        self.o, self.n, self.replica, self.faults = o, n, replica, faults

    def __len__(self):
        return self.n

    def __getitem__(self, step):
        faulty.read_shard(self.faults)
        seq = self.o.seq
        for fault in self.faults.active("long_sequence"):
            if random.Random(f"{self.o.seed} {step}").randrange(self.o.dp) == self.replica:
                seq = int(seq * fault.spec["factor"])
        rng = torch.Generator().manual_seed(self.o.seed * 100003 + step * 101 + self.replica)
        x = torch.randint(0, VOCAB, (self.o.batch, seq + 1), generator=rng)
        return x[:, :-1].contiguous(), x[:, 1:].contiguous()


def options():
    p = jobs.parser(__doc__)
    for name in ("pp", "dp", "tp"):
        p.add_argument(f"--{name}", type=int, default=1)
    p.add_argument("--order", default="pp,dp,tp", help="mesh dimensions, the slowest first")
    p.add_argument("--moe", action="store_true")
    p.add_argument("--dp-kind", choices=("fsdp", "allreduce", "ddp"), default="fsdp")
    p.add_argument("--micro", type=int, default=4)
    p.add_argument("--model", choices=("mlp", "gpt"), default="mlp")
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--blocks", default="2", help="all blocks, or the blocks of each stage: 2,4")
    p.add_argument("--no-world-loss", action="store_true",
                   help="no all-reduce of the loss over all ranks at the end of a step")
    p.set_defaults(device_ms=12)
    o = p.parse_args()
    if o.moe and (o.pp > 1 or o.tp > 1):
        p.error("--moe needs all ranks in --dp")
    return o


class Training:
    def __init__(self, o):
        self.o, self.job = o, jobs.Job(o)
        if o.pp * o.dp * o.tp != self.job.world:
            raise SystemExit(f"{o.pp} x {o.dp} x {o.tp} is not the number of ranks, {self.job.world}")
        self.faults = self.job.faults
        self.groups = MeshGroups({d: getattr(o, d) for d in o.order.split(",")}, o.moe)
        self.describe()
        self.collectors = faulty.prepare(self.faults)
        self.model = self.build()
        self.runnable = self.parallelize()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, foreach=False)
        self.pipe = None
        if o.pp > 1:
            stage = PipelineStage(self.runnable, self.groups.at("pp"), o.pp, torch.device("cpu"),
                                  group=self.groups["pp"])
            self.pipe = Schedule1F1B(stage, o.micro, loss_fn=loss_of)
        data = Batches(o, self.job.total_steps(), self.groups.at("dp"), self.faults)
        self.batches = iter(DataLoader(data, batch_size=None))

    def describe(self):
        known = {"rank": self.job.rank, "world": self.job.world, **self.groups.describe(), "dp_kind": self.o.dp_kind,
                 "micro_batches": self.o.micro if self.o.pp > 1 else 1}
        self.job.write("groups", known)
        self.job.write("threads", self.groups.threads)
        self.job.metadata["job_groups"] = known

    def build(self):
        o, pp = self.o, self.groups.at("pp")
        device = Device(o.device_ms, self.faults)
        per_stage = [int(b) for b in o.blocks.split(",")]
        if len(per_stage) == 1:
            per_stage = [per_stage[0] // o.pp] * o.pp
        rng = torch.Generator().manual_seed(o.seed * 1000 + self.job.rank)
        experts = (lambda: Experts(o.width, device, self.groups["ep"], rng)) if o.moe else None
        blocks = [Block(o.width, o.model == "gpt", device, o.seq, experts) for _ in range(per_stage[pp])]
        return Stage(o.width, blocks, pp == 0, pp == o.pp - 1)

    def parallelize(self):
        """Applies tensor and data parallelism; returns the module to run."""
        o, model, mesh = self.o, self.model, self.groups.mesh
        if o.tp > 1:
            plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
            if o.model == "gpt":
                plan |= {f"attn.{x}": ColwiseParallel() for x in "qkv"} | {"attn.proj": RowwiseParallel()}
            for block in model.blocks:
                parallelize_module(block, mesh["tp"], plan)
        if o.dp > 1 and o.dp_kind == "fsdp":
            for block in model.blocks:
                fully_shard(block, mesh=mesh["dp"])
            fully_shard(model, mesh=mesh["dp"])
        elif o.dp > 1 and o.dp_kind == "ddp":
            local = [n for n, _ in model.named_parameters() if ".experts.up." in n or ".experts.down." in n]
            DDP._set_params_and_buffers_to_ignore_for_model(model, local)
            return DDP(model, process_group=self.groups["dp"], bucket_cap_mb=0.25)
        return model

    def step(self, step, phase):
        with phase("data"):
            x, y = next(self.batches)
            x = faulty.extra_adapter(self.faults, x)
        loss = self.pipeline(x, y, phase) if self.pipe else self.forward_backward(x, y, phase)
        if self.o.dp > 1 and self.o.dp_kind == "allreduce":
            with phase("reduce gradients"):
                self.reduce_gradients()
        with phase("optimizer"):
            self.optimizer.step()
            self.optimizer.zero_grad()
        with phase("log", visible=False):
            faulty.log_metrics(self.faults, loss, self.job.path(f"metrics.{self.job.rank}.log"))
            faulty.save_checkpoint(self.faults, self.model, self.job.path(f"checkpoint.{self.job.rank}.pt"))
        if not self.o.no_world_loss:
            with phase("loss over all ranks"):
                dist.all_reduce(loss)

    def before_backward(self):
        for collector in self.collectors:
            collector.churn()
        faulty.first_use(self.faults)
        faulty.ask_to_be_stopped(self.faults)

    def forward_backward(self, x, y, phase):
        with phase("forward"):
            loss = loss_of(self.runnable(x), y)
        with phase("host", visible=False):
            self.before_backward()
        with phase("backward"):
            loss.backward()
        return loss.detach()

    def pipeline(self, x, y, phase):
        with phase("host", visible=False):
            self.before_backward()
        losses = []
        with phase("pipeline"):
            if self.groups.at("pp") == 0:
                self.pipe.step(x)
            elif self.groups.at("pp") == self.o.pp - 1:
                self.pipe.step(target=y, losses=losses)
            else:
                self.pipe.step()
        return torch.stack(losses).mean().detach() if losses else torch.zeros(())

    def reduce_gradients(self):
        """The simple data parallelism of pipelined jobs: per block one all-reduce of its flat gradient."""
        group = self.groups["dp"]
        for unit in self.model.units():
            grads = [p.grad.to_local() if hasattr(p.grad, "to_local") else p.grad
                     for p in unit.parameters() if p.grad is not None]
            flat = torch.cat([g.flatten() for g in grads])
            dist.all_reduce(flat, group=group)
            flat /= group.size()
            for g, v in zip(grads, flat.split([g.numel() for g in grads])):
                g.copy_(v.view_as(g))


def main():
    training = Training(options())
    training.job.run(training.step)
    training.job.finish()


if __name__ == "__main__":
    main()
