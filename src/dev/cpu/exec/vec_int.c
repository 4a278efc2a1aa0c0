/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Integer and logic operations on 32 lanes. 16-bit registers are stored in 32 bits whose upper half
 * is undefined; every operation that reads one masks it. */
#include "vec.h"

INLINE u32 shl32(u32 a, u32 n)
{
	return n < 32 ? a << n : 0;
}
INLINE u64 shl64(u64 a, u32 n)
{
	return n < 64 ? a << n : 0;
}
INLINE u32 brev32(u32 a)
{
	a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
	a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
	a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
	return __builtin_bswap32(a);
}
INLINE u64 brev64(u64 a)
{
	return (u64)brev32((u32)a) << 32 | brev32((u32)(a >> 32));
}
INLINE u32 clz32(u32 a)
{
	return a ? (u32)__builtin_clz(a) : 32;
}
INLINE u32 clz64(u64 a)
{
	return a ? (u32)__builtin_clzll(a) : 64;
}
/* Return the position of the highest set bit, or with `shift` the left shift that moves it to the
 * top. ~0 if no bit is set. */
INLINE u32 find32(u32 a, bool shift)
{
	return !a ? ~0u : shift ? clz32(a) : 31 - clz32(a);
}
INLINE u32 find64(u64 a, bool shift)
{
	return !a ? ~0u : shift ? clz64(a) : 63 - clz64(a);
}
/* Returns the position or length of a bit field as the hardware uses it. For 32-bit fields this is
 * v modulo 256, as in the PTX ISA. For 64-bit fields the hardware uses all bits of v, and a value
 * above 64 works like 64. */
