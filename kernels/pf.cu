/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PF: cheapest way down a grid by dynamic programming. Going down one row, a cell costs its own
 * weight plus the cheapest of the three above it. A block takes `steps` rows of a stretch of
 * columns in shared memory; each step loses one valid column at either end (a pyramid), so
 * blockDim.x - 2 * steps columns come out. Batches (gridDim.y * per_block of them) start in
 * different rows of the same weights. All in integers. */
// exec: pf --grid 5,3 --block 256 u8[20000]:rand(1) i32[1000]:rand(2) i32[6000]:zero u32:1000 u32:20 u32:20 u32:2
// exec: pf --grid 3 --block 256 u8[4000]:rand(3) i32[500]:iota i32[500]:zero u32:500 u32:8 u32:33 u32:1
#include "heddle_cuda.h"

#define BLOCK   256
#define BLOCKED 0x3fffffff

KERNEL __launch_bounds__(BLOCK) pf(const unsigned char *weight, const int *above, int *cost,
	u32 columns, u32 rows, u32 steps, u32 per_block)
{
	__shared__ int line[2][BLOCK];
	int tid = (int)threadIdx.x;
	int valid = BLOCK - 2 * (int)steps;
	int col = (int)blockIdx.x * valid - (int)steps + tid;
	bool inside = col >= 0 && col < (int)columns;
	u32 half = 0; /* which line is written next, over batches too: one barrier a step is enough
		       */
	for (u32 k = 0; k < per_block; k++) {
		u32 batch = blockIdx.y * per_block + k;
		u32 row = batch % rows;
		int best = inside ? above[col] : BLOCKED;
		for (int s = 0; s < (int)steps; s++) {
			line[half][tid] = best;
			__syncthreads();
			if (inside && tid > s && tid < BLOCK - 1 - s) {
				int side = min(line[half][tid - 1], line[half][tid + 1]);
				best = min(best, side) + weight[(u64)row * columns + col];
			}
			half ^= 1;
			row = row + 1 == rows ? 0 : row + 1;
		}
		if (inside && tid >= (int)steps && tid < BLOCK - (int)steps)
			cost[(u64)batch * columns + col] = best;
	}
}
