# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: numba_gen.py OUT: writes PTX of numba-cuda (NVVM), one file a kernel, optimized for sm_80
# and with debug information for sm_90.
import math
import os
import sys

from numba import cuda, float32, int32

out = sys.argv[1]


def add(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] + y[i]


def stride(x, y, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        y[i] = 2 * x[i]


def reduce(x, y, n):
    part = cuda.shared.array(128, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    part[t] = x[i] if i < n else 0
    cuda.syncthreads()
    s = 64
    while s > 0:
        if t < s:
            part[t] += part[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        y[cuda.blockIdx.x] = part[0]


def product(x, y, n):
    a = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    s = float32(0)
    for k in range(0, n, 16):
        a[ty, tx] = x[(ty * n + k + tx) % n]
        cuda.syncthreads()
        for j in range(16):
            s += a[ty, j] * a[j, tx]
        cuda.syncthreads()
    y[ty * 16 + tx] = s


def functions(x, y, n):
    i = cuda.grid(1)
    if i < n:
        v = x[i]
        y[i] = math.sin(v) + math.cos(v) * math.exp(v) + math.log(abs(v) + 1) + math.sqrt(abs(v)) + math.pow(v, 3)


def trig_slow(x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = math.tan(x[i]) + math.erf(x[i]) + math.gamma(x[i]) + math.atan2(x[i], y[i])


def atomics(x, y, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(y, i % 16, x[i])
        cuda.atomic.max(y, 16, x[i])


def ballot(x, y, n):
    i = cuda.grid(1)
    m = cuda.ballot_sync(0xFFFFFFFF, x[i] > 0)
    y[i] = cuda.popc(m)


def shuffle(x, y, n):
    i = cuda.grid(1)
    v = x[i]
    for d in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, d)
    if cuda.laneid == 0:
        y[i // 32] = v


def histogram(x, y, n):
    counts = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    if t < 64:
        counts[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(counts, int(x[i]) & 63, 1)
    cuda.syncthreads()
    if t < 64:
        y[t] += counts[t]


def private(x, y, n):
    mine = cuda.local.array(8, float32)
    i = cuda.grid(1)
    for k in range(8):
        mine[(k * 3) % 8] = x[(i + k) % n]
    s = float32(0)
    for k in range(8):
        s += mine[k] * k
    y[i] = s


def early(x, y, n):
    i = cuda.grid(1)
    if i >= n:
        return
    if x[i] < 0:
        y[i] = 0
        return
    y[i] = math.sqrt(x[i])


def collatz(x, y, n):
    i = cuda.grid(1)
    if i < n:
        v = int(x[i])
        steps = 0
        while v > 1 and steps < 1000:
            v = 3 * v + 1 if v % 2 else v // 2
            steps += 1
        y[i] = steps


def fence(x, y, n):
    i = cuda.grid(1)
    y[i] = x[i]
    cuda.threadfence()
    y[(i + 1) % n] = x[i]


def table(x, y, n):
    i = cuda.grid(1)
    values = (1.0, 2.5, 4.0, 8.0)
    y[i] = values[i % 4] * x[i]


kernels = [add, stride, reduce, product, functions, trig_slow, atomics, ballot, shuffle, histogram, private,
           early, collatz, fence, table]
signature = (float32[:], float32[:], int32)
for kernel in kernels:
    for name, options in (("opt", dict(cc=(8, 0))), ("debug", dict(cc=(9, 0), debug=True, opt=False))):
        try:
            text, _ = cuda.compile_ptx(kernel, signature, **options)
        except Exception as e:  # this version cannot compile the kernel in this way
            print(f"numba, {kernel.__name__} {name}: {type(e).__name__}: {str(e)[:100]}")
            continue
        with open(os.path.join(out, f"{kernel.__name__}-{name}.ptx"), "w") as f:
            f.write(text if isinstance(text, str) else text.decode())
