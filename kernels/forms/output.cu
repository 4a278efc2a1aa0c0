/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* printf and assert from the device: calls that the driver resolves. print_none calls printf only
 * in text: nothing is printed at run time, so its memory can be compared in silence. assert_fails
 * ends its launch with an error. */
// exec: print_none --grid 3 --block 64 u32[192]:zero u32:1000
// exec: print_some --grid 2 --block 32 u32[64]:zero
// exec: assert_holds --grid 3 --block 64 u32[192]:zero u32:500
#include "../heddle_cuda.h"

KERNEL print_none(u32 *out, u32 limit)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i > limit)
		printf("past the limit: %u of %u\n", i, limit);
	__syncthreads();
	out[i] = i * 2;
}

KERNEL print_some(u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (threadIdx.x == 7)
		printf("block %u: %d %s %5.2f %llx%c\n", blockIdx.x, -3, "text", 1.5, 1ull << 40,
			'!');
	out[i] = i + 1;
}

KERNEL assert_holds(u32 *out, u32 limit)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	assert(i < limit);
	__syncthreads();
	out[i] = i + 5;
}

KERNEL assert_fails(u32 *out, u32 limit)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	assert(i < limit);
	out[i] = i;
}

KERNEL traps(u32 *out, u32 limit)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= limit)
		asm volatile("trap;");
	out[i] = i;
}
