/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Matrix transpose through tiles in shared memory, so that rows are read and written whole: blocks
 * of two dimensions, 32 by 8 threads, a tile of 32 by 32 each. */
// exec: transpose --grid 4,3 --block 32,8 f32[12288]:rand(1) f32[12288]:zero u32:128 u32:96
// exec: transpose --grid 3,5 --block 32,8 f32[10000]:rand(2) f32[10000]:zero u32:80 u32:125
// exec: transpose --grid 1,7 --block 32,8 f32[217]:iota f32[217]:zero u32:1 u32:217
#include "heddle_cuda.h"

#define TILE 32
#define ROWS 8

KERNEL __launch_bounds__(TILE *ROWS) transpose(const float *in, float *out, u32 width, u32 height)
{
	__shared__ float tile[TILE][TILE + 1];
	u32 x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
	for (u32 r = 0; r < TILE; r += ROWS)
		if (x < width && y + r < height)
			tile[threadIdx.y + r][threadIdx.x] = in[(u64)(y + r) * width + x];
	__syncthreads();
	x = blockIdx.y * TILE + threadIdx.x;
	y = blockIdx.x * TILE + threadIdx.y;
	for (u32 r = 0; r < TILE; r += ROWS)
		if (x < height && y + r < width)
			out[(u64)(y + r) * height + x] = tile[threadIdx.x][threadIdx.y + r];
}
