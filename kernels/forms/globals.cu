/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Module variables: plain, initialised, constant, arrays of addresses of others. */
// exec: global_counter --grid 6 --block 32 u32[6]:zero
// exec: global_table --grid 2 --block 32 u32[64]:zero
// exec: global_constant --grid 2 --block 32 f32[64]:zero
// exec: global_address --grid 2 --block 32 u32[64]:zero
#include "../heddle_warp.h"

__device__ u32 counter;
__device__ u32 table[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ float coefficient[4] = {0.5f, -1.0f, 2.0f, 4.0f};
__device__ u32 left = 100, right = 200;
__device__ u32 *const side[2] = {&left, &right};

/* Each block adds itself; how far the counter stands is known only at the end. */
KERNEL global_counter(u32 *out)
{
	__syncthreads();
	if (threadIdx.x == 0) {
		atomicAdd(&counter, blockIdx.x + 1);
		out[blockIdx.x] = blockIdx.x + 1;
	}
}

KERNEL global_table(u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = table[i % 8] + table[(i / 8) % 8] * 100;
}

KERNEL global_constant(float *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = coefficient[i & 3] * (float)i + coefficient[2];
}

KERNEL global_address(u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = *side[i & 1] + i;
}
