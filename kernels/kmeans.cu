/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* k-means, the assignment step: for each point the nearest of some centres, which every block keeps
 * in shared memory. Coordinates lie by dimension (all first ones, all second ones ...). Products
 * and sums are rounded one by one: a host gets the same bits. Threads beyond the points stay for
 * the barrier. */
// exec: kmeans --grid 10 --block 100 f32[4000]:rand(1) f32[40]:rand(2) u32[1000]:zero u32:1000 u32:10 u32:4
// exec: kmeans --grid 6,2 --block 128 f32[3000]:rand(3) f32[24]:rand(4) u32[1500]:zero u32:1500 u32:12 u32:2
// exec: kmeans --grid 3 --block 50 f32[750]:rand(5) f32[500]:rand(6) u32[150]:zero u32:150 u32:100 u32:5
#include "heddle_cuda.h"

#define MOST 512 /* coordinates of centres */

KERNEL kmeans(const float *points, const float *centres, u32 *nearest, u32 n, u32 k, u32 dims)
{
	__shared__ float centre[MOST];
	u32 i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
	for (u32 c = threadIdx.x; c < k * dims; c += blockDim.x)
		centre[c] = centres[c];
	__syncthreads();
	if (i >= n)
		return;
	float best = 3.0e38f;
	u32 which = 0;
	for (u32 c = 0; c < k; c++) {
		float sum = 0.0f;
		for (u32 d = 0; d < dims; d++) {
			float off = __fadd_rn(points[(u64)d * n + i], -centre[c * dims + d]);
			sum = __fadd_rn(sum, __fmul_rn(off, off));
		}
		if (sum < best) {
			best = sum;
			which = c;
		}
	}
	nearest[i] = which;
}
