/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* LU decomposition by tiles of 16 x 16: the step that takes the product of a tile of the row and
 * one of the column off each tile that is left. A block a tile, a thread an element. Every
 * operation is rounded by itself. */
// exec: lud --grid 6 --block 256 f32[8192]:rand(1) u32:64 u32:16
#include "heddle_cuda.h"

#define TILE 16

KERNEL __launch_bounds__(TILE *TILE) lud(float *m, u32 n, u32 offset)
{
	__shared__ float row[TILE][TILE], column[TILE][TILE];
	u32 tiles = (n - offset) / TILE - 1, x = threadIdx.x % TILE, y = threadIdx.x / TILE;
	u32 tile = blockIdx.x % (tiles * tiles); /* more blocks do the same to copies */
	float *at = m + (u64)(blockIdx.x / (tiles * tiles)) * n * n;
	u32 top = offset + (tile / tiles + 1) * TILE, left = offset + (tile % tiles + 1) * TILE;
	row[y][x] = at[(offset + y) * n + left + x];
	column[y][x] = at[(top + y) * n + offset + x];
	__syncthreads();
	float sum = 0.0f;
#pragma unroll
	for (u32 k = 0; k < TILE; k++)
		sum = __fadd_rn(sum, __fmul_rn(column[y][k], row[k][x]));
	float *to = &at[(top + y) * n + left + x];
	*to = __fadd_rn(*to, -sum);
}
