/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Narrow floating-point formats, by their bits, with the same results on every host. Conversion
 * from double rounds once, in any rounding direction. A double has more than twice the precision of
 * these formats. So a sum or a product that is computed in double and then converted is correctly
 * rounded. This does not hold for an fma, which needs fma_odd in vec_half.c. */
#ifndef HEDDLE_VGPU_HALF_H
#define HEDDLE_VGPU_HALF_H

#include "dev/cpu/code.h"

#include <string.h>

struct half_format {
	unsigned exp_bits, frac_bits;
	/* false if the largest exponent is also used for numbers, and only all ones is NaN
	 * (e4m3) */
	bool has_inf;
};
static const struct half_format HALF_F16 = {5, 10, true}, HALF_BF16 = {8, 7, true},
				HALF_TF32 = {8, 10, true}, HALF_E4M3 = {4, 3, false},
				HALF_E5M2 = {5, 2, true};

static inline float half_to_f32(uint32_t h, struct half_format f)
{
	uint32_t bias = (1u << (f.exp_bits - 1)) - 1, top = (1u << f.exp_bits) - 1;
	uint32_t e = h >> f.frac_bits & top, m = h & ((1u << f.frac_bits) - 1);
	uint32_t sign = h >> (f.exp_bits + f.frac_bits) & 1, u;
	float v;

	if (e == top && (f.has_inf || m == (1u << f.frac_bits) - 1)) {
		u = m ? 0x7fffffffu : sign << 31 | 0x7f800000u;
		memcpy(&v, &u, 4);
		return v;
	}
	if (e) {
		u = sign << 31 | (e + 127 - bias) << 23 | m << (23 - f.frac_bits);
		if (f.exp_bits == 8)
			u = sign << 31 | e << 23 | m << (23 - f.frac_bits);
		memcpy(&v, &u, 4);
		return v;
	}
	/* Subnormal: m times the smallest subnormal. */
	v = (float)m;
	u = f.exp_bits == 8 ? 0 : (127 - (bias - 1) - f.frac_bits) << 23;
	if (f.exp_bits == 8) {
		u = sign << 31 | m << (23 - f.frac_bits);
		memcpy(&v, &u, 4);
		return v;
	}
	memcpy(&e, &v, 4);
	{
		float unit;

		memcpy(&unit, &u, 4);
		v *= unit;
	}
	return sign ? -v : v;
}

/* Returns true if a value is rounded up (away from zero). `rest` is the part below the last kept
 * bit, and `half` is one half of that bit's unit. */
static inline bool half_round_up(unsigned round, bool sign, bool odd, uint64_t rest, uint64_t half)
{
	switch (round) {
	case VR_RZ:
		return false;
	case VR_RM:
		return sign && rest;
	case VR_RP:
		return !sign && rest;
	case VR_RNA:
		return rest >= half;
	default:
		return rest > half || (rest == half && odd);
	}
}

/* Returns the bits of v in a format. If `saturate` is set or rounding is towards zero, overflow
 * gives the largest number. Otherwise it gives infinity, or NaN if the format has no infinity. An
 * infinite v stays infinite, or gives the largest number if saturate is set or the format has no
 * infinity. */
static inline uint32_t half_bits(double v, struct half_format f, unsigned round, bool saturate)
{
	int bias = (1 << (f.exp_bits - 1)) - 1, e;
	uint64_t u, m, rest, half;
	uint32_t sign, top = (1u << f.exp_bits) - 1, r, max;
	unsigned shift;

	memcpy(&u, &v, 8);
	sign = (uint32_t)(u >> 63) << (f.exp_bits + f.frac_bits);
	max = f.has_inf ? (top << f.frac_bits) - 1
			: (top << f.frac_bits | ((1u << f.frac_bits) - 2));
	if (v != v)
		return (top << f.frac_bits) | ((1u << f.frac_bits) - 1);
	if ((u & 0x7fffffffffffffffull) == 0x7ff0000000000000ull)
		return sign | (saturate || !f.has_inf ? max : top << f.frac_bits);
	e = (int)(u >> 52 & 0x7ff) - 1023;
	m = (u & 0xfffffffffffffull) | (u >> 52 & 0x7ff ? 1ull << 52 : 0);
	shift = 52 - f.frac_bits;
	if (e < 1 - bias) { /* subnormal in the format */
		shift += (unsigned)(1 - bias - e) < 64 ? (unsigned)(1 - bias - e) : 64;
		e = 1 - bias;
		m = m;
	}
	if (shift > 62) {
		rest = m ? 1 : 0;
		half = 2;
		r = 0;
	} else {
		rest = m & ((1ull << shift) - 1);
		half = 1ull << (shift - 1);
		r = (uint32_t)(m >> shift);
	}
	if (half_round_up(round, sign != 0, r & 1, rest, half))
		r++;
	/* A carry out of the fraction increments the exponent, as it should. */
	if (e > 1 - bias || r >> f.frac_bits)
		r += (uint32_t)(e + bias - 1) << f.frac_bits;
	if (r > max) {
		bool towards_zero =
			round == VR_RZ || (round == VR_RM && !sign) || (round == VR_RP && sign);

		r = saturate || towards_zero ? max : top << f.frac_bits;
		if (!f.has_inf && !saturate && !towards_zero)
			r = top << f.frac_bits | ((1u << f.frac_bits) - 1);
	}
	return sign | r;
}

static inline uint16_t half_from_f64(double v, struct half_format f, unsigned round)
{
	return (uint16_t)half_bits(v, f, round, false);
}

#endif
