/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What is the same in all of a warp, though no id says so by itself: warps that leave whole. Each
 * with what looks like it and is not, where lanes leave ahead of an operation of their warp. That
 * does not wait for them, and a vote counts only those that are there, so all results are defined.
 */
// exec: alike_rank --grid 5 --block 8,4,3 u32[480]:rand(1) u32[5]:zero
// exec: alike_rank --grid 3 --block 64 u32[192]:rand(2) u32[3]:zero
// exec: alike_rank_wide --grid 3 --block 8,6,2 u32[288]:zero
// exec: alike_rank_wide --grid 3 --block 5,7,3 u32[315]:zero
// exec: alike_layer --grid 3 --block 8,6,2 u32[288]:zero
// exec: alike_turned --grid 3 --block 8,12 u32[288]:zero
// exec: alike_within --grid 3 --block 8,6,2 u32[288]:zero
// exec: alike_chunk --grid 5 --block 64 u32[320]:zero u32:7
// exec: alike_chunk --grid 5 --block 40 u32[320]:zero u32:7
// exec: alike_chunk_any --grid 5 --block 48 u32[240]:zero u32:5
// exec: alike_tile --grid 6 --block 96 u32[48]:rand(3) u32[576]:zero
// exec: alike_last --grid 6 --block 64 u32[384]:rand(4) u32[1]:zero u32[6]:zero u32[1]:zero
// exec: alike_line --grid 4 --block 64 u32[256]:rand(5) u32[256]:zero
// exec: alike_filter --grid 5 --block 64 u32[320]:rand(6) u32[1]:zero u32[320]:zero u32:290
// exec: alike_groups --grid 5 --block 96 u32[480]:rand(7) u32[8]:zero u32:470
// exec: alike_early --grid 5 --block 64 u32[320]:rand(8) u32[320]:zero u32:290
// exec: alike_stayers --grid 5 --block 64 u32[320]:rand(9) u32[320]:zero u32:19
// exec: alike_stayers --grid 5 --block 40 u32[200]:rand(10) u32[200]:zero u32:0
// exec: alike_stayers_go --grid 5 --block 64 u32[320]:rand(12) u32[320]:zero u32:19
// exec: alike_stayers_other --grid 5 --block 64 u32[320]:rand(13) u32[320]:zero u32:19
// exec: alike_stayers_loop --grid 5 --block 64 u32[320]:rand(14) u32[320]:zero u32:19 u32:9
// exec: alike_stayers_loop --grid 5 --block 40 u32[200]:rand(15) u32[200]:zero u32:27 u32:1
// exec: alike_stayers_uneven --grid 5 --block 64 u32[320]:rand(16) u32[320]:zero u32:19
#include "../heddle_warp.h"

/* A thread's number in a block of any shape; warps are 32 of them. */
static __device__ __forceinline__ u32 alike_number(void)
{
	return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ u32 alike_sum(u32 v)
{
	for (u32 step = 16; step; step >>= 1)
		v += __shfl_xor_sync(~0u, v, step);
	return v;
}

/* How many lanes are left. */
static __device__ __forceinline__ u32 alike_left(void)
{
	return __popc(__ballot_sync(~0u, 1));
}

/* The first warp adds up what all have left it. */
KERNEL alike_rank(const u32 *in, u32 *out)
{
	__shared__ u32 part[32];
	u32 rank = alike_number(), size = blockDim.x * blockDim.y * blockDim.z;
	u32 v = alike_sum(in[blockIdx.x * size + rank]);
	if (rank % 32 == 0)
		part[rank / 32] = v;
	__syncthreads();
	if (rank < 32) {
		v = alike_sum(rank < size / 32 ? part[rank] : 0);
		if (rank == 0)
			out[blockIdx.x] = v;
	}
}

/* The same number, multiplied out, in 64 bits. */
KERNEL alike_rank_wide(u32 *out)
{
	u32 size = blockDim.x * blockDim.y * blockDim.z;
	u64 rank = threadIdx.x + (u64)blockDim.x * threadIdx.y +
		   (u64)(blockDim.x * blockDim.y) * threadIdx.z;
	if (rank / 32 == 1)
		return;
	out[blockIdx.x * size + rank] = alike_left();
}

/* Numbers within a layer: 48 to a layer, so some of a warp leave. */
KERNEL alike_layer(u32 *out)
{
	u32 size = blockDim.x * blockDim.y * blockDim.z;
	if (threadIdx.y * blockDim.x + threadIdx.x >= 32)
		return;
	out[blockIdx.x * size + alike_number()] = alike_left();
}

/* Column after column: nothing that warps are cut by. */
KERNEL alike_turned(u32 *out)
{
	u32 size = blockDim.x * blockDim.y * blockDim.z;
	if ((threadIdx.z * blockDim.x + threadIdx.x) * blockDim.y + threadIdx.y >= 32)
		return;
	out[blockIdx.x * size + alike_number()] = alike_left();
}

/* The right number, and a limit in the middle of a warp. */
KERNEL alike_within(u32 *out)
{
	u32 size = blockDim.x * blockDim.y * blockDim.z, rank = alike_number();
	if (rank >= 48)
		return;
	out[blockIdx.x * size + rank] = alike_left();
}

/* Whole warps of a grid in chunks of 64. */
KERNEL alike_chunk(u32 *out, u32 warps)
{
	u32 i = blockIdx.x * 64 + threadIdx.x;
	if (i / 32 >= warps)
		return;
	out[i] = alike_left();
}

/* Chunks of any size: warp borders of blocks are not those of the grid. */
KERNEL alike_chunk_any(u32 *out, u32 warps)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i / 32 >= warps)
		return;
	out[i] = alike_left();
}

