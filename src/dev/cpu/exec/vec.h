/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Operations on 32 lanes, one line each, where a, b, c are the operands of one lane. Files that
 * include this header are compiled once for each kind of host CPU (VEC_ISA), and the compiler turns
 * each loop into vector instructions. Lanes outside the mask keep their destination, but their
 * values are computed too, so an expression must not trap for any operands. */
#ifndef HEDDLE_VGPU_VEC_H
#define HEDDLE_VGPU_VEC_H

#include "exec.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#define VEC_JOIN(a, b)  a##_##b
#define VEC_JOIN2(a, b) VEC_JOIN(a, b)
#define VEC_TABLE(name) const struct vop_entry VEC_JOIN2(name, VEC_ISA)[]

#if defined(__clang__)
#define VEC_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define VEC_LOOP _Pragma("GCC ivdep")
#endif
#define EACH     VEC_LOOP for (int i = 0; i < LANES; i++)
#define BIT(m)   (((m) >> i) & 1)
#define INLINE   static inline __attribute__((always_inline))
#define ALIGN(p) __builtin_assume_aligned(p, 64)

/* Defines a handler. S and D are the storage types of source and destination. T is the type in
 * which the expression reads a, b and c. */
#define VOP(name, D, S, T, LOADS, expr)                                            \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const S *pa = ALIGN(VX_PTR(x, in->a));                             \
		const S *pb = ALIGN(VX_PTR(x, in->b));                             \
		const S *pc = ALIGN(VX_PTR(x, in->c));                             \
		D *pd = ALIGN(VX_PTR(x, in->d));                                   \
		uint32_t m = x->mask;                                              \
                                                                                   \
		(void)pb, (void)pc;                                                \
		if (m == ~0u) {                                                    \
			EACH                                                       \
			{                                                          \
				LOADS(T);                                          \
				pd[i] = (D)(expr);                                 \
			}                                                          \
		} else {                                                           \
			EACH                                                       \
			{                                                          \
				LOADS(T);                                          \
				D r = (D)(expr);                                   \
				pd[i] = BIT(m) ? r : pd[i];                        \
			}                                                          \
		}                                                                  \
		return in + 1;                                                     \
	}
#define LOAD1(T) T a = (T)pa[i]
#define LOAD2(T) T a = (T)pa[i], b = (T)pb[i]
#define LOAD3(T) T a = (T)pa[i], b = (T)pb[i], c = (T)pc[i]

#define VOP_ENTRY(name, ...)      {#name, op_##name},
#define VOP1(name, D, S, T, expr) VOP(name, D, S, T, LOAD1, expr)
#define VOP2(name, D, S, T, expr) VOP(name, D, S, T, LOAD2, expr)
#define VOP3(name, D, S, T, expr) VOP(name, D, S, T, LOAD3, expr)

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;
typedef float f32;
typedef double f64;
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

INLINE u32 f32_bits(f32 f)
{
	u32 u;
	memcpy(&u, &f, 4);
	return u;
}
INLINE f32 bits_f32(u32 u)
{
	f32 f;
	memcpy(&f, &u, 4);
	return f;
}
INLINE u64 f64_bits(f64 f)
{
	u64 u;
	memcpy(&u, &f, 8);
	return u;
}
INLINE f64 bits_f64(u64 u)
{
	f64 f;
	memcpy(&f, &u, 8);
	return f;
}

/* On the hardware, all operations return the same NaN. */
INLINE f32 canon32(f32 f)
{
	return f == f ? f : bits_f32(0x7fffffffu);
}
INLINE f64 canon64(f64 f)
{
	return f == f ? f : bits_f64(0xfff8000000000000ull);
}
INLINE f32 flush32(f32 f)
{
	u32 u = f32_bits(f);
	return bits_f32(u & 0x7f800000u ? u : u & 0x80000000u);
}
/* Clamps to [0, 1]. NaN becomes 0. */
INLINE f32 sat32(f32 f)
{
	f = f > 0.0f ? f : 0.0f;
	return f < 1.0f ? f : 1.0f;
}
INLINE f64 sat64(f64 f)
{
	f = f > 0.0 ? f : 0.0;
	return f < 1.0 ? f : 1.0;
}

/* Sets the host's rounding mode before the instruction's loop, unless it is round-to-nearest.
 * round_end restores round-to-nearest. */
INLINE void round_begin(const struct vinsn *in)
{
	static const int modes[] = {
		FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD, FE_TONEAREST};

	if (__builtin_expect(in->round != VR_RN, 0))
		fesetround(modes[in->round]);
}
INLINE void round_end(const struct vinsn *in)
{
	if (__builtin_expect(in->round != VR_RN, 0))
		fesetround(FE_TONEAREST);
}

#endif