INLINE u32 in_field(u32 v, unsigned width)
{
	return width == 64 ? MIN(v, 64u) : v & 0xff;
}
INLINE u64 bfe_u(u64 a, u32 pos, u32 len, unsigned width)
{
	pos = in_field(pos, width);
	len = in_field(len, width);
	a = pos < width ? a >> pos : 0;
	return len < width ? a & ((1ull << len) - 1) : a;
}
INLINE u64 bfe_s(u64 a, u32 pos, u32 len, unsigned width)
{
	u64 sign, r;

	pos = in_field(pos, width);
	len = in_field(len, width);
	if (!len)
		return 0;
	sign = a >> MIN(pos + len - 1, width - 1) & 1;
	r = pos < width ? a >> pos : 0;
	if (pos + len > width)
		len = pos < width ? width - pos : 0;
	if (len < 64 && sign)
		r |= ~0ull << len;
	else if (len < 64)
		r &= (1ull << len) - 1;
	return r;
}
INLINE u64 bfi(u64 a, u64 b, u32 pos, u32 len, unsigned width)
{
	u64 mask;

	pos = in_field(pos, width);
	len = in_field(len, width);
	if (pos >= width || !len)
		return b;
	mask = (len < 64 ? (1ull << len) - 1 : ~0ull) << pos;
	return (b & ~mask) | (a << pos & mask);
}
INLINE u32 bmsk(u32 pos, u32 len, bool clamp)
{
	if (!clamp) {
		pos &= 31;
		len &= 31;
	}
	pos = MIN(pos, 32u);
	len = MIN(len, 32u);
	return pos < 32 ? (u32)(((1ull << len) - 1) << pos) : 0;
}
INLINE u32 szext(u32 a, u32 n, bool clamp, bool is_signed)
{
	if (!clamp)
		n &= 31;
	if (n >= 32)
		return a;
	if (!n)
		return 0;
	a <<= 32 - n;
	return is_signed ? (u32)((s32)a >> (32 - n)) : a >> (32 - n);
}
INLINE u32 prmt(u32 a, u32 b, u32 sel)
{
	u64 all = (u64)b << 32 | a;
	u32 r = 0;

	for (unsigned k = 0; k < 4; k++) {
		u32 s = sel >> (4 * k) & 15;
		u32 byte = (u32)(all >> (8 * (s & 7))) & 0xff;

		if (s & 8)
			byte = byte & 0x80 ? 0xff : 0;
		r |= byte << (8 * k);
	}
	return r;
}
INLINE u32 prmt_mode(u32 a, u32 b, u32 n, unsigned mode)
{
	static const u16 sel[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543},
		{0x5670, 0x6701, 0x7012, 0x0123}, {0x0000, 0x1111, 0x2222, 0x3333},
		{0x3210, 0x3211, 0x3222, 0x3333}, {0x0000, 0x1110, 0x2210, 0x3210},
		{0x1010, 0x3232, 0x1010, 0x3232}};

	return prmt(a, b, sel[mode][n & 3]);
}
INLINE u32 lop3(u32 a, u32 b, u32 c, u32 lut)
{
	u32 r = 0;

	r |= lut & 1 ? ~a & ~b & ~c : 0;
	r |= lut & 2 ? ~a & ~b & c : 0;
	r |= lut & 4 ? ~a & b & ~c : 0;
	r |= lut & 8 ? ~a & b & c : 0;
	r |= lut & 16 ? a & ~b & ~c : 0;
	r |= lut & 32 ? a & ~b & c : 0;
	r |= lut & 64 ? a & b & ~c : 0;
	r |= lut & 128 ? a & b & c : 0;
	return r;
}
INLINE u32 shf_l(u32 lo, u32 hi, u32 n)
{
	return (u32)(((u64)hi << 32 | lo) << n >> 32);
}
INLINE u32 shf_r(u32 lo, u32 hi, u32 n)
{
	return (u32)(((u64)hi << 32 | lo) >> n);
}
INLINE u32 dot4(u32 a, u32 b, u32 c, bool sa, bool sb)
{
	for (unsigned k = 0; k < 32; k += 8) {
		s32 p = sa ? (s8)(a >> k) : (s32)(a >> k & 0xff);
		s32 q = sb ? (s8)(b >> k) : (s32)(b >> k & 0xff);

		c += (u32)(p * q);
	}
	return c;
}
INLINE u32 dot2(u32 a, u32 b, u32 c, bool sa, bool sb, bool hi)
{
	for (unsigned k = 0; k < 2; k++) {
		s32 p = sa ? (s16)(a >> (16 * k)) : (s32)(a >> (16 * k) & 0xffff);
		u32 at = b >> (8 * k + (hi ? 16 : 0));
		s32 q = sb ? (s8)at : (s32)(at & 0xff);

		c += (u32)(p * q);
	}
	return c;
}
INLINE u64 mulhi_u64(u64 a, u64 b)
{
	return (u64)((u128)a * b >> 64);
}
INLINE u64 mulhi_s64(s64 a, s64 b)
{
	return (u64)((s128)a * b >> 64);
}
INLINE s32 sat_s32(s64 v)
{
	return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (s32)v;
}
/* Division results that the PTX ISA leaves undefined, as on the hardware: the quotient and the
 * remainder of a division by zero are all ones. The smallest number divided by -1 is itself. */
#define DIVIDE(T, U)                                                    \
	INLINE T div_##T(T a, T b)                                      \
	{                                                               \
		return !b ? (T)-1 : b == (T)-1 ? (T)(0 - (U)a) : a / b; \
	}                                                               \
	INLINE T rem_##T(T a, T b)                                      \
	{                                                               \
		return !b ? (T)-1 : b == (T)-1 ? 0 : a % b;             \
	}
#define DIVIDE_U(T)                        \
	INLINE T div_##T(T a, T b)         \
	{                                  \
		return !b ? (T)-1 : a / b; \
	}                                  \
	INLINE T rem_##T(T a, T b)         \
	{                                  \
		return !b ? (T)-1 : a % b; \
	}
DIVIDE(s16, u16)
DIVIDE(s32, u32)
DIVIDE(s64, u64)
DIVIDE_U(u16)
DIVIDE_U(u32)
DIVIDE_U(u64)

/* Apply OP to both 16-bit halves of a pair, as type T. */
#define SUM(x, y)    ((x) + (y))
#define MIN_UP(x, y) MAX(MIN(x, y), 0)
#define MAX_UP(x, y) MAX(MAX(x, y), 0)
#define PAIR(T, OP)  ((u16)OP((T)a, (T)b) | (u32)(u16)OP((T)(a >> 16), (T)(b >> 16)) << 16)

