/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Blocks that wait for lower blocks, with volatile loads and with acquire and release. More of them
 * than the virtual GPU holds at once: those that it holds are never stopped midway. */
// exec: spin_volatile --grid 300 --block 32 u32[300]:zero u32[300]:zero
// exec: spin_acquire --grid 300 --block 32 u32[300]:zero u32[300]:zero
// exec: spin_lock --grid 300 --block 64 u32[1]:zero u32[1]:zero
#include "../heddle_warp.h"

KERNEL spin_volatile(volatile u32 *flag, u32 *out)
{
	if (threadIdx.x == 0) {
		u32 before = 0;
		if (blockIdx.x > 0)
			while ((before = flag[blockIdx.x - 1]) == 0)
				;
		out[blockIdx.x] = before + blockIdx.x;
		__threadfence();
		flag[blockIdx.x] = before + 1;
	}
}

HD u32 load_acquire(const u32 *p)
{
	u32 v;
	asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

HD void store_release(u32 *p, u32 v)
{
	asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

KERNEL spin_acquire(u32 *flag, u32 *out)
{
	__shared__ u32 before;
	if (threadIdx.x == 0) {
		before = 1;
		if (blockIdx.x > 0)
			while ((before = load_acquire(&flag[blockIdx.x - 1])) == 0)
				asm volatile("nanosleep.u32 64;");
	}
	__syncthreads();
	if (threadIdx.x == 31)
		out[blockIdx.x] = before * 3;
	__syncthreads();
	if (threadIdx.x == 0)
		store_release(&flag[blockIdx.x], before + 2);
}

/* A lock that one thread of each block takes. */
KERNEL spin_lock(u32 *lock, u32 *sum)
{
	if (threadIdx.x == 0) {
		while (atomicCAS(lock, 0u, 1u))
			;
		__threadfence();
		*(volatile u32 *)sum = *(volatile u32 *)sum + blockIdx.x + 1;
		__threadfence();
		atomicExch(lock, 0u);
	}
	__syncthreads();
}
