/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The inverse of the normal distribution's integral, by Moro's approximation: of words, taken as
 * numbers between 0 and 1, eight a thread. */
// exec: micnd --grid 2 --block 256 u32[3600]:rand(1) f32[3600]:zero u32:3500
#include "heddle_cuda.h"

#define EACH 8

HD float moro(float p)
{
	float y = p - 0.5f;
	if (fabsf(y) < 0.42f) {
		float z = y * y;
		float up = ((-25.44106049637f * z + 41.39119773534f) * z - 18.61500062529f) * z +
			   2.50662823884f;
		float down = (((3.13082909833f * z - 21.06224101826f) * z + 23.08336743743f) * z -
				     8.4735109309f) *
				     z +
			     1.0f;
		return __fdividef(y * up, down);
	}
	float z = y > 0 ? 1.0f - p : p;
	z = __log2f(-0.69314718f * __log2f(z)) * 0.69314718f;
	float x = 3.960315187e-7f;
	x = x * z + 2.888167364e-7f;
	x = x * z + 3.21767881768e-5f;
	x = x * z + 3.951896511919e-4f;
	x = x * z + 3.8405729373609e-3f;
	x = x * z + 2.76438810333863e-2f;
	x = x * z + 0.160797971491821f;
	x = x * z + 0.976169019091719f;
	x = x * z + 0.337475482272615f;
	return y > 0 ? x : -x;
}

KERNEL micnd(const u32 *in, float *out, u32 n)
{
	u32 first = blockIdx.x * blockDim.x * EACH + threadIdx.x;
#pragma unroll
	for (u32 k = 0; k < EACH; k++) {
		u32 i = first + k * blockDim.x;
		if (i < n)
			out[i] = moro(((float)(in[i] >> 8) + 0.5f) * 5.9604645e-8f);
	}
}
