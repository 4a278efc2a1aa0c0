/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Copies from global to shared memory that do not pass through registers; needs sm_80. */
// exec: async_copy --grid 4 --block 64 u32[1024]:iota u32[1024]:zero
// exec: async_pipeline --grid 4 --block 64 u32[2048]:iota u32[256]:zero
#include "../heddle_warp.h"

HD u32 shared_address(const void *p)
{
	u64 wide;
	asm("cvta.to.shared.u64 %0, %1;" : "=l"(wide) : "l"(p));
	return (u32)wide;
}

KERNEL async_copy(const u32 *in, u32 *out)
{
	__shared__ __align__(16) u32 line[256];
	u32 tid = threadIdx.x, base = blockIdx.x * 256;
	asm volatile("cp.async.ca.shared.global [%0], [%1], 16;\n\tcp.async.commit_group;\n\t"
		     "cp.async.wait_group 0;" ::"r"(shared_address(&line[tid * 4])),
		     "l"(in + base + tid * 4)
		     : "memory");
	__syncthreads();
	for (u32 k = 0; k < 4; k++)
		out[base + k * 64 + tid] = line[255 - k * 64 - tid];
}

/* Two strips in flight: one is awaited while the other still travels. */
KERNEL async_pipeline(const u32 *in, u32 *out)
{
	__shared__ u32 line[2][64];
	u32 tid = threadIdx.x, sum = 0;
	const u32 *from = in + blockIdx.x * 512 + tid;
	for (u32 k = 0; k <= 8; k++) {
		if (k < 8)
			asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
					     shared_address(&line[k & 1][tid])),
				     "l"(from + k * 64)
				     : "memory");
		asm volatile("cp.async.commit_group;" ::: "memory");
		if (k > 0) {
			asm volatile("cp.async.wait_group 1;" ::: "memory");
			__syncthreads();
			sum = sum * 3 + line[(k - 1) & 1][63 - tid];
			__syncthreads();
		}
	}
	out[blockIdx.x * 64 + tid] = sum;
}

/* The warp's own reduction instruction. */
// exec: async_redux --grid 2 --block 64 u32[128]:zero
KERNEL async_redux(u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, sum, most;
	asm volatile("redux.sync.add.u32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(i));
	asm volatile("redux.sync.max.s32 %0, %1, 0xffffffff;" : "=r"(most) : "r"(i * 31 % 67));
	out[i] = sum * 100 + most;
}
