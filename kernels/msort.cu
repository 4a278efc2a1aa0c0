/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Merge sort of words: tiles in shared memory, then passes that merge two neighbouring runs into
 * one of twice the width. A key's place is its place in its own run plus how many of the other run
 * come before it; of equal ones those of the left run do. */
// exec: msort_tile --grid 6 --block 128 u32[1536]:rand(1) u32[1536]:zero
// exec: msort_tile --grid 2,5 --block 128 u32[2560]:rand(2) u32[2560]:zero
// exec: msort_tile --grid 1 --block 128 u32[256]:iota u32[256]:zero
// exec: msort_pass --grid 16 --block 128 u32[2048]:iota u32[2048]:zero u32:2048 u32:256
// exec: msort_pass --grid 20,2 --block 64 u32[2500]:const(7) u32[2500]:zero u32:2500 u32:512
// exec: msort_pass --grid 10 --block 100 u32[1000]:iota u32[1000]:zero u32:1000 u32:96
#include "heddle_cuda.h"

#define TILE 256

/* How many of run[0, n) come before key: those that are less, and equal ones too if after. */
HD u32 before(const u32 *run, u32 n, u32 key, bool after)
{
	u32 low = 0, high = n;
	while (low < high) {
		u32 mid = (low + high) / 2;
		if (run[mid] < key || (after && run[mid] == key))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Where key number i of runs of this width goes. */
HD u32 place(const u32 *keys, u32 n, u32 width, u32 i)
{
	u32 start = i / width * width, pair = i / (2 * width) * (2 * width);
	bool right = start != pair;
	u32 other = right ? pair : min(pair + width, n);
	u32 end = min(other + width, n);
	return pair + (i - start) + before(keys + other, end - other, keys[i], right);
}

KERNEL __launch_bounds__(TILE / 2) msort_tile(const u32 *in, u32 *out)
{
	__shared__ u32 keys[2][TILE];
	u64 first = (u64)(blockIdx.y * gridDim.x + blockIdx.x) * TILE;
	u32 t = threadIdx.x, from = 0;
	keys[0][t] = in[first + t];
	keys[0][t + TILE / 2] = in[first + t + TILE / 2];
	for (u32 width = 1; width < TILE; width *= 2) {
		__syncthreads();
		for (u32 i = t; i < TILE; i += TILE / 2)
			keys[1 - from][place(keys[from], TILE, width, i)] = keys[from][i];
		from = 1 - from;
	}
	__syncthreads();
	out[first + t] = keys[from][t];
	out[first + t + TILE / 2] = keys[from][t + TILE / 2];
}

KERNEL msort_pass(const u32 *in, u32 *out, u32 n, u32 width)
{
	u32 i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
	if (i < n)
		out[place(in, n, width, i)] = in[i];
}
