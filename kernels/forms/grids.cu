/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Grids and blocks of one to three dimensions, seen by kernels that use all of their ids, some, or
 * none. */
// exec: grid_all --grid 3,4,2 --block 4,3,5 u32[1440]:zero
// exec: grid_all --grid 1,1,7 --block 2,8,4 u32[448]:zero
// exec: grid_x_only --grid 4,3,2 --block 32 u32[128]:zero
// exec: grid_sizes --grid 2,3,4 --block 8,4,2 u32[6]:zero
// exec: grid_none --grid 5,2 --block 16 u32[1]:zero
// exec: grid_narrow --grid 9,2 --block 20,2 u32[720]:zero
// exec: grid_vector --grid 3,2,2 --block 8 u32[96]:zero
#include "../heddle_warp.h"

KERNEL grid_all(u32 *out)
{
	u32 block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	u32 thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
	u32 size = blockDim.x * blockDim.y * blockDim.z;
	out[block * size + thread] = blockIdx.x << 20 | blockIdx.y << 16 | blockIdx.z << 12 |
				     threadIdx.x << 8 | threadIdx.y << 4 | threadIdx.z;
}

/* Blocks of all rows and layers add to the same words. */
KERNEL grid_x_only(u32 *out)
{
	atomicAdd(&out[blockIdx.x * blockDim.x + threadIdx.x], blockIdx.x + 1);
}

KERNEL grid_sizes(u32 *out)
{
	atomicAdd(&out[0], gridDim.x);
	atomicAdd(&out[1], gridDim.y);
	atomicAdd(&out[2], gridDim.z);
	atomicMax(&out[3], blockDim.x);
	atomicMax(&out[4], blockDim.y);
	atomicMax(&out[5], blockDim.z);
}

KERNEL grid_none(u32 *out)
{
	atomicAdd(out, 1u);
}

/* Blocks whose threads do not fill their last warp. */
KERNEL grid_narrow(u32 *out)
{
	__shared__ u32 line[40];
	u32 thread = threadIdx.x + blockDim.x * threadIdx.y;
	line[thread] = thread * 3;
	__syncthreads();
	u32 block = blockIdx.x + gridDim.x * blockIdx.y;
	out[block * 40 + thread] = line[39 - thread] + block;
}

/* The ids read as vectors and in 16 bits. */
KERNEL grid_vector(u32 *out)
{
	u32 x, y, z, w;
	unsigned short low;
	asm volatile("{\n\t.reg .v4 .b32 id;\n\tmov.v4.u32 id, %%ctaid;\n\tmov.b32 %0, id.x;\n\t"
		     "mov.b32 %1, id.y;\n\tmov.b32 %2, id.z;\n\tmov.b32 %3, id.w;\n\t}"
		     : "=r"(x), "=r"(y), "=r"(z), "=r"(w));
	asm volatile("cvt.u16.u32 %0, %%nctaid.x;" : "=h"(low));
	u32 block = x + low * (y + gridDim.y * z);
	out[block * blockDim.x + threadIdx.x] = block * 100 + threadIdx.x + w;
}
