/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Conversions between integers, f32 and f64. Integers narrower than 32 bits are stored sign- or
 * zero-extended, according to their type. A conversion from float to integer rounds as in->round
 * says, then clamps. Narrow floats are in vec_half.c. */
#include "vec.h"

/* Defines a conversion with one loop for full and partial masks, because there are many conversions
 * and few run often. `begin` and `end` are statements before and after the loop. */
#define LOOP(name, D, S, T, expr, begin, end)                                      \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const S *pa = ALIGN(VX_PTR(x, in->a));                             \
		D *pd = ALIGN(VX_PTR(x, in->d));                                   \
		u32 m = x->mask;                                                   \
		bool fz = in->flags & VI_FTZ, st = in->flags & VI_SAT;             \
                                                                                   \
		(void)fz, (void)st;                                                \
		begin;                                                             \
		EACH                                                               \
		{                                                                  \
			T a = (T)pa[i];                                            \
			D r = (D)(expr);                                           \
			pd[i] = BIT(m) ? r : pd[i];                                \
		}                                                                  \
		end;                                                               \
		return in + 1;                                                     \
	}
#define ONE_LOOP(name, D, S, T, expr) LOOP(name, D, S, T, expr, (void)0, (void)0)
#define ROUNDED(name, D, S, T, expr)  LOOP(name, D, S, T, expr, round_begin(in), round_end(in))

