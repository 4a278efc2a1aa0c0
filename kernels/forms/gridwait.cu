/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Grids whose blocks all wait for each other: a barrier of the whole grid, in loops in which the
 * load that opens it reaches the way out by control alone, or by data. They end only if every
 * block of the grid is there at once. */
// (No more than every device holds.)
// exec: gridwait_counter --grid 24 --block 64 u32[1]:zero u32[24]:zero i32:5
// exec: gridwait_flag --grid 24 --block 64 u32[1]:zero u32[24]:zero i32:5
// exec: gridwait_plain --grid 24 --block 64 u32[1]:zero u32[24]:zero i32:5
#include "../heddle_warp.h"

/* The round moves on only when the barrier has opened. */
KERNEL gridwait_counter(u32 *count, u32 *out, int rounds)
{
	if (threadIdx.x == 0) {
		u32 sum = blockIdx.x;
		int k = 0;
		atomicAdd(count, 1);
		while (k < rounds) {
			if (*(volatile u32 *)count >= (k + 1) * gridDim.x) {
				k++;
				sum = sum * 1664525u + 1013904223u;
				__threadfence();
				if (k < rounds)
					atomicAdd(count, 1);
			}
		}
		out[blockIdx.x] = sum;
	}
}

/* A flag of its own says that it has opened; the whole block goes round. */
KERNEL gridwait_flag(u32 *count, u32 *out, int rounds)
{
	__shared__ u32 open;
	u32 sum = blockIdx.x;
	for (int k = 0; k < rounds; k++) {
		bool through = false;
		__syncthreads();
		if (threadIdx.x == 0) {
			open = 0;
			__threadfence();
			atomicAdd(count, 1);
		}
		__syncthreads();
		while (!through) {
			if (threadIdx.x == 0 && *(volatile u32 *)count >= (k + 1) * gridDim.x)
				open = 1;
			__syncthreads();
			through = open != 0;
			__syncthreads();
		}
		sum = sum * 1664525u + threadIdx.x;
	}
	if (threadIdx.x == 0)
		out[blockIdx.x] = sum;
}

/* Another thread than the first one waits, and the rest of its block does not wait for it. */
KERNEL gridwait_plain(u32 *count, u32 *out, int rounds)
{
	if (threadIdx.x == 40) {
		u32 sum = blockIdx.x;
		for (int k = 0; k < rounds; k++) {
			__threadfence();
			atomicAdd(count, 1);
			while (*(volatile u32 *)count < (k + 1) * gridDim.x)
				;
			sum = sum * 1664525u + 1013904223u;
		}
		out[blockIdx.x] = sum;
	}
}
