# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: tiny.py OUT: writes PTX of tinygrad's own PTX backend, one file a kernel. Its NULL device
# compiles and runs nothing, so no GPU is needed.
import os
import sys

os.environ["DEV"] = "NULL:PTX:sm_90"
os.environ["CACHELEVEL"] = "0"

from tinygrad import Tensor, dtypes
from tinygrad.renderer.ptx import PTXRenderer

out = sys.argv[1]
seen = set()
plain_render = PTXRenderer.render


def render(self, *args, **kw):
    text = plain_render(self, *args, **kw)
    if text not in seen:
        seen.add(text)
        with open(os.path.join(out, f"k{len(seen):03}.ptx"), "w") as f:
            # as tinygrad's compiler does
            f.write(text.replace("TARGET", "sm_90").replace("VERSION", "7.8"))
    return text


PTXRenderer.render = render


def new(*shape, dtype=dtypes.float32):
    return Tensor.empty(*shape, dtype=dtype)


a, b, x = new(64, 64), new(64, 64), new(4096)
image, weights = new(1, 8, 16, 16), new(8, 8, 3, 3)
half = new(64, 64, dtype=dtypes.float16)
ints = new(1024, dtype=dtypes.int32)
computations = [
    lambda: a + b, lambda: a * 2 - b, lambda: (a @ b), lambda: (half @ half),
    lambda: a.sum(), lambda: a.sum(axis=0), lambda: a.sum(axis=1), lambda: x.max(), lambda: x.mean(),
    lambda: a.softmax(), lambda: a.log_softmax(), lambda: a.layernorm(), lambda: x.exp(), lambda: x.log(),
    lambda: x.sin(), lambda: x.sqrt(), lambda: x.rsqrt(), lambda: x.sigmoid(), lambda: x.tanh(), lambda: x.gelu(),
    lambda: x.relu(), lambda: (x > 0).where(x, -x), lambda: x.cast(dtypes.float16) + 1,
    lambda: x.cast(dtypes.int32) % 7, lambda: ints // 3, lambda: ints ^ 5, lambda: (ints << 2) | 1,
    lambda: ints.cast(dtypes.int64) * ints, lambda: ints.cast(dtypes.uint8) + 1, lambda: ints.sum(), lambda: ints.min(),
    lambda: image.conv2d(weights, padding=1), lambda: image.max_pool2d(), lambda: image.avg_pool2d(),
    lambda: x.cumsum(), lambda: a.transpose().contiguous(), lambda: a.pad(((1, 1), (1, 1))).contiguous(),
    lambda: x.sort()[0], lambda: a.std(), lambda: a.var(axis=0), lambda: Tensor.arange(1000).contiguous(),
    lambda: a[ints[:64].cast(dtypes.int32) % 64], lambda: x.cast(dtypes.float64).sum(), lambda: x.argmax(),
    lambda: (half + 1).sum(), lambda: half.exp(), lambda: x.cast(dtypes.bfloat16) * 2,
    lambda: (new(256, 256) @ new(256, 256)).relu(), lambda: new(3, 37, 41).sum(axis=1),
    lambda: new(1024, 1024).sum(), lambda: x.pow(3), lambda: x.erf(),
]
for n, compute in enumerate(computations):
    try:
        compute().realize()
    except Exception as e:  # this version of tinygrad cannot lower the computation
        print(f"tinygrad, computation {n}: {type(e).__name__}: {str(e)[:100]}")