/* One thread gets the next piece of work, or none, for all. */
KERNEL alike_tile(const u32 *in, u32 *out)
{
	__shared__ u32 next;
	u32 sum = 0;
#pragma unroll 1
	for (u32 k = 0;; k++) {
		if (threadIdx.x == 0)
			next = k < 8 ? in[blockIdx.x * 8 + k] % 4 : 0;
		__syncthreads();
		u32 tile = next;
		if (tile == 0)
			return;
		sum += tile * alike_left();
		out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
		__syncthreads();
	}
}

/* The block that is done last adds up what all have left. */
KERNEL alike_last(const u32 *in, u32 *done, u32 *part, u32 *out)
{
	__shared__ u32 line[2];
	__shared__ bool last;
	u32 t = threadIdx.x, v = alike_sum(in[blockIdx.x * 64 + t]);
	if (t % 32 == 0)
		line[t / 32] = v;
	__syncthreads();
	if (t == 0) {
		part[blockIdx.x] = line[0] + line[1];
		__threadfence();
		last = atomicAdd(done, 1u) == gridDim.x - 1;
	}
	__syncthreads();
	if (last) {
		v = alike_sum(t < gridDim.x ? ((volatile u32 *)part)[t] : 0);
		if (t == 0)
			*out = v;
	}
}

/* A place of each thread's own: some of a warp leave. */
KERNEL alike_line(const u32 *in, u32 *out)
{
	__shared__ u32 line[64];
	u32 t = threadIdx.x, i = blockIdx.x * 64 + t;
	line[t] = in[i] % 3;
	__syncthreads();
	if (line[t ^ 1] == 0)
		return;
	out[i] = alike_left();
}

/* Those that are left append together: one of them makes room for all. Their mask is made behind
 * the last way out. */
KERNEL alike_filter(const u32 *in, u32 *n, u32 *out, u32 size)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= size || in[i] % 3 == 0)
		return;
	u32 active = __activemask(), lane = threadIdx.x % 32, first = __ffs(active) - 1, at = 0;
	if (lane == first)
		at = atomicAdd(n, (u32)__popc(active));
	at = __shfl_sync(active, at, first) + __popc(active & ((1u << lane) - 1));
	out[at] += 1;
}

/* Those of them with the same key, in turns. */
KERNEL alike_groups(const u32 *in, u32 *sums, u32 size)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= size)
		return;
	for (u32 k = 0; k < 3; k++) {
		u32 key = in[i] >> (k * 3) & 7, lane = threadIdx.x % 32;
		if (key == 5)
			return;
		u32 same = __match_any_sync(__activemask(), key);
		u32 odd = __ballot_sync(same, in[i] & 1) & same;
		if (lane == (u32)__ffs(same) - 1)
			atomicAdd(&sums[key], (u32)(__popc(same) * 64 + __popc(odd)));
	}
}

/* A mask from ahead of the way out: who leaves is in it. */
KERNEL alike_early(const u32 *in, u32 *out, u32 size)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, active = __activemask();
	if (i >= size || in[i] % 3 == 0)
		return;
	out[i] = __popc(__ballot_sync(active, 1));
}

/* The operation names those that stay: the ballot is of what the others leave by. */
KERNEL alike_stayers(const u32 *in, u32 *out, u32 n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	u32 stay = __ballot_sync(~0u, lane < n);
	if (lane < n)
		out[i] = __shfl_sync(stay, in[i], (lane * 7 + 1) % n) + stay;
}

/* Some of those that are named leave behind that. */
KERNEL alike_stayers_go(const u32 *in, u32 *out, u32 n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	u32 stay = __ballot_sync(~0u, lane < n);
	if (lane < n) {
		if (in[i] % 5 == 0)
			return;
		out[i] = __popc(__ballot_sync(stay, in[i] % 2)) ? 1 : 2;
	}
}

/* Named are those of another number. */
KERNEL alike_stayers_other(const u32 *in, u32 *out, u32 n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	u32 stay = __ballot_sync(~0u, lane < n + 4);
	if (lane < n)
		out[i] = in[i] + (__ballot_sync(stay, 1) & ((1u << n) - 1));
}

/* They all go round a loop equally often. */
KERNEL alike_stayers_loop(const u32 *in, u32 *out, u32 n, u32 rounds)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	u32 stay = __ballot_sync(~0u, lane < n);
	if (lane >= n)
		return;
	u32 v = in[i];
	for (u32 k = 0; k < rounds; k++)
		v = v * 5 + __shfl_sync(stay, v, (lane + k) % n);
	out[i] = v;
}

/* Not equally often. */
KERNEL alike_stayers_uneven(const u32 *in, u32 *out, u32 n)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	u32 stay = __ballot_sync(~0u, lane < n);
	if (lane >= n)
		return;
	for (u32 k = in[i] % 4; k < 8; k++)
		out[i] += __popc(__ballot_sync(stay, 1)) ? k : 0;
}
