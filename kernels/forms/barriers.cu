/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Barriers other than the plain one: numbered, counted, split into arrive and sync, with a
 * reduction, non-aligned in divergent code, number in a register. */
// exec: bar_producer --grid 6 --block 64 u32[384]:zero u32:5
// exec: bar_halves --grid 5 --block 128 u32[640]:zero
// exec: bar_register --grid 4 --block 128 u32[512]:zero u32:3
// exec: bar_reduce --grid 4 --block 96 u32[1152]:zero
// exec: bar_divergent --grid 3 --block 64 u32[192]:zero
// exec: bar_two --grid 3 --block 64 u32[192]:zero
#include "../heddle_cuda.h"

/* The first warp produces, the second consumes: full is barrier 1, empty is barrier 2. */
KERNEL bar_producer(u32 *out, u32 rounds)
{
	__shared__ u32 line[32];
	u32 lane = threadIdx.x & 31, sum = 0;
	if (threadIdx.x < 32) {
		for (u32 k = 0; k < rounds; k++) {
			line[lane] = blockIdx.x * 1000 + k * 32 + lane;
			__threadfence_block();
			asm volatile("bar.arrive 1, 64;" ::: "memory");
			asm volatile("bar.sync 2, 64;" ::: "memory");
		}
	} else {
		for (u32 k = 0; k < rounds; k++) {
			asm volatile("bar.sync 1, 64;" ::: "memory");
			sum += line[31 - lane];
			asm volatile("bar.arrive 2, 64;" ::: "memory");
		}
	}
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

/* Each half of the block meets on a barrier of its own, a different number of times. */
KERNEL bar_halves(u32 *out)
{
	__shared__ u32 line[128];
	u32 tid = threadIdx.x;
	line[tid] = tid + blockIdx.x;
	if (tid < 64) {
		for (u32 k = 0; k < 3; k++) {
			asm volatile("bar.sync 1, 64;" ::: "memory");
			u32 v = line[tid ^ 33];
			asm volatile("bar.sync 1, 64;" ::: "memory");
			line[tid] += v;
		}
	} else {
		asm volatile("bar.sync 2, 64;" ::: "memory");
		u32 v = line[191 - tid];
		asm volatile("bar.sync 2, 64;" ::: "memory");
		line[tid] = v * 2;
	}
	__syncthreads();
	out[blockIdx.x * 128 + tid] = line[127 - tid];
}

KERNEL bar_register(u32 *out, u32 first)
{
	__shared__ u32 line[128];
	u32 tid = threadIdx.x, half = tid / 64;
	line[tid] = tid * 7;
	asm volatile("barrier.sync %0, %1;" ::"r"(first + half), "r"(64) : "memory");
	u32 v = line[tid ^ 63];
	__syncthreads();
	out[blockIdx.x * 128 + tid] = v + half;
}

KERNEL bar_reduce(u32 *out)
{
	u32 tid = threadIdx.x, i = (blockIdx.x * blockDim.x + tid) * 3;
	out[i] = __syncthreads_count(tid % 3 == 0);
	out[i + 1] = __syncthreads_and(tid < 96) * 2 + __syncthreads_and(tid < 95);
	out[i + 2] = __syncthreads_or(tid == 95) * 2 + __syncthreads_or(tid == 96);
}

/* The two sides of a branch meet at the same barrier, at different places in the text. */
KERNEL bar_divergent(u32 *out)
{
	__shared__ u32 line[64];
	u32 tid = threadIdx.x, v;
	line[tid] = tid;
	if (tid & 1) {
		asm volatile("barrier.sync 0;" ::: "memory");
		v = line[tid - 1] * 5;
	} else {
		asm volatile("barrier.sync 0;" ::: "memory");
		v = line[tid + 1] * 9;
	}
	out[blockIdx.x * 64 + tid] = v;
}

/* bar.red with a number and a count, both outcomes used. */
KERNEL bar_two(u32 *out)
{
	u32 tid = threadIdx.x, all, some;
	asm volatile("{\n\t.reg .pred p, q;\n\tsetp.lt.u32 p, %1, 60;\n\t"
		     "barrier.red.and.pred q, 3, 64, p;\n\tselp.u32 %0, 1, 0, q;\n\t}"
		     : "=r"(all)
		     : "r"(tid)
		     : "memory");
	asm volatile("{\n\t.reg .pred p;\n\tsetp.lt.u32 p, %1, 60;\n\t"
		     "bar.red.popc.u32 %0, 4, 64, !p;\n\t}"
		     : "=r"(some)
		     : "r"(tid)
		     : "memory");
	out[blockIdx.x * 64 + tid] = all * 100 + some;
}
