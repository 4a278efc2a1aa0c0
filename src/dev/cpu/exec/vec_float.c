/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Floating-point arithmetic on 32 lanes. Results are those of IEEE 754 in the instruction's
 * rounding mode; fma rounds once. .ftz flushes operands and results; .sat clamps to [0, 1]. NaN
 * results have the same bits as on the hardware. */
#include "vec.h"

/* fz (flush) and st (saturate) are constants in each copy of the loop. */
#define F32_LOOP(LOADS, fz, st, expr)                       \
	do {                                                \
		if (m == ~0u)                               \
			EACH                                \
			{                                   \
				LOADS(fz);                  \
				F32_OUT(fz, st, expr);      \
				pd[i] = r;                  \
			}                                   \
		else                                        \
			EACH                                \
			{                                   \
				LOADS(fz);                  \
				F32_OUT(fz, st, expr);      \
				pd[i] = BIT(m) ? r : pd[i]; \
			}                                   \
	} while (0)
#define F32_OUT(fz, st, expr)      \
	f32 r = canon32(expr);     \
	r = (fz) ? flush32(r) : r; \
	r = (st) ? sat32(r) : r
#define F32_IN(p, fz) ((fz) ? flush32(p[i]) : p[i])
#define F32_1(fz)     f32 a = F32_IN(pa, fz)
#define F32_2(fz)     f32 a = F32_IN(pa, fz), b = F32_IN(pb, fz)
#define F32_3(fz)     f32 a = F32_IN(pa, fz), b = F32_IN(pb, fz), c = F32_IN(pc, fz)

#define F32_OP(name, LOADS, expr)                                                  \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const f32 *pa = ALIGN(VX_PTR(x, in->a));                           \
		const f32 *pb = ALIGN(VX_PTR(x, in->b));                           \
		const f32 *pc = ALIGN(VX_PTR(x, in->c));                           \
		f32 *pd = ALIGN(VX_PTR(x, in->d));                                 \
		u32 m = x->mask;                                                   \
                                                                                   \
		(void)pb, (void)pc;                                                \
		round_begin(in);                                                   \
		switch (in->flags & (VI_FTZ | VI_SAT)) {                           \
		case 0:                                                            \
			F32_LOOP(LOADS, false, false, expr);                       \
			break;                                                     \
		case VI_FTZ:                                                       \
			F32_LOOP(LOADS, true, false, expr);                        \
			break;                                                     \
		case VI_SAT:                                                       \
			F32_LOOP(LOADS, false, true, expr);                        \
			break;                                                     \
		default:                                                           \
			F32_LOOP(LOADS, true, true, expr);                         \
			break;                                                     \
		}                                                                  \
		round_end(in);                                                     \
		return in + 1;                                                     \
	}

#define F64_OP(name, LOADS, expr)                                                  \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const f64 *pa = ALIGN(VX_PTR(x, in->a));                           \
		const f64 *pb = ALIGN(VX_PTR(x, in->b));                           \
		const f64 *pc = ALIGN(VX_PTR(x, in->c));                           \
		f64 *pd = ALIGN(VX_PTR(x, in->d));                                 \
		u32 m = x->mask;                                                   \
                                                                                   \
		(void)pb, (void)pc;                                                \
		round_begin(in);                                                   \
		EACH                                                               \
		{                                                                  \
			LOADS(false);                                              \
			f64 r = canon64(expr);                                     \
			r = in->flags & VI_SAT ? sat64(r) : r;                     \
			pd[i] = BIT(m) ? r : pd[i];                                \
		}                                                                  \
		round_end(in);                                                     \
		return in + 1;                                                     \
	}
#define F64_1(fz) f64 a = pa[i]
#define F64_2(fz) f64 a = pa[i], b = pb[i]
#define F64_3(fz) f64 a = pa[i], b = pb[i], c = pc[i]

/* If one operand is NaN, returns the other; -0 is less than +0. */
INLINE f32 min_f32(f32 a, f32 b)
{
	f32 r = a < b ? a : b < a ? b : bits_f32(f32_bits(a) | f32_bits(b));
	return a != a ? b : b != b ? a : r;
}
INLINE f32 max_f32(f32 a, f32 b)
{
	f32 r = a > b ? a : b > a ? b : bits_f32(f32_bits(a) & f32_bits(b));
	return a != a ? b : b != b ? a : r;
}
INLINE f64 min_f64(f64 a, f64 b)
{
	f64 r = a < b ? a : b < a ? b : bits_f64(f64_bits(a) | f64_bits(b));
	return a != a ? b : b != b ? a : r;
}
INLINE f64 max_f64(f64 a, f64 b)
{
	f64 r = a > b ? a : b > a ? b : bits_f64(f64_bits(a) & f64_bits(b));
	return a != a ? b : b != b ? a : r;
}
INLINE f32 nan_if(f32 r, f32 a, f32 b)
{
	return a != a || b != b ? bits_f32(0x7fffffffu) : r;
}
INLINE f32 xorsign(f32 r, f32 a, f32 b)
{
	return bits_f32((f32_bits(r) & 0x7fffffffu) | ((f32_bits(a) ^ f32_bits(b)) & 0x80000000u));
}
INLINE f32 abs_f32(f32 a)
{
	return bits_f32(f32_bits(a) & 0x7fffffffu);
}

