/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Arithmetic and conversions of f16, bf16 and their pairs. Each operation is computed once in
 * double precision and rounded once to the format. If the double sum of an fma is inexact, it is
 * rounded to odd, so that the second rounding is right. */
#include "vec.h"

#include "half.h"

/* Returns a * b + c, exact or rounded to odd. The product alone is exact in a double. */
INLINE f64 fma_odd(f64 a, f64 b, f64 c)
{
	f64 p = a * b, s = p + c, t = s - p, err;
	u64 u;

	err = (p - (s - t)) + (c - t);
	u = f64_bits(s);
	if (err != 0.0 && !(u & 1) && s - s == 0.0) {
		/* Round towards zero, then set the last bit (round to odd). */
		bool away = (err < 0.0) == (s > 0.0);
		u = away ? u - 1 : u;
		u |= 1;
		s = bits_f64(u);
	}
	return s;
}

INLINE f64 relu(f64 v)
{
	return v > 0.0 || v != v ? v : 0.0;
}

/* Flushes a result for .ftz. .ftz flushes a result that would be below the smallest normal number
 * if it were rounded with unlimited exponent range. But a subnormal has fewer bits, so rounding can
 * raise such a result to the smallest normal number. Therefore a result that equals it is checked
 * again with 4 * v, which is not subnormal. */
INLINE u32 flushed(const struct vinsn *in, u32 r, f64 v, struct half_format f)
{
	u32 sign = 1u << (f.exp_bits + f.frac_bits), least = 1u << f.frac_bits;

	if ((r & (sign - 1)) < least)
		return r & sign;
	if ((r & (sign - 1)) == least &&
		(half_bits(4.0 * v, f, in->round, false) & (sign - 1)) < 3 * least)
		return r & sign;
	return r;
}

INLINE u32 one(const struct vinsn *in, f64 v, struct half_format f)
{
	u32 r;

	if (in->flags & VI_SAT)
		v = sat64(v);
	r = half_bits(v, f, in->round, false);
	return in->flags & VI_FTZ ? flushed(in, r, v, f) : r;
}

INLINE f64 in_half(const struct vinsn *in, u32 h, struct half_format f)
{
	if (in->flags & VI_FTZ && !(h >> f.frac_bits & ((1u << f.exp_bits) - 1)))
		h &= 1u << (f.exp_bits + f.frac_bits);
	return (f64)half_to_f32(h, f);
}

INLINE u32 narrowed(const struct vinsn *in, f64 v, struct half_format f)
{
	if (in->flags & VI_SAT)
		v = sat64(v);
	return half_bits(v, f, in->round, in->flags & VI_FINITE);
}

/* Converts f64 to a narrow format. A NaN keeps its sign and the upper bits of its fraction, and
 * becomes quiet. */
INLINE u32 narrowed64(const struct vinsn *in, f64 v, struct half_format f)
{
	u64 u = f64_bits(v), kept = (u & 0xfffffffffffffull) >> (52 - f.frac_bits);

	if (v == v || in->flags & VI_SAT)
		return narrowed(in, v, f);
	return (u32)(u >> 63) << 15 | ((1u << f.exp_bits) - 1) << f.frac_bits |
	       1u << (f.frac_bits - 1) | (u32)kept;
}

/* Converts to tf32, whose bits are the upper bits of a 32-bit float. The hardware implements .rna
 * as an integer addition. So a NaN keeps the bits that remain in tf32, and .satfinite subtracts one
 * unit of the last of these bits from a NaN. */
INLINE u32 tf32(const struct vinsn *in, f32 v)
{
	if (v != v && in->round == VR_RNA)
		return (f32_bits(v) & ~0x1fffu) - (in->flags & VI_FINITE ? 0x2000 : 0);
	return narrowed(in, (f64)v, HALF_TF32) << 13;
}

INLINE f32 maybe_flushed(const struct vinsn *in, f32 v)
{
	return in->flags & VI_FTZ ? flush32(v) : v;
}

/* Widens a half to f32. A bf16 without .ftz and .sat is only shifted up, also if it is a NaN. */
INLINE f32 wide(const struct vinsn *in, u32 h, struct half_format f)
{
	f32 v = half_to_f32(h, f);

	if (f.exp_bits == 8 && !(in->flags & (VI_FTZ | VI_SAT)))
		return bits_f32(h << 16);
	v = maybe_flushed(in, v);
	return in->flags & VI_SAT ? sat32(v) : v;
}

