/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prefix sums in one launch: every block publishes its sum, then looks back over the blocks before
 * it. It spins until a lower block has spoken, so blocks must start in rising order and must never
 * be held while a later one waits for them. Status words: value << 2 | state. */
// exec: lookback --grid 300 --block 64 u32[19200]:const(3) u32[19200]:zero u64[300]:zero
// exec: lookback_ticket --grid 300 --block 64 u32[19200]:const(5) u32[19200]:zero u64[300]:zero u32[1]:zero
#include "../heddle_warp.h"

#define NOTHING 0ull
#define SUM     1ull /* of this block alone */
#define PREFIX  2ull /* of all blocks up to this one */

HD void publish(u64 *status, u32 block, u64 value, u64 state)
{
	__threadfence();
	atomicExch(&status[block], value << 2 | state);
}

HD u64 sum_before(u64 *status, u32 block)
{
	u64 sum = 0;
	for (u32 b = block; b-- > 0;) {
		u64 word;
		do
			word = *(volatile u64 *)&status[b];
		while ((word & 3) == NOTHING);
		sum += word >> 2;
		if ((word & 3) == PREFIX)
			break;
	}
	return sum;
}

HD void scan_block(u32 block, const u32 *in, u32 *out, u64 *status)
{
	__shared__ u32 line[64];
	__shared__ u64 before;
	u32 tid = threadIdx.x, i = block * 64 + tid;
	line[tid] = in[i] + i % 7;
	__syncthreads();
	for (u32 step = 1; step < 64; step *= 2) {
		u32 v = tid >= step ? line[tid - step] : 0;
		__syncthreads();
		line[tid] += v;
		__syncthreads();
	}
	if (tid == 0) {
		publish(status, block, line[63], block ? SUM : PREFIX);
		before = sum_before(status, block);
		if (block)
			publish(status, block, before + line[63], PREFIX);
	}
	__syncthreads();
	out[i] = (u32)before + line[tid];
}

KERNEL lookback(const u32 *in, u32 *out, u64 *status)
{
	scan_block(blockIdx.x, in, out, status);
}

/* The block's number is drawn, not given. */
KERNEL lookback_ticket(const u32 *in, u32 *out, u64 *status, u32 *next)
{
	__shared__ u32 ticket;
	if (threadIdx.x == 0)
		ticket = atomicAdd(next, 1u);
	__syncthreads();
	scan_block(ticket, in, out, status);
}
