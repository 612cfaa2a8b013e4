# SPDX-License-Identifier: Apache-2.0
"""The models of the data-parallel job: a perceptron, a small convolution net, a small transformer."""
import torch.nn as nn
import torch.nn.functional as F

from device import on_device

VOCAB = 512


class Mlp(nn.Module):
    def __init__(self, width, depth, device):
        super().__init__()
        self.device = device
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        for block in self.blocks:
            x = on_device(F.relu(block(x)), self.device)
        return self.head(x)


class Cnn(nn.Module):
    def __init__(self, width, depth, device):
        super().__init__()
        self.device = device
        channels = [3] + [width * 2 ** min(i, 2) for i in range(depth)]
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, 2, 1) for a, b in zip(channels, channels[1:]))
        self.norms = nn.ModuleList(nn.GroupNorm(4, b) for b in channels[1:])
        self.head = nn.Linear(channels[-1], 10)

    def forward(self, x):
        for conv, norm in zip(self.convs, self.norms):
            x = on_device(F.relu(norm(conv(x))), self.device)
        return self.head(x.mean((2, 3)))


class GptBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, 4, d // 4).transpose(1, 2) for y in self.qkv(self.n1(x)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Gpt(nn.Module):
    def __init__(self, width, depth, device):
        super().__init__()
        self.device = device
        self.emb = nn.Embedding(VOCAB, width)
        self.blocks = nn.ModuleList(GptBlock(width) for _ in range(depth))
        self.head = nn.Linear(width, VOCAB)

    def forward(self, x):
        x = self.emb(x)
        for block in self.blocks:
            x = on_device(block(x), self.device)
        return self.head(x)


# name -> class, default width, default depth
MODELS = {"mlp": (Mlp, 256, 6), "cnn": (Cnn, 16, 4), "gpt": (Gpt, 64, 2)}
