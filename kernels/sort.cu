/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tiles of words sorted in shared memory, by Batcher's merging of odd and even: all comparisons
 * ascend. A block a tile. */
// exec: sort --grid 4 --block 256 u32[2048]:rand(1)
#include "heddle_cuda.h"

#define TILE 512

KERNEL __launch_bounds__(TILE / 2) sort(u32 *keys)
{
	__shared__ u32 tile[TILE];
	u32 t = threadIdx.x;
	u32 *from = keys + (u64)blockIdx.x * TILE;
	tile[t] = from[t];
	tile[t + TILE / 2] = from[t + TILE / 2];
	for (u32 run = 1; run < TILE; run *= 2)
		for (u32 gap = run; gap; gap /= 2) {
			u32 low = 2 * t - (t & (gap - 1)), offset = t & (run - 1);
			__syncthreads();
			/* Behind a run's first comparison the pairs lie between those of before. */
			if (gap < run) {
				if (offset < gap)
					continue;
				low -= gap;
			}
			u32 a = tile[low], b = tile[low + gap];
			if (a > b) {
				tile[low] = b;
				tile[low + gap] = a;
			}
		}
	__syncthreads();
	from[t] = tile[t];
	from[t + TILE / 2] = tile[t + TILE / 2];
}
