# SPDX-License-Identifier: Apache-2.0
"""The model of the mesh job: blocks of a perceptron or a transformer, dense or with experts, cut into
pipeline stages."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import record_function

from device import on_device

VOCAB = 256


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.head = d // 4
        self.q, self.k, self.v, self.proj = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (f(x).view(b, t, -1, self.head).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(a.transpose(1, 2).reshape(b, t, -1))


class AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, out_split, in_split, group):
        ctx.args = in_split, out_split, group
        y = x.new_empty(sum(out_split), x.shape[1])
        dist.all_to_all_single(y, x.contiguous(), out_split, in_split, group=group)
        return y

    @staticmethod
    def backward(ctx, g):
        return AllToAll.apply(g, *ctx.args), None, None, None


class Experts(nn.Module):
    """One expert per rank of the group.  Which expert a token goes to is drawn, so that the imbalance
    is known; the device wait of an expert is proportional to its tokens."""

    def __init__(self, d, device, group, rng):
        super().__init__()
        self.device, self.group, self.rng = device, group, rng
        self.router = nn.Linear(d, group.size(), bias=False)
        self.up, self.down = nn.Linear(d, 2 * d, bias=False), nn.Linear(2 * d, d, bias=False)

    def shares(self):
        n = self.group.size()
        share = torch.full((n,), 1.0 / n)
        for fault in self.device.faults.active("hot_expert"):
            share.fill_((1 - fault.spec["share"]) / (n - 1))
            share[fault.spec["expert"]] = fault.spec["share"]
        return share

    def forward(self, x):
        flat = x.flatten(0, 1)
        target = torch.multinomial(self.shares(), len(flat), replacement=True, generator=self.rng)
        gate = self.router(flat).softmax(-1).gather(1, target[:, None])
        order = target.argsort()
        with record_function("moe dispatch"):
            send = target.bincount(minlength=self.group.size())
            recv = torch.empty_like(send)
            dist.all_to_all_single(recv, send, group=self.group)
            send, recv = send.tolist(), recv.tolist()
            y = AllToAll.apply(flat[order], recv, send, self.group)
        with record_function("expert"):
            y = on_device(self.down(F.gelu(self.up(y))), self.device, sum(recv) / len(flat))
        with record_function("moe combine"):
            y = AllToAll.apply(y, send, recv, self.group)
        return (gate * torch.zeros_like(y).index_copy(0, order, y)).view_as(x)


class Block(nn.Module):
    """`usual_seq`: the sequence length whose device wait is the usual one."""

    def __init__(self, d, attention, device, usual_seq, make_experts):
        super().__init__()
        self.device, self.usual_seq = device, usual_seq
        self.n1, self.n2 = (nn.LayerNorm(d, elementwise_affine=False) for _ in range(2))
        self.attn = Attention(d) if attention else None
        self.experts = make_experts() if make_experts else None
        if not self.experts:
            self.up, self.down = nn.Linear(d, 4 * d, bias=False), nn.Linear(4 * d, d, bias=False)

    def forward(self, x):
        if self.attn:
            x = x + self.attn(self.n1(x))
        y = self.n2(x)
        x = x + (self.experts(y) if self.experts else self.down(F.gelu(self.up(y))))
        return on_device(x, self.device, x.shape[1] / self.usual_seq)


class Stage(nn.Module):
    """The blocks of one pipeline stage; the first has the embedding, the last the head."""

    def __init__(self, d, blocks, is_first, is_last):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d) if is_first else None
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(d, VOCAB, bias=False) if is_last else None

    def forward(self, x):
        if self.emb:
            x = self.emb(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x) if self.head else x

    def units(self):
        """Parts whose gradients are reduced together, in the order in which the backward ends them."""
        return [u for u in [self.head, self.emb, *reversed(self.blocks)] if u is not None]


def loss_of(out, y):
    return F.cross_entropy(out.flatten(0, -2), y.flatten())
