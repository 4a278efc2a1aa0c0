/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Lanes of one warp part ahead of a block barrier: some leave the kernel, or a loop, and the others
 * go on to barriers. The hardware's barrier counts a warp as soon as those of its lanes that are
 * still there reach it; on the GPU those that left a loop wait behind it for the rest of their
 * warp. What nobody writes any more keeps its value, so every result is defined. */
// exec: pt_square --grid 3,2 --block 16,16 i32[1536]:iota i32[1536]:zero u32:43 u32:27
// exec: pt_square --grid 2,2 --block 16,16 i32[1024]:iota i32[1024]:zero u32:21 u32:32
// exec: pt_return_in_loop --grid 4 --block 96 u32[384]:rand(3) u32[384]:zero
// exec: pt_one_exit --grid 4 --block 96 u32[384]:rand(4) u32[384]:zero
// exec: pt_one_exit --grid 3 --block 33 u32[99]:rand(4) u32[99]:zero
// exec: pt_two_exits --grid 4 --block 128 u32[512]:rand(5) u32[512]:zero
// exec: pt_callee --grid 4 --block 64 u32[256]:rand(6) u32[256]:zero
// exec: pt_several --grid 4 --block 160 u32[640]:rand(7) u32[640]:zero
// exec: pt_nested --grid 3 --block 128 u32[384]:rand(8) u32[384]:zero
// exec: pt_red --grid 4 --block 128 u32[512]:rand(10) u32[2048]:zero
// exec: pt_red_loop --grid 4 --block 96 u32[384]:rand(11) u32[1536]:zero
// exec: pt_group --grid 4 --block 128 u32[512]:rand(12) u32[512]:zero
// exec: pt_spin --grid 132 --block 100 u32[1]:zero u32[13200]:zero
// exec: pt_either --grid 4 --block 64 u32[256]:rand(13) u32[256]:zero
#include "../heddle_warp.h"

/* Part of a warp returns, then a loop of barriers: a stencil on a square block. */
KERNEL pt_square(const int *in, int *out, u32 width, u32 height)
{
	__shared__ int tile[16][16];
	u32 x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	u32 at = y * gridDim.x * 16 + x;
	if (x >= width || y >= height)
		return;
	int v = in[at];
	for (int k = 0; k < 4; k++) {
		tile[threadIdx.y][threadIdx.x] = v;
		__syncthreads();
		if (threadIdx.x > 0)
			v += tile[threadIdx.y][threadIdx.x - 1];
		if (threadIdx.y > 0)
			v += tile[threadIdx.y - 1][threadIdx.x];
		__syncthreads();
	}
	out[at] = v;
}

/* Lanes return one by one out of a loop that holds barriers. */
KERNEL pt_return_in_loop(const u32 *in, u32 *out)
{
	__shared__ u32 line[96];
	u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = in[i] % 13, sum = 0;
	line[t] = 0;
	__syncthreads();
#pragma unroll 1
	for (u32 k = 0;; k++) {
		out[i] = sum + k;
		if (k >= n)
			return;
		line[t] += k + 1;
		__syncthreads();
		sum += line[(t + 5) % 96] * (k + 1);
		__syncthreads();
	}
}

/* Lanes leave a loop that holds barriers one by one, through its one exit; then all store. */
KERNEL pt_one_exit(const u32 *in, u32 *out)
{
	__shared__ u32 line[96];
	u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = in[i] % 11, sum = 0;
	line[t] = t;
	__syncthreads();
#pragma unroll 1
	for (u32 k = 0; k < n; k++) {
		line[t] += k;
		__syncthreads();
		sum += line[t ^ (t < 32 ? 1 : 0)] + k;
		__syncthreads();
	}
	out[i] = sum * 3 + 1;
}

/* The same through two exits, one of which leaves the kernel. */
KERNEL pt_two_exits(const u32 *in, u32 *out)
{
	__shared__ u32 line[128];
	u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = in[i] % 9, m = in[i] / 16 % 9;
	u32 sum = 0;
	line[t] = t;
	__syncthreads();
#pragma unroll 1
	for (u32 k = 0; k < n; k++) {
		out[i] = sum;
		if (k == m)
			return;
		line[t] += in[i] % 7;
		__syncthreads();
		sum += line[t ^ 3];
		__syncthreads();
	}
	out[i] = sum + 1000;
}

static __device__ __noinline__ u32 pt_leave(u32 k, u32 n, u32 v)
{
	if (k >= n)
		asm volatile("exit;");
	return v * 5 + k;
}

/* Lanes leave inside a function, one by one. */
KERNEL pt_callee(const u32 *in, u32 *out)
{
	__shared__ u32 line[64];
	u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = 1 + in[i] % 6, sum = 1;
	line[t] = 0;
	__syncthreads();
#pragma unroll 1
	for (u32 k = 0; k < 8; k++) {
		out[i] = sum;
		sum = pt_leave(k, n, sum);
		line[t] = sum;
		__syncthreads();
		sum += line[t ^ 1];
		__syncthreads();
	}
}

