/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Local memory: arrays of a thread's own, indexed at run time, handed to functions, kept over
 * barriers. */
// exec: local_sort --grid 3 --block 32 u32[96]:zero
// exec: local_barrier --grid 3 --block 64 u32[192]:zero u32:11
#include "../heddle_cuda.h"

static __device__ __noinline__ void sort(u32 *v, u32 n)
{
	for (u32 i = 1; i < n; i++) {
		u32 x = v[i], j = i;
		for (; j > 0 && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

KERNEL local_sort(u32 *out)
{
	u32 v[12], i = blockIdx.x * blockDim.x + threadIdx.x;
	for (u32 k = 0; k < 12; k++)
		v[k] = (k * 37 + i * 11) % 64;
	sort(v, 12);
	out[i] = v[i % 12] * 64 + v[11];
}

KERNEL local_barrier(u32 *out, u32 stride)
{
	__shared__ u32 line[64];
	u32 v[16], tid = threadIdx.x;
	for (u32 k = 0; k < 16; k++)
		v[k * stride % 16] = k + tid;
	u32 sum = 0;
	for (u32 k = 0; k < 4; k++) {
		line[tid] = v[(tid + k) % 16];
		__syncthreads();
		sum = sum * 3 + line[63 - tid];
		v[sum % 16] += k;
		__syncthreads();
	}
	out[blockIdx.x * 64 + tid] = sum + v[tid % 16];
}
