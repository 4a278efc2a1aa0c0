/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* MM: C = A B for square matrices of n rows, n a multiple of 64, row by row in memory. A block
 * makes a tile of 64 x 64 with 256 threads, 4 x 4 values each, from strips 16 deep that pass
 * through shared memory; the next strip is fetched into registers while the present one is used.
 * gridDim.z * per_block independent products. */
// exec: mm --grid 2,2,2 --block 256 f32[32768]:rand(1) f32[32768]:rand(2) f32[32768]:zero u32:128 u32:1
// exec: mm --grid 1,1,1 --block 256 f32[8192]:rand(1) f32[8192]:rand(2) f32[8192]:zero u32:64 u32:2
#include "heddle_cuda.h"

#define TILE  64
#define DEPTH 16

/* Member by member: clang keeps a float4 that is copied whole in local memory. */
HD float4 load4(const float *p)
{
	const float4 *q = (const float4 *)p;
	return make_float4(q->x, q->y, q->z, q->w);
}

/* One value of a column of A times four of a row of B. */
HD void accumulate(float sum[4], float a, float4 b)
{
	sum[0] = fmaf(a, b.x, sum[0]);
	sum[1] = fmaf(a, b.y, sum[1]);
	sum[2] = fmaf(a, b.z, sum[2]);
	sum[3] = fmaf(a, b.w, sum[3]);
}

KERNEL __launch_bounds__(256) mm(const float *a, const float *b, float *c, u32 n, u32 per_block)
{
	__shared__ __align__(16) float strip_a[DEPTH][TILE + 4]; /* transposed: a column is a row */
	__shared__ __align__(16) float strip_b[DEPTH][TILE];
	u32 tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
	u32 row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
	for (u32 k = 0; k < per_block; k++) {
		u64 product = (u64)(blockIdx.z * per_block + k) * n * n;
		const float *from_a = a + product + (u64)(row0 + tid / 4) * n + tid % 4 * 4;
		const float *from_b = b + product + (u64)(tid / 16) * n + col0 + tx * 4;
		float sum[4][4] = {};
		float4 next_a = load4(from_a), next_b = load4(from_b);
		for (u32 depth = 0; depth < n; depth += DEPTH) {
			__syncthreads();
			u32 at = tid % 4 * 4;
			strip_a[at][tid / 4] = next_a.x;
			strip_a[at + 1][tid / 4] = next_a.y;
			strip_a[at + 2][tid / 4] = next_a.z;
			strip_a[at + 3][tid / 4] = next_a.w;
			*(float4 *)&strip_b[ty][tx * 4] = next_b;
			__syncthreads();
			if (depth + DEPTH < n) {
				from_a += DEPTH;
				from_b += (u64)DEPTH * n;
				next_a = load4(from_a);
				next_b = load4(from_b);
			}
#pragma unroll
			for (u32 d = 0; d < DEPTH; d++) {
				float4 left = load4(&strip_a[d][ty * 4]);
				float4 right = load4(&strip_b[d][tx * 4]);
				accumulate(sum[0], left.x, right);
				accumulate(sum[1], left.y, right);
				accumulate(sum[2], left.z, right);
				accumulate(sum[3], left.w, right);
			}
		}
#pragma unroll
		for (u32 i = 0; i < 4; i++) {
			float *to = c + product + (u64)(row0 + ty * 4 + i) * n + col0 + tx * 4;
			*(float4 *)to = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
		}
	}
}