/* div.approx multiplies by the divisor's reciprocal. Of a divisor above 2^126 that is subnormal, and
 * the GPU's reciprocals are never subnormal but zero (PTX ISA, div). */
INLINE f32 div_approx(f32 a, f32 b)
{
	return abs_f32(b) > 0x1p126f ? a * __builtin_copysignf(0.0f, b) : a / b;
}
/* Operands and results of approximations of f64 with .ftz: the upper 32 bits count, subnormals are
 * zero, and the lower 32 bits of a result are 0 (PTX ISA, rcp.approx.ftz.f64). */
INLINE f64 upper(f64 a)
{
	u64 v = f64_bits(a) & 0xffffffff00000000ull;

	return bits_f64(v & 0x7ff0000000000000ull ? v : v & 1ull << 63);
}
/* Keeps a NaN even if its set fraction bits are all in the lower half. */
INLINE f64 upper_of(f64 a, f64 r)
{
	return a == a ? upper(r) : a;
}

#define OPS32(X)                                                                                  \
	X(add_f32, F32_2, a + b)                                                                  \
	X(sub_f32, F32_2, a - b)                                                                  \
	X(div_f32, F32_2, a / b)                                                                  \
	X(div_approx_f32, F32_2, div_approx(a, b))                                                \
	X(rcp_f32, F32_1, 1.0f / a)                                                               \
	X(sqrt_f32, F32_1, __builtin_sqrtf(a))                                                    \
	X(rsqrt_f32, F32_1, (f32)(1.0 / __builtin_sqrt((f64)a)))                                  \
	X(neg_f32, F32_1, bits_f32(f32_bits(a) ^ 0x80000000u))                                    \
	X(abs_f32, F32_1, bits_f32(f32_bits(a) & 0x7fffffffu))                                    \
	X(min_f32, F32_2, min_f32(a, b))                                                          \
	X(max_f32, F32_2, max_f32(a, b))                                                          \
	X(min_nan_f32, F32_2, nan_if(min_f32(a, b), a, b))                                        \
	X(max_nan_f32, F32_2, nan_if(max_f32(a, b), a, b))                                        \
	X(min_xorsign_f32, F32_2, xorsign(min_f32(abs_f32(a), abs_f32(b)), a, b))                 \
	X(max_xorsign_f32, F32_2, xorsign(max_f32(abs_f32(a), abs_f32(b)), a, b))                 \
	X(min_nan_xorsign_f32, F32_2,                                                             \
		nan_if(xorsign(min_f32(abs_f32(a), abs_f32(b)), a, b), a, b))                     \
	X(max_nan_xorsign_f32, F32_2,                                                             \
		nan_if(xorsign(max_f32(abs_f32(a), abs_f32(b)), a, b), a, b))                     \
	X(min3_f32, F32_3, min_f32(min_f32(a, b), c))                                             \
	X(max3_f32, F32_3, max_f32(max_f32(a, b), c))                                             \
	X(min3_nan_f32, F32_3, nan_if(nan_if(min_f32(min_f32(a, b), c), a, b), c, c))             \
	X(max3_nan_f32, F32_3, nan_if(nan_if(max_f32(max_f32(a, b), c), a, b), c, c))             \
	X(min3_abs_f32, F32_3, min_f32(min_f32(abs_f32(a), abs_f32(b)), abs_f32(c)))              \
	X(max3_abs_f32, F32_3, max_f32(max_f32(abs_f32(a), abs_f32(b)), abs_f32(c)))              \
	X(min3_nan_abs_f32, F32_3,                                                                \
		nan_if(nan_if(min_f32(min_f32(abs_f32(a), abs_f32(b)), abs_f32(c)), a, b), c, c)) \
	X(max3_nan_abs_f32, F32_3,                                                                \
		nan_if(nan_if(max_f32(max_f32(abs_f32(a), abs_f32(b)), abs_f32(c)), a, b), c, c))

