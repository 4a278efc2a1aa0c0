# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
"""Runs training with the installed PyTorch: a transformer whose kernels fill the GPU.

usage: training.py [--steps N] [--log FILE] [--layers 4] [--width 4096] [--tokens 16384]

Prints "ready" after its warm-up, and writes a line to FILE when it sees that a step has ended on
the device: CLOCK_MONOTONIC in seconds. Waits for the device only to read every 20th step's loss.
Ends after N steps, or on SIGTERM.
"""
import argparse
import collections
import time

import torch
from torch import nn


class Layer(nn.Module):
    """Attention and two linear layers, each after a norm."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(batch, length, width))
        return x + self.feed(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--log", default="/dev/null")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--tokens", type=int, default=16384)
    a = parser.parse_args()

    torch.manual_seed(1)
    model = nn.Sequential(*[Layer(a.width, 32) for _ in range(a.layers)]).cuda().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(8, a.tokens // 8, a.width, device="cuda", dtype=torch.bfloat16)
    under_way = collections.deque()
    step = 0
    with open(a.log, "w", buffering=1) as log:
        while not a.steps or step < a.steps:
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            event = torch.cuda.Event()
            event.record()
            under_way.append(event)
            step += 1
            if step % 20 == 0 and not loss.item() >= 0:
                raise SystemExit("the loss is " + str(loss.item()))
            while under_way and under_way[0].query():
                under_way.popleft()
                log.write(f"{time.monotonic():.6f}\n")
            if step == 5:
                torch.cuda.synchronize()
                print("ready", flush=True)
        torch.cuda.synchronize()
        for _ in under_way:
            log.write(f"{time.monotonic():.6f}\n")


main()