INLINE f64 min_num(f64 a, f64 b, bool nan)
{
	if (a != a || b != b)
		return nan ? NAN : a != a ? b : a;
	return a < b || (a == b && __builtin_signbit(a)) ? a : b;
}
INLINE f64 max_num(f64 a, f64 b, bool nan)
{
	if (a != a || b != b)
		return nan ? NAN : a != a ? b : a;
	return a > b || (a == b && !__builtin_signbit(a)) ? a : b;
}

/* Returns v with the sign of a product of two halves. `signs` is the xor of the two halves' bits,
 * so bit 15 is that sign. */
INLINE f64 xorsign(f64 v, u32 signs)
{
	return v != v ? v : __builtin_copysign(v, signs & 0x8000 ? -1.0 : 1.0);
}

#define HALF_OP(name, FORMAT, PARTS, expr)                                         \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const u32 *pa = VX_PTR(x, in->a), *pb = VX_PTR(x, in->b);          \
		const u32 *pc = VX_PTR(x, in->c);                                  \
		u32 *pd = VX_PTR(x, in->d), m = x->mask;                           \
                                                                                   \
		for (int i = 0; i < LANES; i++) {                                  \
			u32 r = 0;                                                 \
			if (!BIT(m))                                               \
				continue;                                          \
			for (int k = 0; k < (PARTS)*16; k += 16) {                 \
				f64 a = in_half(in, pa[i] >> k & 0xffff, FORMAT);  \
				f64 b = in_half(in, pb[i] >> k & 0xffff, FORMAT);  \
				f64 c = in_half(in, pc[i] >> k & 0xffff, FORMAT);  \
				u32 signs = (pa[i] ^ pb[i]) >> k;                  \
				(void)b, (void)c, (void)signs;                     \
				r |= one(in, expr, FORMAT) << k;                   \
			}                                                          \
			pd[i] = r;                                                 \
		}                                                                  \
		return in + 1;                                                     \
	}

