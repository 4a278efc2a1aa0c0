/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* GELU of halves, in the form with a hyperbolic tangent: x (1 + tanh(x (0.0357 x^2 + 0.798))) / 2.
 * Pairs of them, eight a thread; the polynomial in halves, the rest in floats. */
// exec: gelu --grid 2 --block 256 u16[7200]:rand(1) u16[7200]:zero u32:3500
#include "heddle_cuda.h"

#define EACH 8

HD u32 fma_halves(u32 a, u32 b, u32 c)
{
	u32 r;
	asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
	return r;
}

HD void floats_of(u32 halves, float *low, float *high)
{
	asm("{\n\t.reg .b16 l, h;\n\tmov.b32 {l, h}, %2;\n\tcvt.f32.f16 %0, l;\n\t"
	    "cvt.f32.f16 %1, h;\n\t}"
		: "=f"(*low), "=f"(*high)
		: "r"(halves));
}

HD u32 halves_of(float low, float high)
{
	u32 r;
	asm("{\n\t.reg .b16 l, h;\n\tcvt.rn.f16.f32 l, %1;\n\tcvt.rn.f16.f32 h, %2;\n\t"
	    "mov.b32 %0, {l, h};\n\t}"
		: "=r"(r)
		: "f"(low), "f"(high));
	return r;
}

/* tanh(t) is 1 - 2 / (e^2t + 1), so half of it and of 1 is 1 - 1 / (e^2t + 1). */
HD float scaled(float x, float t)
{
	return x * (1.0f - __frcp_rn(__expf(t + t) + 1.0f));
}

HD u32 gelu_of(u32 x)
{
	u32 none = 0x80008000; /* -0 */
	u32 square = fma_halves(x, x, none);
	u32 t = fma_halves(
		x, fma_halves(square, 0x28912891 /* 0.03568 */, 0x3a623a62 /* 0.798 */), none);
	float x0, x1, t0, t1;
	floats_of(x, &x0, &x1);
	floats_of(t, &t0, &t1);
	return halves_of(scaled(x0, t0), scaled(x1, t1));
}

KERNEL gelu(const u32 *in, u32 *out, u32 pairs)
{
	u32 first = blockIdx.x * blockDim.x * EACH + threadIdx.x;
#pragma unroll
	for (u32 k = 0; k < EACH; k++) {
		u32 i = first + k * blockDim.x;
		if (i < pairs)
			out[i] = gelu_of(in[i]);
	}
}