/* name, storage types of destination and source, type of the operands, expression */
#define OPS(X1, X2, X3)                                                                            \
	X2(add_u16, u32, u32, u16, a + b)                                                          \
	X2(add_u32, u32, u32, u32, a + b)                                                          \
	X2(add_u64, u64, u64, u64, a + b)                                                          \
	X2(addsat_s32, u32, u32, s32, sat_s32((s64)a + b))                                         \
	X2(sub_u16, u32, u32, u16, a - b)                                                          \
	X2(sub_u32, u32, u32, u32, a - b)                                                          \
	X2(sub_u64, u64, u64, u64, a - b)                                                          \
	X2(subsat_s32, u32, u32, s32, sat_s32((s64)a - b))                                         \
	X2(mul_lo_u16, u32, u32, u16, (u32)a *b)                                                   \
	X2(mul_lo_u32, u32, u32, u32, a *b)                                                        \
	X2(mul_lo_u64, u64, u64, u64, a *b)                                                        \
	X2(mul_hi_u16, u32, u32, u16, (u32)a *b >> 16)                                             \
	X2(mul_hi_s16, u32, u32, s16, (s32)a *b >> 16)                                             \
	X2(mul_hi_u32, u32, u32, u32, (u64)a *b >> 32)                                             \
	X2(mul_hi_s32, u32, u32, s32, (s64)a *b >> 32)                                             \
	X2(mul_hi_u64, u64, u64, u64, mulhi_u64(a, b))                                             \
	X2(mul_hi_s64, u64, u64, s64, mulhi_s64(a, b))                                             \
	X2(mul_wide_u16, u32, u32, u16, (u32)a *b)                                                 \
	X2(mul_wide_s16, u32, u32, s16, (s32)a *b)                                                 \
	X2(mul_wide_u32, u64, u32, u32, (u64)a *b)                                                 \
	X2(mul_wide_s32, u64, u32, s32, (s64)a *b)                                                 \
	X3(mad_lo_u16, u32, u32, u16, (u32)a *b + c)                                               \
	X3(mad_lo_u32, u32, u32, u32, a *b + c)                                                    \
	X3(mad_lo_u64, u64, u64, u64, a *b + c)                                                    \
	X3(mad_hi_u16, u32, u32, u16, ((u32)a * b >> 16) + c)                                      \
	X3(mad_hi_s16, u32, u32, s16, ((s32)a * b >> 16) + c)                                      \
	X3(mad_hi_u32, u32, u32, u32, (u32)((u64)a * b >> 32) + c)                                 \
	X3(mad_hi_s32, u32, u32, s32, (u32)((s64)a * b >> 32) + (u32)c)                            \
	X3(mad_hisat_s32, u32, u32, s32, sat_s32(((s64)a * b >> 32) + c))                          \
	X3(mad_hi_u64, u64, u64, u64, mulhi_u64(a, b) + c)                                         \
	X3(mad_hi_s64, u64, u64, s64, mulhi_s64(a, b) + (u64)c)                                    \
	X3(mad_wide_u16, u32, u32, u32, (a & 0xffff) * (b & 0xffff) + c)                           \
	X3(mad_wide_s16, u32, u32, u32, (u32)((s32)(s16)a * (s16)b) + c)                           \
	X2(mul24_lo_u32, u32, u32, u32, (a & 0xffffff) * (b & 0xffffff))                           \
	X2(mul24_lo_s32, u32, u32, u32, (u32)((s32)(a << 8) >> 8) * (u32)((s32)(b << 8) >> 8))     \
	X2(mul24_hi_u32, u32, u32, u32, (u64)(a & 0xffffff) * (b & 0xffffff) >> 16)                \
	X2(mul24_hi_s32, u32, u32, s32,                                                            \
		((s64)((s32)((u32)a << 8) >> 8) * ((s32)((u32)b << 8) >> 8)) >> 16)                \
	X3(mad24_lo_u32, u32, u32, u32, (a & 0xffffff) * (b & 0xffffff) + c)                       \
	X3(mad24_lo_s32, u32, u32, u32, (u32)((s32)(a << 8) >> 8) * (u32)((s32)(b << 8) >> 8) + c) \
	X3(mad24_hi_u32, u32, u32, u32, (u32)((u64)(a & 0xffffff) * (b & 0xffffff) >> 16) + c)     \
	X3(mad24_hi_s32, u32, u32, s32,                                                            \
		(u32)(((s64)((s32)((u32)a << 8) >> 8) * ((s32)((u32)b << 8) >> 8)) >> 16) +        \
			(u32)c)                                                                    \
	X3(mad24_hisat_s32, u32, u32, s32,                                                         \
		sat_s32((((s64)((s32)((u32)a << 8) >> 8) * ((s32)((u32)b << 8) >> 8)) >> 16) + c)) \
	X3(sad_u16, u32, u32, u16, (u32)(a > b ? a - b : b - a) + c)                               \
	X3(sad_s16, u32, u32, s16, (u32)(a > b ? a - b : b - a) + (u32)c)                          \
	X3(sad_u32, u32, u32, u32, (a > b ? a - b : b - a) + c)                                    \
	X3(sad_s32, u32, u32, s32, (a > b ? (u32)a - (u32)b : (u32)b - (u32)a) + (u32)c)           \
	X3(sad_u64, u64, u64, u64, (a > b ? a - b : b - a) + c)                                    \
	X3(sad_s64, u64, u64, s64, (a > b ? (u64)a - (u64)b : (u64)b - (u64)a) + (u64)c)           \
	X2(div_u16, u32, u32, u16, div_u16(a, b))                                                  \
	X2(div_s16, u32, u32, s16, div_s16(a, b))                                                  \
	X2(div_u32, u32, u32, u32, div_u32(a, b))                                                  \
	X2(div_s32, u32, u32, s32, div_s32(a, b))                                                  \
	X2(div_u64, u64, u64, u64, div_u64(a, b))                                                  \
	X2(div_s64, u64, u64, s64, div_s64(a, b))                                                  \
	X2(rem_u16, u32, u32, u16, rem_u16(a, b))                                                  \
	X2(rem_s16, u32, u32, s16, rem_s16(a, b))                                                  \
	X2(rem_u32, u32, u32, u32, rem_u32(a, b))                                                  \
	X2(rem_s32, u32, u32, s32, rem_s32(a, b))                                                  \
	X2(rem_u64, u64, u64, u64, rem_u64(a, b))                                                  \
	X2(rem_s64, u64, u64, s64, rem_s64(a, b))                                                  \
	X1(abs_s16, u32, u32, s16, a < 0 ? 0 - (u32)a : (u32)a)                                    \
	X1(abs_s32, u32, u32, s32, a < 0 ? 0 - (u32)a : (u32)a)                                    \
	X1(abs_s64, u64, u64, s64, a < 0 ? 0 - (u64)a : (u64)a)                                    \
	X1(neg_u16, u32, u32, u16, 0 - a)                                                          \
	X1(neg_u32, u32, u32, u32, 0 - a)                                                          \
	X1(neg_u64, u64, u64, u64, 0 - a)                                                          \
	X2(min_u16, u32, u32, u16, MIN(a, b))                                                      \
	X2(min_s16, u32, u32, s16, MIN(a, b))                                                      \
	X2(min_u32, u32, u32, u32, MIN(a, b))                                                      \
	X2(min_s32, u32, u32, s32, MIN(a, b))                                                      \
	X2(min_u64, u64, u64, u64, MIN(a, b))                                                      \
	X2(min_s64, u64, u64, s64, MIN(a, b))                                                      \
	X2(max_u16, u32, u32, u16, MAX(a, b))                                                      \
	X2(max_s16, u32, u32, s16, MAX(a, b))                                                      \
	X2(max_u32, u32, u32, u32, MAX(a, b))                                                      \
	X2(max_s32, u32, u32, s32, MAX(a, b))                                                      \
	X2(max_u64, u64, u64, u64, MAX(a, b))                                                      \
	X2(max_s64, u64, u64, s64, MAX(a, b))                                                      \
	X2(add_u16x2, u32, u32, u32, PAIR(u16, SUM))                                               \
	X2(add_s16x2, u32, u32, u32, PAIR(u16, SUM))                                               \
	X2(min_u16x2, u32, u32, u32, PAIR(u16, MIN))                                               \
	X2(max_u16x2, u32, u32, u32, PAIR(u16, MAX))                                               \
	X2(min_s16x2, u32, u32, u32, PAIR(s16, MIN))                                               \
	X2(max_s16x2, u32, u32, u32, PAIR(s16, MAX))                                               \
	X2(min_relu_s16x2, u32, u32, u32, PAIR(s16, MIN_UP))                                       \
	X2(max_relu_s16x2, u32, u32, u32, PAIR(s16, MAX_UP))                                       \
	X2(min_relu_s32, u32, u32, s32, MAX(MIN(a, b), 0))                                         \
	X2(max_relu_s32, u32, u32, s32, MAX(MAX(a, b), 0))                                         \
	X2(and_b32, u32, u32, u32, a &b)                                                           \
	X2(and_b64, u64, u64, u64, a &b)                                                           \
	X2(or_b32, u32, u32, u32, a | b)                                                           \
	X2(or_b64, u64, u64, u64, a | b)                                                           \
	X2(xor_b32, u32, u32, u32, a ^ b)                                                          \
	X2(xor_b64, u64, u64, u64, a ^ b)                                                          \
	X1(not_b32, u32, u32, u32, ~a)                                                             \
	X1(not_b64, u64, u64, u64, ~a)                                                             \
	X1(cnot_b16, u32, u32, u16, !a)                                                            \
	X1(cnot_b32, u32, u32, u32, !a)                                                            \
	X1(cnot_b64, u64, u64, u64, !a)                                                            \
	X1(mov_b32, u32, u32, u32, a)                                                              \
	X1(mov_b64, u64, u64, u64, a)                                                              \
	X1(popc_b32, u32, u32, u32, __builtin_popcount(a))                                         \
	X1(popc_b64, u32, u64, u64, __builtin_popcountll(a))                                       \
	X1(clz_b32, u32, u32, u32, clz32(a))                                                       \
	X1(clz_b64, u32, u64, u64, clz64(a))                                                       \
	X1(brev_b32, u32, u32, u32, brev32(a))                                                     \
	X1(brev_b64, u64, u64, u64, brev64(a))                                                     \
	X1(bfind_u32, u32, u32, u32, find32(a, false))                                             \
	X1(bfind_s32, u32, u32, s32, find32((u32)(a < 0 ? ~a : a), false))                         \
	X1(bfind_u64, u32, u64, u64, find64(a, false))                                             \
	X1(bfind_s64, u32, u64, s64, find64((u64)(a < 0 ? ~a : a), false))                         \
	X1(bfind_shiftamt_u32, u32, u32, u32, find32(a, true))                                     \
	X1(bfind_shiftamt_s32, u32, u32, s32, find32((u32)(a < 0 ? ~a : a), true))                 \
	X1(bfind_shiftamt_u64, u32, u64, u64, find64(a, true))                                     \
	X1(bfind_shiftamt_s64, u32, u64, s64, find64((u64)(a < 0 ? ~a : a), true))                 \
	X2(bmsk_clamp_b32, u32, u32, u32, bmsk(a, b, true))                                        \
	X2(bmsk_wrap_b32, u32, u32, u32, bmsk(a, b, false))                                        \
	X2(szext_clamp_u32, u32, u32, u32, szext(a, b, true, false))                               \
	X2(szext_clamp_s32, u32, u32, u32, szext(a, b, true, true))                                \
	X2(szext_wrap_u32, u32, u32, u32, szext(a, b, false, false))                               \
	X2(szext_wrap_s32, u32, u32, u32, szext(a, b, false, true))                                \
	X3(bfe_u32, u32, u32, u32, bfe_u(a, b, c, 32))                                             \
	X3(bfe_s32, u32, u32, u32, bfe_s(a, b, c, 32))                                             \
	X3(prmt_b32, u32, u32, u32, prmt(a, b, c))                                                 \
	X3(prmt_b32_f4e, u32, u32, u32, prmt_mode(a, b, c, 0))                                     \
	X3(prmt_b32_b4e, u32, u32, u32, prmt_mode(a, b, c, 1))                                     \
	X3(prmt_b32_rc8, u32, u32, u32, prmt_mode(a, b, c, 2))                                     \
	X3(prmt_b32_ecl, u32, u32, u32, prmt_mode(a, b, c, 3))                                     \
	X3(prmt_b32_ecr, u32, u32, u32, prmt_mode(a, b, c, 4))                                     \
	X3(prmt_b32_rc16, u32, u32, u32, prmt_mode(a, b, c, 5))                                    \
	X3(shf_l_clamp_b32, u32, u32, u32, shf_l(a, b, MIN(c, 32u)))                               \
	X3(shf_l_wrap_b32, u32, u32, u32, shf_l(a, b, c & 31))                                     \
	X3(shf_r_clamp_b32, u32, u32, u32, shf_r(a, b, MIN(c, 32u)))                               \
	X3(shf_r_wrap_b32, u32, u32, u32, shf_r(a, b, c & 31))                                     \
	X3(dp4a_u32_u32, u32, u32, u32, dot4(a, b, c, false, false))                               \
	X3(dp4a_u32_s32, u32, u32, u32, dot4(a, b, c, false, true))                                \
	X3(dp4a_s32_u32, u32, u32, u32, dot4(a, b, c, true, false))                                \
	X3(dp4a_s32_s32, u32, u32, u32, dot4(a, b, c, true, true))                                 \
	X3(dp2a_lo_u32_u32, u32, u32, u32, dot2(a, b, c, false, false, false))                     \
	X3(dp2a_lo_u32_s32, u32, u32, u32, dot2(a, b, c, false, true, false))                      \
	X3(dp2a_lo_s32_u32, u32, u32, u32, dot2(a, b, c, true, false, false))                      \
	X3(dp2a_lo_s32_s32, u32, u32, u32, dot2(a, b, c, true, true, false))                       \
	X3(dp2a_hi_u32_u32, u32, u32, u32, dot2(a, b, c, false, false, true))                      \
	X3(dp2a_hi_u32_s32, u32, u32, u32, dot2(a, b, c, false, true, true))                       \
	X3(dp2a_hi_s32_u32, u32, u32, u32, dot2(a, b, c, true, false, true))                       \
	X3(dp2a_hi_s32_s32, u32, u32, u32, dot2(a, b, c, true, true, true))

