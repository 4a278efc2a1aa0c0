/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Corners of Shi and Tomasi: the lesser eigenvalue of the gradients' products, summed over a window
 * of an image of bytes. Integers up to the sums, then floats, each operation rounded by itself.
 * Beyond the border is the border. A thread a point. */
// exec: stms --grid 5 --block 256 u8[1200]:rand(2) f32[1200]:zero u32:40 u32:30
#include "heddle_image.h"

KERNEL stms(const unsigned char *image, float *out, u32 width, u32 height)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= width * height)
		return;
	int w = (int)width, h = (int)height;
	int x = (int)(i % width), y = (int)(i / width), xx = 0, yy = 0, xy = 0;
#pragma unroll
	for (int v = y - 1; v <= y + 1; v++)
#pragma unroll
		for (int u = x - 1; u <= x + 1; u++) {
			int gx = point(image, u + 1, v, w, h) - point(image, u - 1, v, w, h);
			int gy = point(image, u, v + 1, w, h) - point(image, u, v - 1, w, h);
			xx += gx * gx;
			yy += gy * gy;
			xy += gx * gy;
		}
	float half = __fmul_rn((float)(xx - yy), 0.5f), cross = (float)xy;
	float root = __fsqrt_rn(__fadd_rn(__fmul_rn(half, half), __fmul_rn(cross, cross)));
	out[i] = __fadd_rn(__fmul_rn((float)(xx + yy), 0.5f), -root);
}
