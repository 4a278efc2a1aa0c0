/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PL: the measurement step of a particle filter. Every particle guesses where the object is; its
 * likelihood says how much better the pixels under a template, laid over the guess, fit the
 * object's brightness than the background's. Then Bayes: weight = prior * likelihood, and each
 * block adds up its weights for the normalisation that follows. The sums over pixels are integers
 * and exact; the exponential is the hardware's. Frames: gridDim.y * per_block. */
// exec: pl --grid 4,3 --block 256 u8[24576]:rand(1) f32[1000]:rand(2) f32[1000]:rand(3) i32[42]:rand(4) f32[6000]:zero f32[24]:zero u32:1000 u32:64 u32:64 u32:21 f32:0.0001 u32:2
#include "heddle_warp.h"

#define BLOCK      256
#define OBJECT     100
#define BACKGROUND 228

KERNEL pl(const unsigned char *frames, const float *x, const float *y, const int2 *shape,
	float *weight, float *block_sum, u32 n, u32 width, u32 height, u32 points, float scale,
	u32 per_block)
{
	__shared__ float warp_sum[BLOCK / 32];
	u32 i = blockIdx.x * BLOCK + threadIdx.x;
	u32 lane = threadIdx.x & 31;
	u32 from = min(i, n - 1);
	int px = __float2int_rn(x[from]), py = __float2int_rn(y[from]);
	for (u32 k = 0; k < per_block; k++) {
		u32 frame = blockIdx.y * per_block + k;
		const unsigned char *pixels = frames + (u64)frame * width * height;
		int sum = 0;
#pragma unroll 4
		for (u32 j = 0; j < points; j++) {
			int2 at = shape[j];
			int col = min(max(px + at.x, 0), (int)width - 1);
			int row = min(max(py + at.y, 0), (int)height - 1);
			int v = pixels[row * (int)width + col];
			int b = v - BACKGROUND, o = v - OBJECT;
			sum += b * b - o * o;
		}
		float w = i < n ? __expf(__fmul_rn(__int2float_rn(sum), scale)) : 0.0f;
		if (i < n)
			weight[(u64)frame * n + i] = w;
		for (u32 step = 16; step; step >>= 1)
			w += __shfl_xor_sync(~0u, w, step);
		if (lane == 0)
			warp_sum[threadIdx.x >> 5] = w;
		__syncthreads();
		if (threadIdx.x == 0) {
			float total = 0.0f;
			for (u32 j = 0; j < BLOCK / 32; j++)
				total += warp_sum[j];
			block_sum[(u64)frame * gridDim.x + blockIdx.x] = total;
		}
		__syncthreads();
	}
}
