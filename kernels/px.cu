/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PX: the resampling step of a particle filter, as particlefilter of Rodinia takes it in its naive
 * version. A thread has one new particle. It walks along the cumulative sums of the old particles'
 * weights to the first that reaches the thread's own number, and copies that particle's place. If
 * none does, it copies the last. Only comparisons, so a host gets the same bits. There are
 * gridDim.y * per_block frames. */
// exec: px --grid 3,2 --block 128 f32[1200]:rand(1) f32[1200]:rand(2) f32[1200]:rand(3) f32[1200]:rand(4) f32[1200]:zero f32[1200]:zero u32:300 u32:2
// exec: px --grid 2 --block 128 f32[200]:rand(1) f32[200]:rand(2) f32[200]:const(0.1) f32[200]:rand(4) f32[200]:zero f32[200]:zero u32:200 u32:1
#include "heddle_cuda.h"

KERNEL __launch_bounds__(128) px(const float *x, const float *y, const float *cumulative,
	const float *number, float *new_x, float *new_y, u32 n, u32 per_block)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	for (u32 k = 0; k < per_block; k++) {
		u64 frame = (u64)(blockIdx.y * per_block + k) * n;
		const float *sum = cumulative + frame;
		float mine = number[frame + i];
		u32 found = 0;
		while (found < n - 1 && sum[found] < mine)
			found++;
		new_x[frame + i] = x[frame + found];
		new_y[frame + i] = y[frame + found];
	}
}
