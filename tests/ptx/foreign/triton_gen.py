# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: triton_gen.py OUT: writes PTX of Triton, one file for each kernel and target (sm_80, and
# sm_90, which gives sm_90a).
import os
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

out = sys.argv[1]


@triton.jit
def add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def total(x, y, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    s = tl.zeros((B,), tl.float32)
    for at in range(0, n, B):
        s += tl.load(x + at + i, mask=at + i < n, other=0.0)
    tl.store(o + tl.program_id(0), tl.sum(s, axis=0))


@triton.jit
def softmax(x, y, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.program_id(0) * n
    v = tl.load(x + row + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(o + row + i, e / tl.sum(e, axis=0), mask=i < n)


@triton.jit
def layernorm(x, y, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.program_id(0) * n
    v = tl.load(x + row + i, mask=i < n, other=0.0)
    mean = tl.sum(v, axis=0) / n
    d = tl.where(i < n, v - mean, 0.0)
    tl.store(o + row + i, d * tl.rsqrt(tl.sum(d * d, axis=0) / n + 1e-5), mask=i < n)


@triton.jit
def product(x, y, o, n, B: tl.constexpr):
    r, c, k = tl.arange(0, 32), tl.arange(0, 32), tl.arange(0, 32)
    acc = tl.zeros((32, 32), tl.float32)
    for at in range(0, n, 32):
        a = tl.load(x + r[:, None] * n + (at + k)[None, :]).to(tl.float16)
        b = tl.load(y + (at + k)[:, None] * n + c[None, :]).to(tl.float16)
        acc = tl.dot(a, b, acc)
    tl.store(o + r[:, None] * n + c[None, :], acc)


@triton.jit
def product_big(x, y, o, n, B: tl.constexpr):
    r, c, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    for at in range(0, n, 64):
        a = tl.load(x + r[:, None] * n + (at + k)[None, :]).to(tl.bfloat16)
        b = tl.load(y + (at + k)[:, None] * n + c[None, :]).to(tl.bfloat16)
        acc = tl.dot(a, b, acc)
    tl.store(o + r[:, None] * n + c[None, :], acc)


@triton.jit
def transpose(x, y, o, n, B: tl.constexpr):
    r, c = tl.arange(0, 32), tl.arange(0, 32)
    v = tl.load(x + r[:, None] * n + c[None, :])
    tl.store(o + r[:, None] * n + c[None, :], tl.trans(v))


@triton.jit
def scan(x, y, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.cumsum(tl.load(x + i), axis=0))


@triton.jit
def atomics(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.atomic_add(o + (i % 16), v, mask=i < n)
    tl.atomic_max(y, tl.max(v, axis=0))


@triton.jit
def gather(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    at = tl.load(y + i, mask=i < n, other=0.0).to(tl.int32)
    tl.store(o + i, tl.load(x + at, mask=(i < n) & (at < n), other=0.0), mask=i < n)


@triton.jit
def functions(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=1.0)
    tl.store(o + i, tl.sin(v) + tl.cos(v) + tl.log(v) + tl.sqrt(v) + tl.exp2(v) + tl.erf(v), mask=i < n)


@triton.jit
def random(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.rand(n, i), mask=i < n)


@triton.jit
def sort(x, y, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.sort(tl.load(x + i)))


@triton.jit
def print_some(x, y, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.device_print("value", v)
    tl.store(o + i, v)


@triton.jit
def loop(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    k = 0
    while k < n:
        v = v * 0.5 + tl.load(y + k)
        k += 1
    tl.store(o + i, v, mask=i < n)


kernels = [add, total, softmax, layernorm, product, product_big, transpose, scan, atomics, gather, functions,
           random, sort, print_some, loop]
signature = {"x": "*fp32", "y": "*fp32", "o": "*fp32", "n": "i32", "B": "constexpr"}
for kernel in kernels:
    for cc in (80, 90):
        name = f"{kernel.fn.__name__}-sm{cc}"
        try:
            source = ASTSource(fn=kernel, signature=signature, constexprs={"B": 256})
            made = triton.compile(source, target=GPUTarget("cuda", cc, 32), options={"num_warps": 4, "ptx_version": 88})
        except Exception as e:  # this version cannot compile the kernel for this target
            print(f"triton, {name}: {type(e).__name__}: {str(e)[:100]}")
            continue
        with open(os.path.join(out, name + ".ptx"), "w") as f:
            f.write(made.asm["ptx"])
