/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* TP: histograms of angles between points on a sphere, as tpacf of Parboil computes them (the
 * two-point angular correlation function). A thread pairs one observed point with all points of a
 * random set, which pass through shared memory 256 at a time. The cosine of the angle picks a bin:
 * bin b is the first whose limit is not above it, the last bin takes what is left. Each warp adds
 * to COPIES histograms of its own, so few lanes meet in a word. A block stores one histogram. Sets:
 * gridDim.y * per_block; set s is the input s % distinct. Products and sums are rounded one by one:
 * a host gets the same bits. */
// exec: tp --grid 2,2 --block 256 f32[900]:rand(1) f32[600]:rand(2) f32[19]:const(0.7) u32[160]:zero u32:300 u32:100 u32:2 u32:2
// exec: tp --grid 1,2 --block 256 f32[600]:rand(3) f32[120]:rand(4) f32[19]:const(0.2) u32[40]:zero u32:200 u32:40 u32:1 u32:1
#include "heddle_warp.h"

#define BLOCK  256
#define BINS   20
#define COPIES 16 /* for each warp */
#define ROW    (BLOCK / 32 * COPIES)

HD u32 bin_of(const float *limit, float cosine)
{
	u32 low = 0, high = BINS - 1;
	while (low < high) {
		u32 middle = (low + high) / 2;
		if (cosine >= limit[middle])
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Points lie coordinate by coordinate: x of all, then y, then z. */
KERNEL __launch_bounds__(BLOCK) tp(const float *observed, const float *random, const float *limits,
	u32 *histogram, u32 n, u32 points, u32 distinct, u32 per_block)
{
	__shared__ u32 count[BINS][ROW];
	__shared__ float tile[3][BLOCK];
	__shared__ float limit[BINS - 1];
	u32 tid = threadIdx.x, i = blockIdx.x * BLOCK + tid;
	u32 mine = tid / 32 * COPIES + tid % COPIES;
	u32 from = min(i, n - 1);
	float x = observed[from], y = observed[n + from], z = observed[2 * n + from];
	if (tid < BINS - 1)
		limit[tid] = limits[tid];
	for (u32 k = 0; k < per_block; k++) {
		u32 set = blockIdx.y * per_block + k;
		const float *others = random + (u64)(set % distinct) * 3 * points;
		for (u32 at = tid; at < BINS * ROW; at += BLOCK)
			count[at / ROW][at % ROW] = 0;
		for (u32 first = 0; first < points; first += BLOCK) {
			u32 some = min(points - first, (u32)BLOCK);
			__syncthreads();
			if (tid < some) {
				tile[0][tid] = others[first + tid];
				tile[1][tid] = others[points + first + tid];
				tile[2][tid] = others[2 * points + first + tid];
			}
			__syncthreads();
			for (u32 j = 0; j < some && i < n; j++) {
				float cosine = __fadd_rn(__fadd_rn(__fmul_rn(x, tile[0][j]),
								 __fmul_rn(y, tile[1][j])),
					__fmul_rn(z, tile[2][j]));
				atomicAdd(&count[bin_of(limit, cosine)][mine], 1u);
			}
		}
		__syncthreads();
		u32 *to = histogram + ((u64)set * gridDim.x + blockIdx.x) * BINS;
		for (u32 bin = tid / 32; bin < BINS; bin += BLOCK / 32) { /* a warp, a bin */
			u32 sum = 0;
			for (u32 at = tid % 32; at < ROW; at += 32)
				sum += count[bin][at];
			for (u32 step = 16; step; step >>= 1)
				sum += __shfl_xor_sync(~0u, sum, step);
			if (tid % 32 == 0)
				to[bin] = sum;
		}
		__syncthreads();
	}
}
