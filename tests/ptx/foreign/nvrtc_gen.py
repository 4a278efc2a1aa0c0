# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The heddle authors
#
# usage: nvrtc_gen.py OUT KERNELS: writes NVRTC's PTX of each source in KERNELS and KERNELS/forms,
# for sm_80 or sm_90a, some with debug information, some relocatable.
import glob
import os
import sys

from cuda.bindings import nvrtc

out, kernels = sys.argv[1:]
ways = [["-arch=compute_80"], ["-arch=compute_90a"], ["-arch=compute_90", "-G"], ["-arch=compute_86", "-rdc=true"],
        ["-arch=compute_90", "-lineinfo", "--use_fast_math"]]
# NVRTC has none of the host's headers.
headers = {
    "assert.h": b"#define assert(x) ((void)0)\n",
    "stdio.h": b"",
    "stdint.h": b"typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned uint32_t;\n"
                b"typedef unsigned long long uint64_t; typedef signed char int8_t; typedef short int16_t;\n"
                b"typedef int int32_t; typedef long long int64_t; typedef unsigned long uintptr_t;\n",
}


def check(result):
    if result[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(str(result[0]))
    return result[1] if len(result) > 1 else None


def compile_one(path, options):
    with open(path, "rb") as f:
        program = check(nvrtc.nvrtcCreateProgram(f.read(), os.path.basename(path).encode(), len(headers),
                                                 list(headers.values()), [h.encode() for h in headers]))
    options = [o.encode() for o in options + ["-std=c++17", "-default-device", f"-I{kernels}", f"-I{kernels}/forms"]]
    result = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if result[0] != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        log = b" " * check(nvrtc.nvrtcGetProgramLogSize(program))
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.decode(errors="replace").split("\n")[0])
    text = b" " * check(nvrtc.nvrtcGetPTXSize(program))
    check(nvrtc.nvrtcGetPTX(program, text))
    return text.rstrip(b"\0")


for n, path in enumerate(sorted(glob.glob(f"{kernels}/*.cu") + glob.glob(f"{kernels}/forms/*.cu"))):
    way = ways[n % len(ways)]
    name = os.path.basename(path)[:-3]
    try:
        text = compile_one(path, way)
    except RuntimeError as e:  # the source needs headers that NVRTC lacks
        print(f"nvrtc, {name}: {str(e)[:120]}")
        continue
    with open(os.path.join(out, f"{name}.ptx"), "wb") as f:
        f.write(text)
