/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Warp operations in every form: shuffles with widths, votes, matches, the active mask, masks that
 * hold part of a warp, under divergence. */
// exec: warp_shuffles --grid 3 --block 64 u32[1536]:zero
// exec: warp_votes --grid 3 --block 64 u32[960]:zero
// exec: warp_partial --grid 3 --block 64 u32[192]:zero
// exec: warp_scan --grid 4 --block 128 u32[512]:iota u32[512]:zero
// exec: warp_ids --grid 2 --block 96 u32[192]:zero
#include "../heddle_warp.h"

KERNEL warp_shuffles(u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	int v = (int)(i * 17 + 3);
	u32 *to = out + i * 8;
	to[0] = __shfl_sync(~0u, v, 5);
	to[1] = __shfl_up_sync(~0u, v, 3);
	to[2] = __shfl_down_sync(~0u, v, 7);
	to[3] = __shfl_xor_sync(~0u, v, 9);
	to[4] = __shfl_sync(~0u, v, 2, 8);
	to[5] = __shfl_up_sync(~0u, v, 1, 16);
	to[6] = __shfl_down_sync(~0u, v, 2, 4);
	u32 r, valid;
	asm volatile("{\n\t.reg .pred p;\n\tshfl.sync.down.b32 %0|p, %2, 30, 0x1f, 0xffffffff;\n\t"
		     "selp.u32 %1, 1, 0, p;\n\t}"
		     : "=r"(r), "=r"(valid)
		     : "r"(v));
	to[7] = r + valid;
}

KERNEL warp_votes(u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
	u32 *to = out + i * 5;
	int same;
	to[0] = __ballot_sync(~0u, i % 3 == 0);
	to[1] = __all_sync(~0u, lane < 32) * 2 + __any_sync(~0u, lane == 40);
	to[2] = __match_any_sync(~0u, i % 5);
	to[3] = __match_all_sync(~0u, i / 64, &same);
	to[4] = same * 1000 + __popc(__activemask());
}

/* Each side of a branch works with a mask of its own. */
KERNEL warp_partial(u32 *out)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
	u32 v = i;
	if (lane & 1) {
		for (u32 step = 2; step < 32; step *= 2)
			v += __shfl_xor_sync(0xaaaaaaaau, v, step);
	} else if (lane < 16) {
		v = __ballot_sync(0x00005555u, lane & 4);
	} else {
		__syncwarp(0x55550000u);
		v = __shfl_sync(0x55550000u, v, 30);
	}
	__syncwarp();
	out[i] = v;
}

KERNEL warp_scan(const u32 *in, u32 *out)
{
	__shared__ u32 total[4];
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
	u32 v = in[i];
	for (u32 step = 1; step < 32; step *= 2) {
		u32 other = __shfl_up_sync(~0u, v, step);
		if (lane >= step)
			v += other;
	}
	if (lane == 31)
		total[threadIdx.x / 32] = v;
	__syncthreads();
	for (u32 k = 0; k < threadIdx.x / 32; k++)
		v += total[k];
	out[i] = v;
}

KERNEL warp_ids(u32 *out)
{
	u32 lane, below, eq;
	asm("mov.u32 %0, %%laneid;" : "=r"(lane));
	asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
	asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
	out[blockIdx.x * blockDim.x + threadIdx.x] = lane + __popc(below) * 100 + (eq >> lane) * 7;
}
