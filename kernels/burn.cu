/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* burn: blocks that compute for a chosen number of rounds and touch memory once, for latency
 * measurements. One round is one dependent multiply-add. */
// exec: burn --grid 9 --block 64 f32[576]:zero u32:50
#include "heddle_cuda.h"

KERNEL burn(float *out, u32 rounds)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = (float)threadIdx.x;
#pragma unroll 1
	for (u32 k = 0; k < rounds; k++)
		v = fmaf(v, 0.999f, 1.0f);
	out[i] = v;
}
