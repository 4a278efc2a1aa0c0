/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Harris corners of an image of bytes: gradients of each point of a window (Sobel), their products
 * summed over it, and 16 det - trace^2 of what comes of them, saturated. Integers alone; beyond the
 * border is the border. A thread a point. */
// exec: harris --grid 5 --block 256 u8[1200]:rand(1) i32[1200]:zero u32:40 u32:30
#include "heddle_image.h"

KERNEL harris(const unsigned char *image, int *out, u32 width, u32 height)
{
	u32 i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= width * height)
		return;
	int x = (int)(i % width), y = (int)(i / width), xx = 0, yy = 0, xy = 0;
#pragma unroll
	for (int dy = -1; dy <= 1; dy++)
#pragma unroll
		for (int dx = -1; dx <= 1; dx++) {
			int at[3][3];
#pragma unroll
			for (int v = 0; v < 3; v++)
#pragma unroll
				for (int u = 0; u < 3; u++)
					at[v][u] = point(image, x + dx + u - 1, y + dy + v - 1,
						(int)width, (int)height);
			int gx = at[0][2] + 2 * at[1][2] + at[2][2] - at[0][0] - 2 * at[1][0] -
				 at[2][0];
			int gy = at[2][0] + 2 * at[2][1] + at[2][2] - at[0][0] - 2 * at[0][1] -
				 at[0][2];
			xx += gx * gx >> 8;
			yy += gy * gy >> 8;
			xy += gx * gy >> 8;
		}
	out[i] = 16 * (xx * yy - xy * xy) - (xx + yy) * (xx + yy);
}
