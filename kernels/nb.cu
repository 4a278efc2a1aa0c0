/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* NB: gravity between all pairs of bodies, as nbody of the CUDA samples computes it. A thread adds
 * up the acceleration of one body. A block copies the other bodies, blockDim.x at a time, into one
 * of two tiles in shared memory, so one barrier a tile is enough. A body is x, y, z and its mass.
 * The square root is the hardware's approximation. Systems: gridDim.y * per_block; system s starts
 * from the input s % distinct. blockDim.x is at most BLOCK. */
// exec: nb --grid 3,2 --block 64 f32[1280]:rand(1) f32[2560]:zero u32:160 f32:0.01 u32:2 u32:2
// exec: nb --grid 1,3 --block 256 f32[400]:rand(2) f32[1200]:zero u32:100 f32:0.1 u32:1 u32:1
#include "heddle_cuda.h"

#define BLOCK 256

/* Member by member: clang keeps a float4 that is copied whole in local memory. */
HD float4 load4(const float4 *p)
{
	return make_float4(p->x, p->y, p->z, p->w);
}

HD void attract(float4 *sum, float4 me, float4 other, float softening2)
{
	float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
	float r2 = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening2)));
	float inverse = rsqrtf(r2);
	float pull = other.w * inverse * (inverse * inverse);
	sum->x = fmaf(dx, pull, sum->x);
	sum->y = fmaf(dy, pull, sum->y);
	sum->z = fmaf(dz, pull, sum->z);
}

KERNEL __launch_bounds__(BLOCK) nb(const float4 *position, float4 *acceleration, u32 n,
	float softening2, u32 distinct, u32 per_block)
{
	__shared__ __align__(16) float4 tile[2][BLOCK];
	u32 tid = threadIdx.x, width = blockDim.x;
	u32 i = blockIdx.x * width + tid;
	u32 half = 0; /* the tile that is written next, over systems too */
	for (u32 k = 0; k < per_block; k++) {
		u32 system = blockIdx.y * per_block + k;
		const float4 *at = position + (u64)(system % distinct) * n;
		float4 me = load4(at + min(i, n - 1));
		float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
		for (u32 first = 0; first < n; first += width) {
			float4 next = make_float4(0.0f, 0.0f, 0.0f, 0.0f); /* no mass */
			if (first + tid < n)
				next = load4(at + first + tid);
			tile[half][tid] = next;
			__syncthreads();
#pragma unroll 8
			for (u32 j = 0; j < width; j++)
				attract(&sum, me, load4(&tile[half][j]), softening2);
			half ^= 1;
		}
		if (i < n)
			acceleration[(u64)system * n + i] = sum;
	}
}
