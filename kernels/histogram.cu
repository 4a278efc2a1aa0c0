/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Histogram of bytes: each block counts in shared memory, by atomics, and adds what it has to the
 * whole in the end. data: n words of four bytes. */
// exec: histogram --grid 8 --block 128 u32[8000]:rand(1) u32[256]:zero u32:8000
// exec: histogram --grid 3,3 --block 192 u32[5001]:rand(2) u32[256]:zero u32:5001
// exec: histogram --grid 20 --block 100 u32[3000]:iota u32[256]:zero u32:3000
#include "heddle_warp.h"

#define BINS 256

KERNEL histogram(const u32 *data, u32 *bins, u32 n)
{
	__shared__ u32 count[BINS];
	u32 first = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
	u32 stride = gridDim.y * gridDim.x * blockDim.x;
	for (u32 b = threadIdx.x; b < BINS; b += blockDim.x)
		count[b] = 0;
	__syncthreads();
	for (u32 i = first; i < n; i += stride) {
		u32 word = data[i];
		for (u32 shift = 0; shift < 32; shift += 8)
			atomicAdd(&count[word >> shift & 255], 1u);
	}
	__syncthreads();
	for (u32 b = threadIdx.x; b < BINS; b += blockDim.x)
		if (count[b])
			atomicAdd(&bins[b], count[b]);
}