OPS(VOP1, VOP2, VOP3)

/* Operands of different widths, so the expressions use the arrays pa, pb, pc. */
#define MIXED(X)                                                                    \
	X(shl_b16, u32, u32, u32, (pb[i] < 16 ? pa[i] << pb[i] : 0))                \
	X(shl_b32, u32, u32, u32, shl32(pa[i], pb[i]))                              \
	X(shl_b64, u64, u64, u32, shl64(pa[i], pb[i]))                              \
	X(shr_u16, u32, u32, u32, (pb[i] < 16 ? (u16)pa[i] >> pb[i] : 0))           \
	X(shr_s16, u32, u32, u32, ((s16)pa[i] >> MIN(pb[i], 15u)))                  \
	X(shr_u32, u32, u32, u32, (pb[i] < 32 ? pa[i] >> pb[i] : 0))                \
	X(shr_s32, u32, u32, u32, ((s32)pa[i] >> MIN(pb[i], 31u)))                  \
	X(shr_u64, u64, u64, u32, (pb[i] < 64 ? pa[i] >> pb[i] : 0))                \
	X(shr_s64, u64, u64, u32, ((s64)pa[i] >> MIN(pb[i], 63u)))                  \
	X(bfe_u64, u64, u64, u32, bfe_u(pa[i], pb[i], ((const u32 *)pc)[i], 64))    \
	X(bfe_s64, u64, u64, u32, bfe_s(pa[i], pb[i], ((const u32 *)pc)[i], 64))    \
	X(mad_wide_u32, u64, u32, u32, ((u64)pa[i] * pb[i] + ((const u64 *)pc)[i])) \
	X(mad_wide_s32, u64, u32, u32,                                              \
		((u64)((s64)(s32)pa[i] * (s32)pb[i]) + ((const u64 *)pc)[i]))       \
	X(lop3_b32, u32, u32, u32, lop3(pa[i], pb[i], ((const u32 *)pc)[i], (u32)in->imm))