#define OPS64(X)                                                                \
	X(add_f64, F64_2, a + b)                                                \
	X(sub_f64, F64_2, a - b)                                                \
	X(mul_f64, F64_2, a *b)                                                 \
	X(fma_f64, F64_3, __builtin_fma(a, b, c))                               \
	X(div_f64, F64_2, a / b)                                                \
	X(rcp_f64, F64_1, 1.0 / a)                                              \
	X(sqrt_f64, F64_1, __builtin_sqrt(a))                                   \
	X(rsqrt_f64, F64_1, 1.0 / __builtin_sqrt(a))                            \
	X(rcp_approx_f64, F64_1, upper_of(a, 1.0 / upper(a)))                   \
	X(rsqrt_approx_f64, F64_1, upper_of(a, 1.0 / __builtin_sqrt(upper(a)))) \
	X(neg_f64, F64_1, bits_f64(f64_bits(a) ^ (1ull << 63)))                 \
	X(abs_f64, F64_1, bits_f64(f64_bits(a) & ~(1ull << 63)))                \
	X(min_f64, F64_2, min_f64(a, b))                                        \
	X(max_f64, F64_2, max_f64(a, b))

/* Products with .ftz. .ftz flushes a result that would be below the smallest normal number if it
 * were rounded with unlimited exponent range. But a subnormal has fewer bits, so rounding can raise
 * such a result to the smallest normal number. Therefore a result that equals it is checked again
 * with `scaled`, the same expression times 2^64, where nothing is subnormal. Few lanes ever need
 * this check. */
#define SMALLEST(r) ((f32_bits(r) & 0x7fffffffu) == 0x00800000u)
#define F32_FLUSHED(LOADS, st, expr, scaled)                                       \
	do {                                                                       \
		_Alignas(64) f32 out[LANES];                                       \
		u32 edge = 0;                                                      \
                                                                                   \
		EACH                                                               \
		{                                                                  \
			LOADS(true);                                               \
			out[i] = flush32(canon32(expr));                           \
			edge |= SMALLEST(out[i]);                                  \
		}                                                                  \
		for (int i = 0; edge && i < LANES; i++) {                          \
			LOADS(true);                                               \
			if (SMALLEST(out[i]) && abs_f32(scaled) < 0x1p-62f)        \
				out[i] = bits_f32(f32_bits(out[i]) & 0x80000000u); \
		}                                                                  \
		EACH                                                               \
		{                                                                  \
			f32 r = (st) ? sat32(out[i]) : out[i];                     \
			pd[i] = BIT(m) ? r : pd[i];                                \
		}                                                                  \
	} while (0)

#define F32_PRODUCT(name, LOADS, expr, scaled)                                     \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const f32 *pa = ALIGN(VX_PTR(x, in->a));                           \
		const f32 *pb = ALIGN(VX_PTR(x, in->b));                           \
		const f32 *pc = ALIGN(VX_PTR(x, in->c));                           \
		f32 *pd = ALIGN(VX_PTR(x, in->d));                                 \
		u32 m = x->mask;                                                   \
                                                                                   \
		(void)pc;                                                          \
		round_begin(in);                                                   \
		if (in->flags & VI_FTZ && in->flags & VI_SAT)                      \
			F32_FLUSHED(LOADS, true, expr, scaled);                    \
		else if (in->flags & VI_FTZ)                                       \
			F32_FLUSHED(LOADS, false, expr, scaled);                   \
		else if (in->flags & VI_SAT)                                       \
			F32_LOOP(LOADS, false, true, expr);                        \
		else                                                               \
			F32_LOOP(LOADS, false, false, expr);                       \
		round_end(in);                                                     \
		return in + 1;                                                     \
	}

/* Computes (a * b + c) * 2^64. The caller uses the result only if a * b + c is the smallest normal
 * number. Then c and the smaller factor are small enough that scaling them by 2^64 cannot
 * overflow. */
INLINE f32 fma_scaled(f32 a, f32 b, f32 c)
{
	bool first = abs_f32(a) < abs_f32(b);

	return __builtin_fmaf(first ? a * 0x1p64f : a, first ? b : b * 0x1p64f, c * 0x1p64f);
}
#define PRODUCTS32(X)                                            \
	X(mul_f32, F32_2, a *b, (f32)((f64)a * (f64)b * 0x1p64)) \
	X(fma_f32, F32_3, __builtin_fmaf(a, b, c), fma_scaled(a, b, c))

PRODUCTS32(F32_PRODUCT)
OPS32(F32_OP)
OPS64(F64_OP)

/* Returns b with the sign of a. */
VOP2(copysign_f32, u32, u32, u32, (a & 0x80000000u) | (b & 0x7fffffffu))
VOP2(copysign_f64, u64, u64, u64, (a & 1ull << 63) | (b & ~(1ull << 63)))

VEC_TABLE(vgpu_vec_float) = {PRODUCTS32(VOP_ENTRY) OPS32(VOP_ENTRY) OPS64(VOP_ENTRY)
		VOP_ENTRY(copysign_f32) VOP_ENTRY(copysign_f64){NULL, NULL}};
