/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* NN: distances from query points to records on a plane. Each warp keeps the smallest distance
 * among its records; the ten nearest lie in the ten warps with the smallest ones, so a second stage
 * has only those left to look at. gridDim.y * per_block queries; a warp covers 32 * PER_LANE
 * records. Products and sums are rounded one by one: a host gets the same bits. */
// exec: nn --grid 5,3 --block 256 f32[5000]:rand(1) f32[5000]:rand(2) f32[8]:rand(3) f32[8]:rand(4) f32[240]:zero u32:5000 u32:2
// exec: nn --grid 2 --block 256 f32[2048]:rand(5) f32[2048]:rand(6) f32[1]:const(0.5) f32[1]:const(0.25) f32[16]:zero u32:2048 u32:1
#include "heddle_warp.h"

#define PER_LANE 4

KERNEL nn(const float *lat, const float *lng, const float *query_lat, const float *query_lng,
	float *nearest, u32 n, u32 per_block)
{
	u32 lane = threadIdx.x & 31;
	u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
	u32 warps = (gridDim.x * blockDim.x) >> 5;
	u32 first = warp * 32 * PER_LANE + lane;
	for (u32 k = 0; k < per_block; k++) {
		u32 q = blockIdx.y * per_block + k;
		float qx = __ldg(query_lat + q), qy = __ldg(query_lng + q);
		float best = 3.0e38f;
#pragma unroll
		for (u32 j = 0; j < PER_LANE; j++) {
			u32 i = first + 32 * j;
			if (i < n) {
				float dx = __fadd_rn(lat[i], -qx), dy = __fadd_rn(lng[i], -qy);
				float d = __fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy));
				best = fminf(best, d);
			}
		}
		for (u32 step = 16; step; step >>= 1)
			best = fminf(best, __shfl_xor_sync(~0u, best, step));
		if (lane == 0)
			nearest[(u64)q * warps + warp] = __fsqrt_rn(best);
	}
}
