/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Bitonic sort of words: tiles in shared memory, one ascending and the next descending, so that two
 * of them are a bitonic sequence; then a step for each run (a power of two, the length of what is
 * sorted after its last step) and each gap from half of the run down to 1. A step is one launch of
 * many short blocks. */
// exec: bitonic_tile --grid 5 --block 256 u32[2560]:rand(1)
// exec: bitonic_tile --grid 3,4 --block 256 u32[6144]:rand(2)
// exec: bitonic_tile --grid 1 --block 256 u32[512]:iota
// exec: bitonic_step --grid 8 --block 256 u32[4096]:rand(3) u32:4096 u32:1024 u32:512
// exec: bitonic_step --grid 40 --block 64 u32[5000]:rand(4) u32:5000 u32:8 u32:1
// exec: bitonic_step --grid 17,2 --block 100 u32[6800]:rand(5) u32:6800 u32:64 u32:32
#include "heddle_cuda.h"

#define TILE 512

KERNEL __launch_bounds__(TILE / 2) bitonic_tile(u32 *keys)
{
	__shared__ u32 tile[TILE];
	u32 block = blockIdx.y * gridDim.x + blockIdx.x, t = threadIdx.x;
	u32 *from = keys + (u64)block * TILE;
	tile[t] = from[t];
	tile[t + TILE / 2] = from[t + TILE / 2];
	for (u32 run = 2; run <= TILE; run *= 2)
		for (u32 gap = run / 2; gap; gap /= 2) {
			u32 low = 2 * t - (t & (gap - 1));
			u32 offset =
				low + block * TILE; /* the last run's direction is the block's */
			__syncthreads();
			u32 a = tile[low], b = tile[low + gap];
			if ((a > b) == ((offset & run) == 0)) {
				tile[low] = b;
				tile[low + gap] = a;
			}
		}
	__syncthreads();
	from[t] = tile[t];
	from[t + TILE / 2] = tile[t + TILE / 2];
}

/* A thread for each pair. */
KERNEL bitonic_step(u32 *keys, u32 n, u32 run, u32 gap)
{
	u32 t = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
	u32 low = 2 * t - (t & (gap - 1));
	if (low + gap >= n)
		return;
	u32 a = keys[low], b = keys[low + gap];
	if ((a > b) == ((low & run) == 0)) {
		keys[low] = b;
		keys[low + gap] = a;
	}
}
