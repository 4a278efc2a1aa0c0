/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Ways out of a kernel ahead of its end. After each of them threads of the same block or warp go on
 * to barriers and warp operations that, on hardware, do not wait for those that have left. A
 * transform that keeps them alive must answer for them. */
// exec: er_shuffle --grid 5 --block 64 i32[320]:iota i32[320]:zero u32:277
// exec: er_uniform --grid 7 --block 64 i32[448]:iota i32[448]:zero u32:5
// exec: er_barrier --grid 4 --block 128 i32[512]:iota i32[512]:zero u32:450
// exec: er_barrier --grid 4 --block 128 i32[512]:iota i32[512]:zero u32:389
// exec: er_loop --grid 3 --block 96 i32[288]:zero u32:9
// exec: er_count --grid 4 --block 128 i32[512]:zero u32:450
// exec: er_predicated --grid 4 --block 64 i32[256]:iota i32[256]:zero u32:200
// exec: er_exit --grid 4 --block 64 i32[256]:iota i32[256]:zero u32:200
// exec: er_exit_callee --grid 4 --block 64 i32[256]:iota i32[256]:zero u32:200
// exec: er_parting --grid 4,3 --block 50 i32[600]:iota i32[600]:zero u32:183 u32:5
// exec: er_parting --grid 3,3 --block 10,9 i32[900]:iota i32[900]:zero u32:251 u32:6
#include "../heddle_warp.h"

/* Lanes past n are gone when the rest of their warp shuffles with the full mask. */
KERNEL er_shuffle(const int *in, int *out, u32 n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	int v = in[i];
	for (u32 step = 16; step; step >>= 1)
		v += __shfl_xor_sync(~0u, v, step) & 0xffff;
	out[i] = (threadIdx.x & 31) == 0 ? v : in[i];
	if (i / 32 == n / 32) /* lanes read from lanes that left: no defined value */
		out[i] = 1;
}

/* Whole blocks leave. */
KERNEL er_uniform(const int *in, int *out, u32 blocks)
{
	__shared__ int line[64];
	if (blockIdx.x >= blocks)
		return;
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	line[threadIdx.x] = in[i];
	__syncthreads();
	out[i] = line[63 - threadIdx.x];
}

/* Some threads of the last block leave, on a warp's border or within a warp. */
KERNEL er_barrier(const int *in, int *out, u32 n)
{
	__shared__ int line[128];
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	line[threadIdx.x] = -1;
	if (i >= n)
		return;
	line[threadIdx.x] = in[i];
	__syncthreads();
	int v = line[threadIdx.x ^ 1];
	__syncthreads();
	line[threadIdx.x] = v * 3;
	__syncthreads();
	out[i] = v + line[threadIdx.x ^ 2];
}

/* Warps leave a loop of barriers one after another. */
KERNEL er_loop(int *out, u32 rounds)
{
	__shared__ int total;
	u32 warp = threadIdx.x / 32;
	if (threadIdx.x == 0)
		total = 0;
	__syncthreads();
	for (u32 k = 0; k < rounds; k++) {
		if (k >= rounds - warp * 3)
			return;
		atomicAdd(&total, 1);
		__syncthreads();
		out[blockIdx.x * blockDim.x + threadIdx.x] = total;
		__syncthreads();
	}
}

/* A barrier that counts, after some have left: those that are gone do not count. */
KERNEL er_count(int *out, u32 n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	int odd = __syncthreads_count(threadIdx.x & 1);
	int all = __syncthreads_and(1);
	int any = __syncthreads_or(threadIdx.x == 3);
	out[i] = odd * 4 + all * 2 + any;
}

KERNEL er_predicated(const int *in, int *out, u32 n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	asm volatile("{\n\t.reg .pred p;\n\tsetp.ge.u32 p, %0, %1;\n\t@p ret;\n\t}" ::"r"(i), "r"(n)
		     : "memory");
	__syncthreads();
	out[i] = in[i] + 1;
}

KERNEL er_exit(const int *in, int *out, u32 n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		asm volatile("exit;");
	out[i] = in[i] + 2;
}

static __device__ __noinline__ void leave_past(u32 i, u32 n)
{
	if (i >= n)
		asm volatile("exit;");
}

KERNEL er_exit_callee(const int *in, int *out, u32 n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	leave_past(i, n);
	__syncthreads();
	out[i] = in[i] + 3;
}

/* Some lanes of a warp leave, others loop, and call what has scopes and labels of its own. Warps of
 * any fullness. */
static __device__ u32 er_collatz(u32 v)
{
	u32 n = 0, odd;
	for (; v > 1 && n < 40; n++) {
		asm("{\n\t.reg .pred p;\n\tand.b32 %0, %1, 1;\n\tsetp.ne.u32 p, %0, 0;\n\t"
		    "@p bra ODD;\n\tshr.u32 %0, %1, 1;\n\tbra DONE;\n"
		    "ODD:\n\tmad.lo.u32 %0, %1, 3, 1;\n"
		    "DONE:\n\t}"
			: "=&r"(odd)
			: "r"(v));
		v = odd;
	}
	return n;
}

KERNEL er_parting(const int *in, int *out, u32 n, u32 rounds)
{
	u32 per_row = gridDim.x * blockDim.x * blockDim.y;
	u32 i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	u32 at = blockIdx.y * per_row + i, sum = 0;
	for (u32 k = 0; k < rounds; k++)
		sum += er_collatz((u32)in[at] + k);
	out[at] = (int)sum;
}