#define MIXED_OP(name, D, SA, SB, expr)                                            \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const SA *pa = ALIGN(VX_PTR(x, in->a));                            \
		const SB *pb = ALIGN(VX_PTR(x, in->b));                            \
		const void *pc = ALIGN(VX_PTR(x, in->c));                          \
		D *pd = ALIGN(VX_PTR(x, in->d));                                   \
		uint32_t m = x->mask;                                              \
                                                                                   \
		(void)pc;                                                          \
		EACH                                                               \
		{                                                                  \
			D r = (D)(expr);                                           \
			pd[i] = BIT(m) ? r : pd[i];                                \
		}                                                                  \
		return in + 1;                                                     \
	}
MIXED(MIXED_OP)

/* Copies b to d and inserts the low in->x bits of a at bit c. (Four sources: in->x is a register
 * too.) */
static const struct vinsn *op_bfi_b32(struct vx *x, const struct vinsn *in)
{
	const u32 *a = VX_PTR(x, in->a), *b = VX_PTR(x, in->b), *c = VX_PTR(x, in->c);
	const u32 *len = VX_PTR(x, in->x);
	u32 *d = VX_PTR(x, in->d), m = x->mask;

	EACH d[i] = BIT(m) ? (u32)bfi(a[i], b[i], c[i], len[i], 32) : d[i];
	return in + 1;
}