#define ABS(v) __builtin_fabs(v)
#define OPS(X, T, F, N)                                                             \
	X(add_##T, F, N, a + b)                                                     \
	X(sub_##T, F, N, a - b)                                                     \
	X(mul_##T, F, N, a *b)                                                      \
	X(fma_##T, F, N, fma_odd(a, b, c))                                          \
	X(fma_relu_##T, F, N, relu(fma_odd(a, b, c)))                               \
	X(neg_##T, F, N, -a)                                                        \
	X(abs_##T, F, N, ABS(a))                                                    \
	X(min_##T, F, N, min_num(a, b, false))                                      \
	X(max_##T, F, N, max_num(a, b, false))                                      \
	X(min_nan_##T, F, N, min_num(a, b, true))                                   \
	X(max_nan_##T, F, N, max_num(a, b, true))                                   \
	X(min_xorsign_##T, F, N, xorsign(min_num(ABS(a), ABS(b), false), signs))    \
	X(max_xorsign_##T, F, N, xorsign(max_num(ABS(a), ABS(b), false), signs))    \
	X(min_nan_xorsign_##T, F, N, xorsign(min_num(ABS(a), ABS(b), true), signs)) \
	X(max_nan_xorsign_##T, F, N, xorsign(max_num(ABS(a), ABS(b), true), signs))
#define ALL(X)                   \
	OPS(X, f16, HALF_F16, 1) \
	OPS(X, bf16, HALF_BF16, 1) OPS(X, f16x2, HALF_F16, 2) OPS(X, bf16x2, HALF_BF16, 2)
ALL(HALF_OP)

/* ---- to f32, also for comparisons; a bf16 can give a subnormal f32, which .ftz flushes ---- */
#define WIDEN(name, FORMAT)                                                        \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const u32 *pa = VX_PTR(x, in->a);                                  \
		f32 *pd = VX_PTR(x, in->d);                                        \
		u32 m = x->mask;                                                   \
                                                                                   \
		for (int i = 0; i < LANES; i++)                                    \
			pd[i] = BIT(m) ? wide(in, pa[i] & 0xffff, FORMAT) : pd[i]; \
		return in + 1;                                                     \
	}
WIDEN(cvt_f32_f16, HALF_F16)
WIDEN(cvt_f32_bf16, HALF_BF16)

/* Widens one half of a pair, which starts at bit in->size, or a single half, for operations in f32.
 * .ftz flushes the half. */
#define PICK(name, FORMAT)                                                            \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in)    \
	{                                                                             \
		const u32 *pa = VX_PTR(x, in->a);                                     \
		f32 *pd = VX_PTR(x, in->d);                                           \
                                                                                      \
		for (int i = 0; i < LANES; i++)                                       \
			pd[i] = (f32)in_half(in, pa[i] >> in->size & 0xffff, FORMAT); \
		return in + 1;                                                        \
	}
PICK(half_f16, HALF_F16)
PICK(half_bf16, HALF_BF16)

/* Converts a 64-bit integer to a double. A double has too few bits for some integers; if any of the
 * lost bits is 1, the double's lowest bit is set. So the double rounds to every narrow format as
 * the integer itself would. */
INLINE f64 odd_u64(u64 a)
{
	unsigned more = a >> 53 ? 11 - (unsigned)__builtin_clzll(a) : 0;
	u64 kept = a >> more;

	kept |= kept << more != a;
	return (f64)(s64)kept * (f64)(1ull << more);
}

INLINE f64 odd_s64(s64 a)
{
	return a < 0 ? -odd_u64(0 - (u64)a) : odd_u64((u64)a);
}

/* ---- conversions between half types and wider floats or integers ---- */
#define NARROW(name, S, FORMAT, expr)                                              \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const S *pa = VX_PTR(x, in->a), *pb = VX_PTR(x, in->b);            \
		u32 *pd = VX_PTR(x, in->d), m = x->mask;                           \
                                                                                   \
		(void)pb;                                                          \
		for (int i = 0; i < LANES; i++)                                    \
			if (BIT(m))                                                \
				pd[i] = (u32)(expr);                               \
		return in + 1;                                                     \
	}
/* .ftz flushes f32 operands (PTX ISA, cvt). The hardware does not flush if the result is f16. ptxas
 * accepts .ftz for bf16, but not for pairs or tf32. */
#define FROM(v, F)    narrowed(in, (f64)(v), F)
#define FROM_UP(v, F) narrowed(in, relu((f64)(v)), F)
#define CVTS(X)                                                                                  \
	X(cvt_f16_f32, f32, HALF_F16, FROM(pa[i], HALF_F16))                                     \
	X(cvt_f16_f64, f64, HALF_F16, narrowed64(in, pa[i], HALF_F16))                           \
	X(cvt_bf16_f32, f32, HALF_BF16, FROM(maybe_flushed(in, pa[i]), HALF_BF16))               \
	X(cvt_bf16_f64, f64, HALF_BF16, narrowed64(in, pa[i], HALF_BF16))                        \
	X(cvt_relu_f16_f32, f32, HALF_F16, FROM_UP(pa[i], HALF_F16))                             \
	X(cvt_relu_bf16_f32, f32, HALF_BF16, FROM_UP(pa[i], HALF_BF16))                          \
	X(cvt_f16x2_f32, f32, HALF_F16, FROM(pa[i], HALF_F16) << 16 | FROM(pb[i], HALF_F16))     \
	X(cvt_bf16x2_f32, f32, HALF_BF16, FROM(pa[i], HALF_BF16) << 16 | FROM(pb[i], HALF_BF16)) \
	X(cvt_relu_f16x2_f32, f32, HALF_F16,                                                     \
		FROM_UP(pa[i], HALF_F16) << 16 | FROM_UP(pb[i], HALF_F16))                       \
	X(cvt_relu_bf16x2_f32, f32, HALF_BF16,                                                   \
		FROM_UP(pa[i], HALF_BF16) << 16 | FROM_UP(pb[i], HALF_BF16))                     \
	X(cvt_tf32_f32, f32, HALF_TF32, tf32(in, pa[i]))                                         \
	X(cvt_relu_tf32_f32, f32, HALF_TF32, narrowed(in, relu(pa[i]), HALF_TF32) << 13)         \
	X(cvt_f16_u16, u32, HALF_F16, one(in, (u16)pa[i], HALF_F16))                             \
	X(cvt_f16_s16, u32, HALF_F16, one(in, (s16)pa[i], HALF_F16))                             \
	X(cvt_f16_u32, u32, HALF_F16, one(in, pa[i], HALF_F16))                                  \
	X(cvt_f16_s32, u32, HALF_F16, one(in, (s32)pa[i], HALF_F16))                             \
	X(cvt_f16_u8, u32, HALF_F16, one(in, (u8)pa[i], HALF_F16))                               \
	X(cvt_f16_s8, u32, HALF_F16, one(in, (s8)pa[i], HALF_F16))                               \
	X(cvt_f16_u64, u64, HALF_F16, one(in, odd_u64(pa[i]), HALF_F16))                         \
	X(cvt_f16_s64, u64, HALF_F16, one(in, odd_s64((s64)pa[i]), HALF_F16))                    \
	X(cvt_bf16_u16, u32, HALF_BF16, one(in, (u16)pa[i], HALF_BF16))                          \
	X(cvt_bf16_s16, u32, HALF_BF16, one(in, (s16)pa[i], HALF_BF16))                          \
	X(cvt_bf16_u32, u32, HALF_BF16, one(in, pa[i], HALF_BF16))                               \
	X(cvt_bf16_s32, u32, HALF_BF16, one(in, (s32)pa[i], HALF_BF16))                          \
	X(cvt_bf16_u8, u32, HALF_BF16, one(in, (u8)pa[i], HALF_BF16))                            \
	X(cvt_bf16_s8, u32, HALF_BF16, one(in, (s8)pa[i], HALF_BF16))                            \
	X(cvt_bf16_u64, u64, HALF_BF16, one(in, odd_u64(pa[i]), HALF_BF16))                      \
	X(cvt_bf16_s64, u64, HALF_BF16, one(in, odd_s64((s64)pa[i]), HALF_BF16))                 \
	X(cvt_f16_f16, u32, HALF_F16, one(in, in_half(in, pa[i] & 0xffff, HALF_F16), HALF_F16))
CVTS(NARROW)

/* ---- pairs of 8-bit floats: the first of two f32 goes to the upper half ---- */
#define LOW(v, F)                half_to_f32((v)&0xffff, F)
#define BOTH(e, F, bits, hi, lo) (narrowed(in, e(hi), F) << (bits) | narrowed(in, e(lo), F))
#define EIGHT(X, T, F)                                                                             \
	X(cvt_##T##_f32, f32, F, BOTH(, F, 8, pa[i], pb[i]))                                       \
	X(cvt_relu_##T##_f32, f32, F, BOTH(relu, F, 8, pa[i], pb[i]))                              \
	X(cvt_##T##_f16x2, u32, F, BOTH(, F, 8, LOW(pa[i] >> 16, HALF_F16), LOW(pa[i], HALF_F16))) \
	X(cvt_relu_##T##_f16x2, u32, F,                                                            \
		BOTH(relu, F, 8, LOW(pa[i] >> 16, HALF_F16), LOW(pa[i], HALF_F16)))                \
	X(cvt_f16x2_##T, u32, F,                                                                   \
		BOTH(, HALF_F16, 16, LOW(pa[i] >> 8 & 0xff, F), LOW(pa[i] & 0xff, F)))             \
	X(cvt_relu_f16x2_##T, u32, F,                                                              \
		BOTH(relu, HALF_F16, 16, LOW(pa[i] >> 8 & 0xff, F), LOW(pa[i] & 0xff, F)))
#define EIGHTS(X) EIGHT(X, e4m3x2, HALF_E4M3) EIGHT(X, e5m2x2, HALF_E5M2)
EIGHTS(NARROW)

VEC_TABLE(vgpu_vec_half) = {ALL(VOP_ENTRY) CVTS(VOP_ENTRY) EIGHTS(VOP_ENTRY) VOP_ENTRY(cvt_f32_f16)
		VOP_ENTRY(cvt_f32_bf16) VOP_ENTRY(half_f16) VOP_ENTRY(half_bf16){NULL, NULL}};
