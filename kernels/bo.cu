/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* BO: European calls by binomial trees, as binomialOptions of the CUDA samples prices them. A block
 * walks back through the tree of one option, from `steps` (at most BLOCK * NODES) to its root. A
 * thread holds NODES neighbouring nodes in registers. At each step it needs one node of the next
 * thread, which passes through shared memory. Options lie in five rows: price, strike, logarithm
 * of one move, discounted chances of up and down. Batches (gridDim.y * per_block) price the same
 * options; batch b begins with option b, so a result in a wrong batch shows. */
// exec: bo --grid 3,2 --block 128 f32[15]:rand(1) f32[12]:zero u32:3 u32:20 u32:2
// exec: bo --grid 2 --block 128 f32[10]:const(0.5) f32[2]:zero u32:2 u32:33 u32:1
#include "heddle_cuda.h"

#define BLOCK 128
#define NODES 16

/* What the option is worth at its end after i moves up. Leaves beyond the tree count nothing. */
HD float leaf(float price, float strike, float move, u32 i, u32 steps)
{
	float moves = __int2float_rn(2 * (int)i - (int)steps);
	return i <= steps ? fmaxf(price * expf(move * moves) - strike, 0.0f) : 0.0f;
}

KERNEL __launch_bounds__(BLOCK)
	bo(const float *option, float *value, u32 options, u32 steps, u32 per_block)
{
	__shared__ float
		first[BLOCK + 1]; /* the first node of each thread, and one beyond the last */
	u32 tid = threadIdx.x;
	for (u32 k = 0; k < per_block; k++) {
		u32 batch = blockIdx.y * per_block + k;
		u32 which = (blockIdx.x + batch) % options;
		float price = option[which], strike = option[options + which];
		float move = option[2 * options + which];
		float up = option[3 * options + which], down = option[4 * options + which];
		float node[NODES + 1];
#pragma unroll
		for (u32 j = 0; j < NODES; j++)
			node[j] = leaf(price, strike, move, tid * NODES + j, steps);
		if (tid == 0)
			first[BLOCK] = leaf(price, strike, move, BLOCK * NODES, steps);
		for (u32 level = steps; level > 0; level--) {
			first[tid] = node[0];
			__syncthreads();
			node[NODES] = first[tid + 1];
			__syncthreads();
			if (tid * NODES < level) {
#pragma unroll
				for (u32 j = 0; j < NODES; j++)
					node[j] = fmaf(up, node[j + 1], down * node[j]);
			}
		}
		if (tid == 0)
			value[(u64)batch * options + blockIdx.x] = node[0];
	}
}
