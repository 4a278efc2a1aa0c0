/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shared memory in all its kinds: the largest static amount, dynamic, dynamic beside static,
 * several dynamic arrays (which all start at the same place), and the sizes as the kernel can read
 * them. */
// exec: shared_full --grid 4 --block 128 u32[512]:zero
// exec: shared_dynamic --grid 4 --block 64 --shared 512 u32[256]:zero
// exec: shared_both --grid 4 --block 64 --shared 256 u32[256]:zero
// exec: shared_aliases --grid 3 --block 32 --shared 256 u32[96]:zero
// exec: shared_sizes --grid 1 --block 32 --shared 384 u32[1]:zero
// exec: shared_bytes --grid 2 --block 64 u32[128]:zero
#include "../heddle_cuda.h"

KERNEL shared_full(u32 *out)
{
	__shared__ u32 line[12288];
	for (u32 k = threadIdx.x; k < 12288; k += blockDim.x)
		line[k] = k * 5 + blockIdx.x;
	__syncthreads();
	u32 sum = 0;
	for (u32 k = 0; k < 96; k++)
		sum += line[(k * 131 + threadIdx.x * 97) % 12288];
	out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern __shared__ u32 words[];

KERNEL shared_dynamic(u32 *out)
{
	u32 tid = threadIdx.x;
	words[tid] = tid;
	words[64 + tid] = blockIdx.x;
	__syncthreads();
	out[blockIdx.x * 64 + tid] = words[63 - tid] * 10 + words[64 + (tid ^ 5)];
}

KERNEL shared_both(u32 *out)
{
	__shared__ u32 fixed[64];
	u32 tid = threadIdx.x;
	fixed[tid] = tid * 3;
	words[tid] = tid * 7;
	__syncthreads();
	out[blockIdx.x * 64 + tid] = fixed[63 - tid] + 1000 * words[tid ^ 1];
}

extern __shared__ unsigned char bytes[];
extern __shared__ __align__(16) float4 quads[];

KERNEL shared_aliases(u32 *out)
{
	u32 tid = threadIdx.x;
	words[tid] = 0x01020304u * (tid & 3);
	__syncthreads();
	u32 v = bytes[tid * 4 + 1] + (u32)((char *)quads - (char *)words);
	__syncthreads();
	out[blockIdx.x * 32 + tid] = v;
}

KERNEL shared_sizes(u32 *out)
{
	u32 dynamic;
	asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(dynamic));
	words[threadIdx.x] = dynamic;
	__syncthreads();
	if (threadIdx.x == 0)
		out[0] = words[31];
}

/* Odd sizes and alignments behind one another, addressed through generic pointers. */
static __device__ __noinline__ u32 add_all(const unsigned char *p, u32 n)
{
	u32 sum = 0;
	for (u32 k = 0; k < n; k++)
		sum += p[k];
	return sum;
}

KERNEL shared_bytes(u32 *out)
{
	__shared__ unsigned char small[7];
	__shared__ unsigned short pairs[5];
	__shared__ double big[3];
	u32 tid = threadIdx.x;
	if (tid < 7)
		small[tid] = (unsigned char)(tid + 1);
	if (tid < 5)
		pairs[tid] = (unsigned short)(tid * 300);
	if (tid < 3)
		big[tid] = tid * 0.5;
	__syncthreads();
	out[blockIdx.x * 64 + tid] = add_all(small, 7) + pairs[tid % 5] + (u32)(big[2] * 4.0);
}
