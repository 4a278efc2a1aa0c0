/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Calls handlers of the virtual GPU with a frame of three rows of lanes: a predicate that is
 * always true, the operand, and the result. Matrix products sum in the virtual GPU's order, in
 * double precision. */
#include "approx.h"

#include "dev/cpu/exec/exec.h"
#include "dev/cpu/exec/half.h"

#include <stdlib.h>

void sass_approx(const char *key, const uint32_t *a, uint32_t *r)
{
	_Alignas(64) uint32_t frame[3][LANES];
	struct vx x = {.base = {(char *)frame, (char *)frame}, .mask = ~0u, .active = ~0u};
	struct vinsn in = {.a = sizeof(frame[0]), .d = 2 * sizeof(frame[0])};
	vop_fn *fn = vgpu_vec_find(key);

	if (!fn)
		abort();
	memset(frame, 0, sizeof(frame));
	memcpy(frame[1], a, sizeof(frame[1]));
	fn(&x, &in);
	memcpy(r, frame[2], sizeof(frame[2]));
}

float sass_half_to_f32(uint32_t h, bool brain)
{
	return half_to_f32(h & 0xffff, brain ? HALF_BF16 : HALF_F16);
}

uint32_t sass_half_from_f64(double v, bool brain, bool to_zero)
{
	return half_from_f64(v, brain ? HALF_BF16 : HALF_F16, to_zero ? VR_RZ : VR_RN);
}

static double element(uint32_t v, unsigned e)
{
	return (double)half_to_f32(v >> 16 * e & 0xffff, HALF_F16);
}

void sass_mma_16816(const uint32_t a[4][32], const uint32_t b[2][32], const uint32_t c[4][32],
	uint32_t d[4][32])
{
	double ma[16][16], mb[16][8];

	for (unsigned i = 0; i < 32; i++) {
		for (unsigned r = 0; r < 4; r++)
			for (unsigned e = 0; e < 2; e++)
				ma[i / 4 + 8 * (r & 1)][8 * (r / 2) + 2 * (i % 4) + e] =
					element(a[r][i], e);
		for (unsigned r = 0; r < 2; r++)
			for (unsigned e = 0; e < 2; e++)
				mb[8 * r + 2 * (i % 4) + e][i / 4] = element(b[r][i], e);
	}
	for (unsigned i = 0; i < 32; i++)
		for (unsigned r = 0; r < 4; r++) {
			unsigned row = i / 4 + 8 * (r / 2), col = 2 * (i % 4) + (r & 1);
			float f;
			memcpy(&f, &c[r][i], 4);
			double v = (double)f;

			for (unsigned k = 0; k < 16; k++)
				v += ma[row][k] * mb[k][col];
			f = (float)v;
			memcpy(&d[r][i], &f, 4);
			if (f != f)
				d[r][i] = 0x7fffffffu;
		}
}