static const struct vinsn *op_bfi_b64(struct vx *x, const struct vinsn *in)
{
	const u64 *a = VX_PTR(x, in->a), *b = VX_PTR(x, in->b);
	const u32 *c = VX_PTR(x, in->c), *len = VX_PTR(x, in->x);
	u64 *d = VX_PTR(x, in->d);
	u32 m = x->mask;

	EACH d[i] = BIT(m) ? bfi(a[i], b[i], c[i], len[i], 64) : d[i];
	return in + 1;
}

/* Additions and subtractions with a carry chain. in->x is the predicate register of the carry flag.
 * in->op is a sum of 1 (reads the flag), 2 (writes the flag) and 4 (subtracts b). A subtraction
 * adds the complement of b and one, so the flag is set if there was no borrow. If an addition
 * follows, it reads the flag in this sense; the 128-bit division that nvcc generates relies on
 * this. */
#define CARRY(name, T, WIDER)                                                      \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const T *a = VX_PTR(x, in->a), *b = VX_PTR(x, in->b);              \
		T *d = VX_PTR(x, in->d);                                           \
		u32 m = x->mask, cc = VX_PRED(x, in->x), to = 0;                   \
		u32 from = in->op & 1 ? cc : in->op & 4 ? ~0u : 0;                 \
                                                                                   \
		for (int i = 0; i < LANES; i++) {                                  \
			T other = in->op & 4 ? (T)~b[i] : b[i];                    \
			WIDER r = (WIDER)a[i] + other + BIT(from);                 \
			to |= (u32)(r >> (8 * sizeof(T)) & 1) << i;                \
			d[i] = BIT(m) ? (T)r : d[i];                               \
		}                                                                  \
		if (in->op & 2)                                                    \
			VX_PRED(x, in->x) = (cc & ~m) | (to & m);                  \
		return in + 1;                                                     \
	}
CARRY(carry_u32, u32, u64)
CARRY(carry_u64, u64, u128)

VEC_TABLE(vgpu_vec_int) = {OPS(VOP_ENTRY, VOP_ENTRY, VOP_ENTRY)
				   MIXED(VOP_ENTRY){"bfi_b32", op_bfi_b32},
	{"bfi_b64", op_bfi_b64}, {"carry_u32", op_carry_u32}, {"carry_u64", op_carry_u64},
	{NULL, NULL}};