/* Several early returns with barriers between them: lanes of one warp leave at different ones. */
KERNEL pt_several(const u32 *in, u32 *out)
{
	__shared__ u32 line[160];
	u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t, when = in[i] % 5, v = t * 7 + 1;
	line[t] = v;
	out[i] = v;
	if (when == 0)
		return;
	__syncthreads();
	v += t ? line[t - 1] : 5;
	out[i] = v;
	if (when == 1)
		return;
	__syncthreads();
	line[t] = v;
	__syncthreads();
	v += line[159 - t];
	out[i] = v;
	if (when == 2 && (v & 1))
		return;
	__syncthreads();
	line[t] = v * 3;
	__syncthreads();
	out[i] = v + line[t ^ 1];
}

/* Whole warps leave the outer loop, lanes return from the inner one. */
KERNEL pt_nested(const u32 *in, u32 *out)
{
	__shared__ u32 line[128];
	u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t, life = 3 + in[i] % 17, sum = 0;
	line[t] = t;
	__syncthreads();
#pragma unroll 1
	for (u32 a = 0; a < 2 + t / 32; a++) {
#pragma unroll 1
		for (u32 b = 0; b < 3; b++) {
			out[i] = sum;
			if (a * 3 + b >= life)
				asm volatile("exit;"); /* or the ways out are made one */
			line[t] += a + b;
			__syncthreads();
			sum += line[t ^ 2];
			__syncthreads();
		}
		if (sum & 1)
			sum = sum * 3 + 1;
	}
	out[i] = sum + 7;
}

#define PT_REDUCTIONS(at)                                                       \
	do {                                                                    \
		r[0] += __syncthreads_count(in[i] >> (at)&1);                   \
		r[1] = r[1] * 2 + !!__syncthreads_and(in[i] >> (at)&3);         \
		r[2] = r[2] * 2 + !!__syncthreads_or((in[i] >> (at)&15) == 15); \
	} while (0)

/* Reductions after each way of leaving: those that are gone do not count. */
KERNEL pt_red(const u32 *in, u32 *out)
{
	u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t, when = in[i] % 4, r[3] = {0, 0, 0};
	if (when == 0 || t == 77)
		return;
	PT_REDUCTIONS(4);
	for (u32 k = 0; k < 3; k++)
		out[i * 4 + k] = r[k];
	if (when == 1)
		return;
	PT_REDUCTIONS(8);
	for (u32 k = 0; k < 3; k++)
		out[i * 4 + k] = r[k];
	if (t < 32 && when == 2)
		return;
	PT_REDUCTIONS(12);
	for (u32 k = 0; k < 3; k++)
		out[i * 4 + k] = r[k];
	out[i * 4 + 3] = 1;
}

/* Reductions in a loop that lanes return from one by one. */
KERNEL pt_red_loop(const u32 *in, u32 *out)
{
	u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = in[i] % 7, r[3] = {0, 0, 0};
#pragma unroll 1
	for (u32 k = 0;; k++) {
		for (u32 j = 0; j < 3; j++)
			out[i * 4 + j] = r[j];
		out[i * 4 + 3] = k;
		if (k >= n)
			return;
		PT_REDUCTIONS(k + 2);
	}
}

/* The barrier of cooperative groups: the form that lanes may reach apart. */
static __device__ __forceinline__ void pt_sync(void)
{
	asm volatile("barrier.sync 0;" ::: "memory");
}

KERNEL pt_group(const u32 *in, u32 *out)
{
	__shared__ u32 line[128];
	u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = in[i] % 6, sum = 0;
	line[t] = t;
	if (n == 0)
		return;
	pt_sync();
#pragma unroll 1
	for (u32 k = 0; k < 5; k++) {
		out[i] = sum;
		if (k >= n)
			return;
		line[t] += k;
		pt_sync();
		sum += line[t ^ 1] + k;
		pt_sync();
	}
	out[i] = sum * 5;
}

/* Lanes of a warp meet at different barriers, and some leave. */
KERNEL pt_either(const u32 *in, u32 *out)
{
	__shared__ u32 line[64];
	u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t, v = in[i] % 100;
	line[t] = v;
	out[i] = v;
	if (v > 80)
		return;
	if (t % 3) {
		pt_sync();
		v += line[(t + 1) % 64];
		pt_sync();
	} else {
		pt_sync();
		v += line[(t + 2) % 64] * 2;
		pt_sync();
	}
	line[t] = v;
	pt_sync();
	out[i] = v + line[t ^ 1];
}

/* Ahead of a barrier the lanes that are left each win a race of all blocks: those that have won
 * wait for those of their warp that still try, and so do lanes that have returned. */
KERNEL pt_spin(u32 *count, u32 *out)
{
	__shared__ u32 won;
	u32 t = threadIdx.x, i = blockIdx.x * blockDim.x + t, seen = 0, next;
	if (t == 0)
		won = 0;
	__syncthreads();
	out[i] = t;
	if (t % 8 == 3)
		return;
	for (;;) {
		asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;"
			     : "=r"(next)
			     : "l"(count), "r"(seen), "r"(seen + 1)
			     : "memory");
		if (next == seen)
			break;
		seen = next;
	}
	__syncthreads();
	atomicAdd(&won, 1u);
	__syncthreads();
	out[i] = t + 1000 * won;
}
