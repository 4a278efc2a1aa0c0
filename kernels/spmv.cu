/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* SPMV: y = A x for a sparse matrix in compressed rows, one warp a row. Right-hand sides (gridDim.y
 * * per_block of them) share the matrix. Rows past the end take part with no elements, so every
 * lane reaches the shuffles. Exact in any order while the values are small integers. */
// exec: spmv --grid 25,2 --block 128 f32[400]:rand(1) u32[400]:const(7) u32[101]:iota f32[200]:rand(2) f32[200]:zero u32:100 u32:100 u32:1
#include "heddle_warp.h"

KERNEL spmv(const float *value, const u32 *column, const u32 *row_start, const float *x, float *y,
	u32 rows, u32 columns, u32 per_block)
{
	u32 row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
	u32 lane = threadIdx.x & 31;
	u32 begin = row < rows ? row_start[row] : 0;
	u32 end = row < rows ? row_start[row + 1] : 0;
	for (u32 k = 0; k < per_block; k++) {
		u32 side = blockIdx.y * per_block + k;
		const float *from = x + (u64)side * columns;
		float sum = 0.0f;
		for (u32 j = begin + lane; j < end; j += 32)
			sum = fmaf(value[j], __ldg(from + column[j]), sum);
		for (u32 step = 16; step; step >>= 1)
			sum += __shfl_xor_sync(~0u, sum, step);
		if (lane == 0 && row < rows)
			y[(u64)side * rows + row] = sum;
	}
}
