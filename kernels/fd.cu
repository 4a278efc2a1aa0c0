/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* FD: one step of finite differences on a volume, as FDTD3d of the CUDA samples takes it: a stencil
 * of RADIUS points in each of the six directions. A block marches along z over a column of 32 x 16
 * points. A thread holds the points before and behind its own in registers; the points beside it
 * come from a tile in shared memory. `field` has a border of RADIUS points on all sides, `result`
 * has none. A volume is 32 * tiles_x wide and deep points long in z. gridDim.y * per_block passes
 * write the same result. Each block and pass also stores the sum of its results' bits, so a block
 * that did not run shows. Every operation is rounded by itself: a host gets the same bits. */
// exec: fd --grid 2,2 --block 512 f32[19008]:rand(1) f32[5]:rand(2) f32[3072]:zero u32[8]:zero u32:2 u32:1 u32:3 u32:2
// exec: fd --grid 2 --block 512 f32[19200]:rand(3) f32[5]:rand(4) f32[4096]:zero u32[2]:zero u32:1 u32:2 u32:4 u32:1
#include "heddle_warp.h"

#define RADIUS 4
#define WIDE   32
#define HIGH   16
#define BLOCK  (WIDE * HIGH)

typedef float fd_tile[HIGH + 2 * RADIUS][WIDE + 2 * RADIUS];

/* The plane around `at` into the tile; the thread's own point is known already. */
HD void fill_tile(fd_tile tile, const float *at, float own, u32 x, u32 y, u32 pitch)
{
	tile[y + RADIUS][x + RADIUS] = own;
	if (y < RADIUS) {
		tile[y][x + RADIUS] = at[-(int)(RADIUS * pitch)];
		tile[y + RADIUS + HIGH][x + RADIUS] = at[HIGH * pitch];
	}
	if (x < RADIUS) {
		tile[y + RADIUS][x] = at[-RADIUS];
		tile[y + RADIUS][x + RADIUS + WIDE] = at[WIDE];
	}
}

HD float stencil(fd_tile tile, const float column[2 * RADIUS + 1], const float factor[RADIUS + 1],
	u32 x, u32 y)
{
	float value = __fmul_rn(factor[0], column[RADIUS]);
#pragma unroll
	for (u32 r = 1; r <= RADIUS; r++) {
		float sum = __fadd_rn(column[RADIUS - r], column[RADIUS + r]);
		sum = __fadd_rn(sum, tile[y - r][x]);
		sum = __fadd_rn(sum, tile[y + r][x]);
		sum = __fadd_rn(sum, tile[y][x - r]);
		sum = __fadd_rn(sum, tile[y][x + r]);
		value = __fadd_rn(value, __fmul_rn(factor[r], sum));
	}
	return value;
}

KERNEL __launch_bounds__(BLOCK) fd(const float *field, const float *factors, float *result,
	u32 *sums, u32 tiles_x, u32 tiles_y, u32 deep, u32 per_block)
{
	__shared__ fd_tile tile;
	__shared__ u32 sum_of_warp[HIGH];
	u32 x = threadIdx.x % WIDE, y = threadIdx.x / WIDE;
	u32 col = blockIdx.x % tiles_x * WIDE + x, row = blockIdx.x / tiles_x * HIGH + y;
	u32 wide = tiles_x * WIDE, high = tiles_y * HIGH, pitch = wide + 2 * RADIUS;
	u64 plane = (u64)pitch * (high + 2 * RADIUS);
	float factor[RADIUS + 1];
#pragma unroll
	for (u32 r = 0; r <= RADIUS; r++)
		factor[r] = factors[r];
	for (u32 k = 0; k < per_block; k++) {
		const float *at = field + (u64)(row + RADIUS) * pitch + col + RADIUS;
		float column[2 * RADIUS + 1];
		u32 bits = 0;
#pragma unroll
		for (u32 r = 1; r <= 2 * RADIUS; r++, at += plane)
			column[r] = *at;
		for (u32 z = 0; z < deep; z++, at += plane) {
#pragma unroll
			for (u32 r = 0; r < 2 * RADIUS; r++)
				column[r] = column[r + 1];
			column[2 * RADIUS] = *at;
			__syncthreads();
			fill_tile(tile, at - RADIUS * plane, column[RADIUS], x, y, pitch);
			__syncthreads();
			float value = stencil(tile, column, factor, x + RADIUS, y + RADIUS);
			result[((u64)z * high + row) * wide + col] = value;
			bits += __float_as_uint(value);
		}
		for (u32 step = 16; step; step >>= 1)
			bits += __shfl_xor_sync(~0u, bits, step);
		if (x == 0)
			sum_of_warp[y] = bits;
		__syncthreads();
		if (threadIdx.x == 0) {
			bits = 0;
			for (u32 w = 0; w < HIGH; w++)
				bits += sum_of_warp[w];
			sums[(blockIdx.y * per_block + k) * gridDim.x + blockIdx.x] = bits;
		}
	}
}
