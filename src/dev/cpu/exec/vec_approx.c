/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The approximate functions, for which the hardware only guarantees an error bound. Here results
 * are computed in double precision and rounded once, so the error is hardly more than half a unit
 * in the last place (except for sin and cos of 2^30 and above). They are the same on every host,
 * because the code uses no library function and no contraction.
 * - ex2: 2^n * P(f), f in [-1/2, 1/2]
 * - lg2: exponent + odd series in (m-1)/(m+1)
 * - sin, cos: two-part reduction by pi/2, exact enough up to 2^30, then polynomials
 * - tanh: (e - 1) / (e + 1), e = ex2(2x log2 e), and a series where x is small */
#include "vec.h"

INLINE f64 pow2(s32 n)
{
	return bits_f64((u64)(1023 + n) << 52);
}

/* Rounds to the nearest integer, ties to even. |v| must be below 2^51. */
INLINE f64 nearest(f64 v)
{
	return (v + 0x1.8p52) - 0x1.8p52;
}

/* Returns 2^v for v in [-1000, 1000]. */
INLINE f64 exp2_core(f64 v)
{
	f64 n = nearest(v), f = (v - n) * 0.693147180559945309417;
	f64 p = 1.0 / 39916800.0;

	p = p * f + 1.0 / 3628800.0;
	p = p * f + 1.0 / 362880.0;
	p = p * f + 1.0 / 40320.0;
	p = p * f + 1.0 / 5040.0;
	p = p * f + 1.0 / 720.0;
	p = p * f + 1.0 / 120.0;
	p = p * f + 1.0 / 24.0;
	p = p * f + 1.0 / 6.0;
	p = p * f + 0.5;
	p = p * f + 1.0;
	p = p * f + 1.0;
	return p * pow2((s32)n);
}

INLINE f32 ex2(f32 a)
{
	f64 v = a < -200.0f ? -200.0 : a > 200.0f ? 200.0 : (f64)a;

	v = a == a ? v : 0.0;
	return a == a ? (f32)exp2_core(v) : a;
}

INLINE f32 lg2(f32 a)
{
	f64 v = a > 0.0f && a <= 0x1.fffffep127f ? (f64)a : 1.0;
	u64 u = f64_bits(v);
	/* v = m * 2^e, with m in [sqrt(1/2), sqrt(2)) */
	u64 shifted = u - 0x3fe6a09e667f3bcdull;
	s64 e = (s64)shifted >> 52;
	f64 m = bits_f64(u - ((u64)e << 52));
	f64 s = (m - 1.0) / (m + 1.0), q = s * s;
	f64 p = 1.0 / 19.0, r;

	p = p * q + 1.0 / 17.0;
	p = p * q + 1.0 / 15.0;
	p = p * q + 1.0 / 13.0;
	p = p * q + 1.0 / 11.0;
	p = p * q + 1.0 / 9.0;
	p = p * q + 1.0 / 7.0;
	p = p * q + 1.0 / 5.0;
	p = p * q + 1.0 / 3.0;
	p = p * q + 1.0;
	r = (f64)(s32)e + 2.0 * s * p * 1.44269504088896340736;
	if (a == 0.0f)
		return -INFINITY;
	if (a < 0.0f || a != a)
		return NAN;
	return a > 0x1.fffffep127f ? a : (f32)r;
}

/* Returns sin(a + quarter * pi/2). */
INLINE f32 sine(f32 a, s32 quarter)
{
	f64 v = a < 0.0f ? -(f64)a : (f64)a, n, r, q, s, c;
	bool fits = v < 0x1p30;
	s32 k;

	v = fits ? (f64)a : 0.0;
	n = nearest(v * 0.636619772367581343076);
	r = v - n * 1.57079632679489655800;
	r = r - n * 6.12323399573676603587e-17;
	q = r * r;
	s = -1.0 / 1307674368000.0;
	s = s * q + 1.0 / 6227020800.0;
	s = s * q - 1.0 / 39916800.0;
	s = s * q + 1.0 / 362880.0;
	s = s * q - 1.0 / 5040.0;
	s = s * q + 1.0 / 120.0;
	s = s * q - 1.0 / 6.0;
	s = s * q * r + r;
	c = 1.0 / 20922789888000.0;
	c = c * q - 1.0 / 87178291200.0;
	c = c * q + 1.0 / 479001600.0;
	c = c * q - 1.0 / 3628800.0;
	c = c * q + 1.0 / 40320.0;
	c = c * q - 1.0 / 720.0;
	c = c * q + 1.0 / 24.0;
	c = c * q - 0.5;
	c = c * q + 1.0;
	k = ((s32)n + quarter) & 3;
	r = k & 1 ? c : s;
	r = k & 2 ? -r : r;
	if (a != a || a - a != 0.0f)
		return NAN;
	/* sin of zero is zero with the same sign. Very large arguments, for which PTX guarantees no
	 * error bound, are treated as 0. */
	return a == 0.0f && !quarter ? a : (f32)r;
}

INLINE f32 tanh_approx(f32 a)
{
	f64 v = a, q = v * v, e, small, r;

	v = v > 20.0 ? 20.0 : v < -20.0 ? -20.0 : v;
	v = a == a ? v : 0.0;
	e = exp2_core(v * (2.0 * 1.44269504088896340736));
	r = (e - 1.0) / (e + 1.0);
	small = (f64)a *
		(1.0 - q * (1.0 / 3.0) + q * q * (2.0 / 15.0) - q * q * q * (17.0 / 315.0));
	r = q < 1e-4 ? small : r;
	return a == a ? (f32)r : a;
}

#define APPROX(name, expr)                                                         \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const f32 *pa = ALIGN(VX_PTR(x, in->a));                           \
		f32 *pd = ALIGN(VX_PTR(x, in->d));                                 \
		u32 m = x->mask;                                                   \
		bool fz = in->flags & VI_FTZ;                                      \
                                                                                   \
		EACH                                                               \
		{                                                                  \
			f32 a = fz ? flush32(pa[i]) : pa[i];                       \
			f32 r = canon32(expr);                                     \
			r = fz ? flush32(r) : r;                                   \
			pd[i] = BIT(m) ? r : pd[i];                                \
		}                                                                  \
		return in + 1;                                                     \
	}
#define OPS(X)                 \
	X(ex2_f32, ex2(a))     \
	X(lg2_f32, lg2(a))     \
	X(sin_f32, sine(a, 0)) \
	X(cos_f32, sine(a, 1)) \
	X(tanh_f32, tanh_approx(a))
OPS(APPROX)

VEC_TABLE(vgpu_vec_approx) = {OPS(VOP_ENTRY){NULL, NULL}};
