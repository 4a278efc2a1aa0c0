/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* VA: c = a + b. A block covers `per_thread` stretches of blockDim.x elements, one behind the
 * other, so that neighbouring lanes touch neighbouring words. gridDim.y repeats the whole sum: the
 * rows write the same values, which lengthens a run without lengthening the vectors. */
// exec: va --grid 40 --block 256 f32[10000]:rand(1) f32[10000]:rand(2) f32[10000]:zero u32:10000 u32:1
// exec: va --grid 7,3 --block 256 f32[5001]:iota f32[5001]:rand(2) f32[5001]:zero u32:5001 u32:3
// exec: va --grid 30 --block 100 f32[2950]:rand(3) f32[2950]:rand(4) f32[2950]:zero u32:2950 u32:1
#include "heddle_cuda.h"

KERNEL va(const float *a, const float *b, float *c, u32 n, u32 per_thread)
{
	u32 i = blockIdx.x * per_thread * blockDim.x + threadIdx.x;
	for (u32 k = 0; k < per_thread; k++, i += blockDim.x) {
		if (i < n)
			c[i] = a[i] + b[i];
	}
}
