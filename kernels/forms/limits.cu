/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* At the edges: the largest block, many live registers, bounds that the kernel sets itself, many
 * parameters, very many very small blocks, blocks that hand out work among themselves. */
// exec: limit_threads --grid 3 --block 1024 u32[3072]:iota u32[6]:zero
// exec: limit_registers --grid 2 --block 256 f32[512]:rand(1) f32[512]:zero u32:5
// exec: limit_bounds --grid 4 --block 128 u32[512]:zero
// exec: limit_params --grid 1 --block 32 u32[32]:zero u32:1 u64:2 u32:3 u64:4 u8:5 u64:6 u16:7 u64:8 u32:9 u64:10 u32:11 u64:12 u32:13 u64:14 u32:15 u64:16 f32:17 f64:18
// exec: limit_blocks --grid 6000 --block 32 u32[8]:zero
// exec: limit_queue --grid 6 --block 64 u32[1]:zero u32[640]:zero u32:40
// exec: limit_last --grid 20 --block 64 u32[1280]:iota u32[20]:zero u32[1]:zero u32[1]:zero
#include "../heddle_warp.h"

KERNEL __launch_bounds__(1024) limit_threads(const u32 *in, u32 *out)
{
	__shared__ u32 line[1024];
	u32 tid = threadIdx.x;
	line[tid] = in[blockIdx.x * 1024 + tid] % 97;
	for (u32 half = 512; half; half >>= 1) {
		__syncthreads();
		if (tid < half)
			line[tid] += line[tid + half];
	}
	if (tid < 2)
		out[blockIdx.x * 2 + tid] = line[0] * (tid + 1);
}

/* Sixty-four values that all live through a loop. */
KERNEL limit_registers(const float *in, float *out, u32 rounds)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	float v[64];
#pragma unroll
	for (u32 k = 0; k < 64; k++)
		v[k] = in[i] * (float)(k + 1);
#pragma unroll 1
	for (u32 r = 0; r < rounds; r++)
#pragma unroll
		for (u32 k = 0; k < 64; k++)
			v[k] = fmaf(v[k], 0.5f, v[(k + 7) % 64]);
	float sum = 0.0f;
#pragma unroll
	for (u32 k = 0; k < 64; k++)
		sum += v[k];
	out[i] = sum;
}

KERNEL __launch_bounds__(128, 4) limit_bounds(u32 *out)
{
	__shared__ u32 line[128];
	line[threadIdx.x] = threadIdx.x * blockIdx.x;
	__syncthreads();
	out[blockIdx.x * 128 + threadIdx.x] = line[127 - threadIdx.x];
}

KERNEL limit_params(u32 *out, u32 a, u64 b, u32 c, u64 d, unsigned char e, u64 f, unsigned short g,
	u64 h, u32 i, u64 j, u32 k, u64 l, u32 m, u64 n, u32 o, u64 p, float q, double r)
{
	u64 sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j +
		  11 * k + 12 * l + 13 * m + 14 * n + 15 * o + 16 * p + (u64)q + (u64)r;
	out[threadIdx.x] = (u32)sum + threadIdx.x;
}

KERNEL limit_blocks(u32 *out)
{
	if (threadIdx.x < 8)
		atomicAdd(&out[threadIdx.x], blockIdx.x & (1u << threadIdx.x));
}

/* Blocks draw items from a counter until there are none: which block does which is open, what comes
 * out is not. */
KERNEL limit_queue(u32 *next, u32 *out, u32 items)
{
	__shared__ u32 item;
	for (;;) {
		if (threadIdx.x == 0)
			item = atomicAdd(next, 1u);
		__syncthreads();
		u32 mine = item;
		__syncthreads();
		if (mine >= items)
			break;
		if (threadIdx.x < 16)
			out[mine * 16 + threadIdx.x] = mine * 100 + threadIdx.x;
	}
	if (threadIdx.x == 0)
		atomicSub((int *)next, 1); /* each block drew once too often */
}

/* The block that finishes last, whichever it is, adds up what the others left. */
KERNEL limit_last(const u32 *in, u32 *partial, u32 *finished, u32 *total)
{
	__shared__ u32 sum;
	__shared__ bool last;
	if (threadIdx.x == 0)
		sum = 0;
	__syncthreads();
	atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
	__syncthreads();
	if (threadIdx.x == 0) {
		partial[blockIdx.x] = sum;
		__threadfence();
		last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && threadIdx.x == 0) {
		u32 all = 0;
		for (u32 k = 0; k < gridDim.x; k++)
			all += *(volatile u32 *)&partial[k];
		*total = all;
	}
}