/* ---- integer to integer: source type, destination type and storage ---- */
#define INT_TO(X, S, T)                   \
	X(cvt_u8_##T, u32, S, T, (u8)a)   \
	X(cvt_s8_##T, u32, S, T, (s8)a)   \
	X(cvt_u16_##T, u32, S, T, (u16)a) \
	X(cvt_s16_##T, u32, S, T, (s16)a) \
	X(cvt_u32_##T, u32, S, T, (u32)a) \
	X(cvt_u64_##T, u64, S, T, (s64)a)
#define INTS(X)             \
	INT_TO(X, u32, u8)  \
	INT_TO(X, u32, s8)  \
	INT_TO(X, u32, u16) \
	INT_TO(X, u32, s16) \
	INT_TO(X, u32, u32) INT_TO(X, u32, s32) INT_TO(X, u64, u64) INT_TO(X, u64, s64)
INTS(ONE_LOOP)

/* Clamp a value for a saturating conversion, compared as s64 or u64. */
#define CLAMP_S(a, lo, hi) ((s64)(a) < (lo) ? (lo) : (s64)(a) > (hi) ? (hi) : (s64)(a))
#define CLAMP_U(a, lo, hi) ((u64)(a) > (u64)(hi) ? (s64)(hi) : (s64)(a))
#define SAT_TO(X, S, T, CLAMP)                                              \
	X(cvtsat_u8_##T, u32, S, T, CLAMP(a, 0, 0xff))                      \
	X(cvtsat_s8_##T, u32, S, T, CLAMP(a, -0x80, 0x7f))                  \
	X(cvtsat_u16_##T, u32, S, T, CLAMP(a, 0, 0xffff))                   \
	X(cvtsat_s16_##T, u32, S, T, CLAMP(a, -0x8000, 0x7fff))             \
	X(cvtsat_u32_##T, u32, S, T, CLAMP(a, 0, 0xffffffffll))             \
	X(cvtsat_s32_##T, u32, S, T, CLAMP(a, -0x80000000ll, 0x7fffffffll)) \
	X(cvtsat_s64_##T, u64, S, T, CLAMP(a, INT64_MIN, INT64_MAX))        \
	X(cvtsat_u64_##T, u64, S, T, (a < 0 ? 0 : a))
#define SATS(X)                      \
	SAT_TO(X, u32, u8, CLAMP_U)  \
	SAT_TO(X, u32, s8, CLAMP_S)  \
	SAT_TO(X, u32, u16, CLAMP_U) \
	SAT_TO(X, u32, s16, CLAMP_S) \
	SAT_TO(X, u32, u32, CLAMP_U) \
	SAT_TO(X, u32, s32, CLAMP_S) SAT_TO(X, u64, u64, CLAMP_U) SAT_TO(X, u64, s64, CLAMP_S)
SATS(ONE_LOOP)

/* ---- conversions from integer to float ---- */
INLINE f32 out32(f32 r, bool fz, bool st)
{
	r = fz ? flush32(r) : r;
	return st ? sat32(r) : r;
}
#define TO_F32(X, S, T) X(cvt_f32_##T, f32, S, T, out32((f32)a, fz, st))
#define TO_F64(X, S, T) X(cvt_f64_##T, f64, S, T, st ? sat64((f64)a) : (f64)a)
#define FROM_INTS(X, TO) \
	TO(X, u32, u8)   \
	TO(X, u32, s8)   \
	TO(X, u32, u16) TO(X, u32, s16) TO(X, u32, u32) TO(X, u32, s32) TO(X, u64, s64)
FROM_INTS(ROUNDED, TO_F32)
FROM_INTS(ROUNDED, TO_F64)

/* Convert u64 to a float. If the top bit is set, the value is halved first. The lost lowest bit is
 * or'ed in, so that every rounding direction gives the right result. */
INLINE f32 u64_to_f32(u64 a)
{
	return a >> 63 ? (f32)(s64)(a >> 1 | (a & 1)) * 2.0f : (f32)(s64)a;
}
INLINE f64 u64_to_f64(u64 a)
{
	return a >> 63 ? (f64)(s64)(a >> 1 | (a & 1)) * 2.0 : (f64)(s64)a;
}
ROUNDED(cvt_f32_u64, f32, u64, u64, out32(u64_to_f32(a), fz, st))
ROUNDED(cvt_f64_u64, f64, u64, u64, st ? sat64(u64_to_f64(a)) : u64_to_f64(a))

/* ---- float to float ---- */
INLINE f64 integral(f64 a, unsigned round)
{
	f64 t = __builtin_trunc(a), f;

	switch (round) {
	case VR_RZ:
		return t;
	case VR_RM:
		return __builtin_floor(a);
	case VR_RP:
		return __builtin_ceil(a);
	case VR_RNA:
		f = __builtin_fabs(a - t);
		return f >= 0.5 ? t + __builtin_copysign(1.0, a) : t;
	default:
		/* Adding and subtracting 2^52 rounds to nearest even. Numbers of 2^52 and above are
		 * already integers. */
		f = __builtin_fabs(a);
		f = f < 0x1p52 ? (f + 0x1p52) - 0x1p52 : f;
		return __builtin_copysign(f, a);
	}
}
#define PLAIN(name, D, S, expr)                                                      \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in)   \
	{                                                                            \
		const S *pa = ALIGN(VX_PTR(x, in->a));                               \
		D *pd = ALIGN(VX_PTR(x, in->d));                                     \
		u32 m = x->mask;                                                     \
		bool fz = in->flags & VI_FTZ, st = in->flags & VI_SAT;               \
		unsigned round = in->round;                                          \
                                                                                     \
		(void)round;                                                         \
		for (int i = 0; i < LANES; i++) {                                    \
			S a = fz && sizeof(S) == 4 ? (S)flush32((f32)pa[i]) : pa[i]; \
			D r = (D)(expr);                                             \
			if (sizeof(r) == 4)                                          \
				r = (D)out32(canon32((f32)r), fz, st);               \
			else                                                         \
				r = (D)(st ? sat64((f64)r) : canon64((f64)r));       \
			pd[i] = BIT(m) ? r : pd[i];                                  \
		}                                                                    \
		return in + 1;                                                       \
	}
/* Without a modifier this conversion copies the bits, also those of a NaN. */
ONE_LOOP(cvt_f32_f32, f32, f32, f32,
	fz || st ? out32(canon32(fz ? flush32(a) : a), fz, st) : bits_f32(f32_bits(a)))
PLAIN(cvt_f64_f64, f64, f64, a)
PLAIN(cvt_f64_f32, f64, f32, a)
PLAIN(cvti_f32_f32, f32, f32, integral(a, round))
PLAIN(cvti_f64_f64, f64, f64, integral(a, round))
/* Converts f64 to f32. A NaN keeps its sign and the upper bits of its fraction, and becomes
 * quiet. */
INLINE f32 f64_to_f32(f64 a)
{
	u64 u = f64_bits(a);

	return a == a ? (f32)a
		      : bits_f32((u32)(u >> 32 & 0x80000000u) | 0x7fc00000u |
				 (u32)(u >> 29 & 0x7fffffu));
}
ROUNDED(cvt_f32_f64, f32, f64, f64, out32(f64_to_f32(a), fz, st))

/* ---- conversions from float to integer ---- */
#define FTOI_LOOP(D, S, mode, conv)                                                \
	EACH                                                                       \
	{                                                                          \
		f64 a = (f64)(fz && sizeof(S) == 4 ? flush32((f32)pa[i]) : pa[i]); \
		f64 v = integral(a, mode);                                         \
		D r = (D)(conv);                                                   \
		pd[i] = BIT(m) ? r : pd[i];                                        \
	}
#define FTOI(name, D, S, conv)                                                     \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const S *pa = ALIGN(VX_PTR(x, in->a));                             \
		D *pd = ALIGN(VX_PTR(x, in->d));                                   \
		u32 m = x->mask;                                                   \
		bool fz = in->flags & VI_FTZ;                                      \
                                                                                   \
		if (in->round == VR_RZ)                                            \
			FTOI_LOOP(D, S, VR_RZ, conv)                               \
		else if (in->round == VR_RN)                                       \
			FTOI_LOOP(D, S, VR_RN, conv)                               \
		else                                                               \
			FTOI_LOOP(D, S, in->round, conv)                           \
		return in + 1;                                                     \
	}
/* The result of converting NaN to an integer (PTX ISA, cvt): 0 from f32 to at most 32 bits;
 * otherwise only the highest bit of the destination is set. */
#define NAN_TO(T, bits) (sizeof(T) == 8 || (bits) == 64 ? 1ull << ((bits)-1) : 0)
/* Converts v, which is an integer value or NaN, and replaces values outside the limits by the
 * limits. */
#define FIT(v, lo, hi, T, S, bits) \
	(v != v ? (T)NAN_TO(S, bits) : v <= (lo) ? (T)(lo) : v >= (hi) ? (T)(hi) : (T)v)
INLINE u64 fit_u64(f64 v)
{
	if (v != v)
		return NAN_TO(u64, 64);
	if (!(v > 0.0))
		return 0;
	if (v >= 0x1p64)
		return UINT64_MAX;
	return v >= 0x1p63 ? (u64)(s64)(v - 0x1p63) | 1ull << 63 : (u64)(s64)v;
}
INLINE s64 fit_s64(f64 v)
{
	if (v != v)
		return INT64_MIN;
	return v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : (s64)v;
}
#define FROM_FLOAT(X, T)                                                         \
	X(cvti_u8_##T, u32, T, FIT(v, 0.0, 255.0, s32, T, 8))                    \
	X(cvti_s8_##T, u32, T, FIT(v, -128.0, 127.0, s8, T, 8))                  \
	X(cvti_u16_##T, u32, T, FIT(v, 0.0, 65535.0, s32, T, 16))                \
	X(cvti_s16_##T, u32, T, FIT(v, -32768.0, 32767.0, s16, T, 16))           \
	X(cvti_u32_##T, u32, T, FIT(v, 0.0, 4294967295.0, s64, T, 32))           \
	X(cvti_s32_##T, u32, T, FIT(v, -2147483648.0, 2147483647.0, s32, T, 32)) \
	X(cvti_u64_##T, u64, T, fit_u64(v))                                      \
	X(cvti_s64_##T, u64, T, fit_s64(v))
FROM_FLOAT(FTOI, f32)
FROM_FLOAT(FTOI, f64)

VEC_TABLE(vgpu_vec_cvt) = {INTS(VOP_ENTRY) SATS(VOP_ENTRY) FROM_INTS(VOP_ENTRY, TO_F32) FROM_INTS(
	VOP_ENTRY, TO_F64) FROM_FLOAT(VOP_ENTRY, f32) FROM_FLOAT(VOP_ENTRY, f64)
		VOP_ENTRY(cvt_f32_u64) VOP_ENTRY(cvt_f64_u64) VOP_ENTRY(cvt_f32_f32)
			VOP_ENTRY(cvt_f64_f64) VOP_ENTRY(cvt_f64_f32) VOP_ENTRY(cvti_f32_f32)
				VOP_ENTRY(cvti_f64_f64) VOP_ENTRY(cvt_f32_f64){NULL, NULL}};
