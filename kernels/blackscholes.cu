/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Black-Scholes: prices of European options, calls and puts. price, strike, years: numbers from 0
 * to 1, which stand for 5 to 30, 1 to 100 and 0.25 to 10. All options are gone through with the
 * grid's stride. */
// exec: blackscholes --grid 12 --block 64 f32[3000]:rand(1) f32[3000]:rand(2) f32[3000]:rand(3) f32[3000]:zero f32[3000]:zero u32:3000 f32:0.02 f32:0.3
// exec: blackscholes --grid 5,3 --block 128 f32[2000]:rand(4) f32[2000]:rand(5) f32[2000]:rand(6) f32[2000]:zero f32[2000]:zero u32:2000 f32:0.05 f32:0.1
// exec: blackscholes --grid 30 --block 64 f32[1001]:rand(7) f32[1001]:rand(8) f32[1001]:const(0.5) f32[1001]:zero f32[1001]:zero u32:1001 f32:0.01 f32:0.6
#include "heddle_cuda.h"

/* The normal distribution's integral up to d, within 1e-6 (a polynomial of five terms). */
HD float normal(float d)
{
	float at = fabsf(d), k = 1.0f / (1.0f + 0.2316419f * at);
	float p = 1.330274429f;
	p = fmaf(p, k, -1.821255978f);
	p = fmaf(p, k, 1.781477937f);
	p = fmaf(p, k, -0.356563782f);
	p = fmaf(p, k, 0.31938153f);
	float upper = 0.39894228f * expf(-0.5f * at * at) * p * k;
	return d > 0.0f ? 1.0f - upper : upper;
}

KERNEL blackscholes(const float *price, const float *strike, const float *years, float *call,
	float *put, u32 n, float rate, float volatility)
{
	u32 first = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
	u32 stride = gridDim.y * gridDim.x * blockDim.x;
	for (u32 i = first; i < n; i += stride) {
		float s = 5.0f + 25.0f * price[i], x = 1.0f + 99.0f * strike[i];
		float t = 0.25f + 9.75f * years[i];
		float spread = volatility * sqrtf(t);
		float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread;
		float d2 = d1 - spread, discounted = x * expf(-rate * t);
		float up1 = normal(d1), up2 = normal(d2);
		call[i] = s * up1 - discounted * up2;
		put[i] = discounted * (1.0f - up2) - s * (1.0f - up1);
	}
}
