/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* stamp: blocks that compute for a chosen number of rounds and write down when they began and ended
 * by the device's clock, so that it can be told from outside which blocks ran at a given time. */
// exec: stamp --grid 9 --block 64 u64[18]:zero f32[576]:zero u32:50 u32:0
#include "heddle_cuda.h"

static __device__ __forceinline__ u64 now_ns()
{
	u64 t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

/* With clock 0 the stamps are the block's number, so that results can be compared. */
KERNEL stamp(u64 *times, float *out, u32 rounds, u32 clock)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	float v = (float)threadIdx.x;
	u64 start = clock ? now_ns() : blockIdx.x;

#pragma unroll 1
	for (u32 k = 0; k < rounds; k++)
		v = fmaf(v, 0.999f, 1.0f);
	out[i] = v;
	if (threadIdx.x == 0) {
		times[2 * blockIdx.x] = start;
		times[2 * blockIdx.x + 1] = clock ? now_ns() : blockIdx.x + 1;
	}
}
