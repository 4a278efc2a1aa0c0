/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* MD: Lennard-Jones forces over neighbour lists, one atom a thread. The lists are stored neighbour
 * by neighbour, so that the lanes of a warp read side by side. Replicas (gridDim.y * per_block of
 * them) share the lists and have positions of their own. Every operation is rounded by itself: a
 * host gets the same bits. */
// exec: md --grid 4,3 --block 128 f32[24000]:rand(1) u32[4000]:const(3) f32[24000]:zero u32:500 u32:8 f32:0.5 f32:1.5 f32:2 u32:4
#include "heddle_cuda.h"

KERNEL md(const float4 *position, const u32 *neighbour, float4 *force, u32 n, u32 neighbours,
	float cutoff2, float lj1, float lj2, u32 per_block)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	for (u32 k = 0; k < per_block; k++) {
		u64 replica = (u64)(blockIdx.y * per_block + k) * n;
		const float4 *at = position + replica;
		float4 me = at[i];
		float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
		for (u32 j = 0; j < neighbours; j++) {
			float4 other = at[neighbour[(u64)j * n + i]];
			float dx = __fadd_rn(me.x, -other.x);
			float dy = __fadd_rn(me.y, -other.y);
			float dz = __fadd_rn(me.z, -other.z);
			float r2 = __fadd_rn(
				__fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy)), __fmul_rn(dz, dz));
			if (r2 < cutoff2 && r2 > 0.0f) {
				float inv = __frcp_rn(r2);
				float inv6 = __fmul_rn(__fmul_rn(inv, inv), inv);
				float f = __fadd_rn(__fmul_rn(lj1, inv6), -lj2);
				f = __fmul_rn(__fmul_rn(inv, inv6), f);
				sum.x = __fadd_rn(sum.x, __fmul_rn(dx, f));
				sum.y = __fadd_rn(sum.y, __fmul_rn(dy, f));
				sum.z = __fadd_rn(sum.z, __fmul_rn(dz, f));
				sum.w = __fadd_rn(sum.w, __fmul_rn(inv6, f));
			}
		}
		force[replica + i] = sum;
	}
}
