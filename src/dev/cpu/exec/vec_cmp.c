/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Comparisons and selections. f16 and bf16 values are compared as f32.
 * - setp writes the result to in->d and the result's complement to in->x. Before that, each of the
 *   two is combined with predicate in->c. in->op says how: 0 not at all, 1 and, 2 or, 3 xor; 4 is
 *   added if the predicate is negated.
 * - set writes all ones or 1.0 to in->d for true. */
#include "vec.h"

INLINE u32 combine(struct vx *x, const struct vinsn *in, u32 r)
{
	u32 c;

	if (!in->op)
		return r;
	c = VX_PRED(x, in->c) ^ (in->op & 4 ? ~0u : 0);
	switch (in->op & 3) {
	case 1:
		return r & c;
	case 2:
		return r | c;
	default:
		return r ^ c;
	}
}

INLINE const struct vinsn *put_preds(struct vx *x, const struct vinsn *in, u32 r)
{
	u32 m = x->mask;
	u32 p = combine(x, in, r), q = in->x != VX_NONE ? combine(x, in, ~r) : 0;

	VX_PRED(x, in->d) = (VX_PRED(x, in->d) & ~m) | (p & m);
	if (in->x != VX_NONE)
		VX_PRED(x, in->x) = (VX_PRED(x, in->x) & ~m) | (q & m);
	return in + 1;
}

/* Stores the result of set: in->imm is the value that means true. */
INLINE const struct vinsn *put_words(struct vx *x, const struct vinsn *in, u32 r)
{
	u32 *d = ALIGN(VX_PTR(x, in->d)), m = x->mask, yes = (u32)in->imm;

	r = combine(x, in, r);
	EACH d[i] = BIT(m) ? (BIT(r) ? yes : 0) : d[i];
	return in + 1;
}

#define COMPARE(name, S, T, expr)                                                       \
	INLINE u32 cmp_##name(struct vx *x, const struct vinsn *in)                     \
	{                                                                               \
		const S *pa = ALIGN(VX_PTR(x, in->a)), *pb = ALIGN(VX_PTR(x, in->b));   \
		u32 r = 0;                                                              \
                                                                                        \
		EACH                                                                    \
		{                                                                       \
			T a = (T)pa[i], b = (T)pb[i];                                   \
			r |= (expr) ? 1u << i : 0;                                      \
		}                                                                       \
		return r;                                                               \
	}                                                                               \
	static const struct vinsn *op_setp_##name(struct vx *x, const struct vinsn *in) \
	{                                                                               \
		return put_preds(x, in, cmp_##name(x, in));                             \
	}                                                                               \
	static const struct vinsn *op_set_##name(struct vx *x, const struct vinsn *in)  \
	{                                                                               \
		return put_words(x, in, cmp_##name(x, in));                             \
	}
#define PAIR(name, ...) {"setp_" #name, op_setp_##name}, {"set_" #name, op_set_##name},

#define SIX(X, S, T)            \
	X(eq_##T, S, T, a == b) \
	X(ne_##T, S, T, a != b) \
	X(lt_##T, S, T, a < b)  \
	X(le_##T, S, T, a <= b) \
	X(gt_##T, S, T, a > b)  \
	X(ge_##T, S, T, a >= b)
#define FLOATS(X, T)                        \
	X(eq_##T, T, T, a == b)             \
	X(ne_##T, T, T, a<b || a> b)        \
	X(lt_##T, T, T, a < b)              \
	X(le_##T, T, T, a <= b)             \
	X(gt_##T, T, T, a > b)              \
	X(ge_##T, T, T, a >= b)             \
	X(equ_##T, T, T, !(a < b || a > b)) \
	X(neu_##T, T, T, a != b)            \
	X(ltu_##T, T, T, !(a >= b))         \
	X(leu_##T, T, T, !(a > b))          \
	X(gtu_##T, T, T, !(a <= b))         \
	X(geu_##T, T, T, !(a < b))          \
	X(num_##T, T, T, a == a && b == b)  \
	X(nan_##T, T, T, a != a || b != b)
#define ALL(X)           \
	SIX(X, u32, u16) \
	SIX(X, u32, s16) \
	SIX(X, u32, u32) \
	SIX(X, u32, s32) SIX(X, u64, u64) SIX(X, u64, s64) FLOATS(X, f32) FLOATS(X, f64)
ALL(COMPARE)

/* Copies and flushes both operands, before a comparison with .ftz. */
static const struct vinsn *op_flush_ab(struct vx *x, const struct vinsn *in)
{
	const f32 *a = ALIGN(VX_PTR(x, in->a)), *b = ALIGN(VX_PTR(x, in->b));
	f32 *d = ALIGN(VX_PTR(x, in->d)), *e = ALIGN(VX_PTR(x, in->c));

	EACH
	{
		d[i] = flush32(a[i]);
		e[i] = flush32(b[i]);
	}
	return in + 1;
}

/* selp: c is the predicate, which is negated if in->op is 4. */
#define SELECT(name, S)                                                               \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in)    \
	{                                                                             \
		const S *pa = ALIGN(VX_PTR(x, in->a)), *pb = ALIGN(VX_PTR(x, in->b)); \
		S *pd = ALIGN(VX_PTR(x, in->d));                                      \
		u32 m = x->mask, p = VX_PRED(x, in->c) ^ (in->op & 4 ? ~0u : 0);      \
                                                                                      \
		EACH                                                                  \
		{                                                                     \
			S r = BIT(p) ? pa[i] : pb[i];                                 \
			pd[i] = BIT(m) ? r : pd[i];                                   \
		}                                                                     \
		return in + 1;                                                        \
	}
SELECT(selp_b32, u32)
SELECT(selp_b64, u64)

/* slct: selects a if c >= 0, else b. */
#define SLCT(name, S, C)                                                                        \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in)              \
	{                                                                                       \
		const S *pa = ALIGN(VX_PTR(x, in->a)), *pb = ALIGN(VX_PTR(x, in->b));           \
		const C *pc = ALIGN(VX_PTR(x, in->c));                                          \
		S *pd = ALIGN(VX_PTR(x, in->d));                                                \
		u32 m = x->mask;                                                                \
                                                                                                \
		EACH                                                                            \
		{                                                                               \
			S r = pc[i] >= 0 || (in->op & 1 && pc[i] > -0x1p-126f) ? pa[i] : pb[i]; \
			pd[i] = BIT(m) ? r : pd[i];                                             \
		}                                                                               \
		return in + 1;                                                                  \
	}
SLCT(slct_b32_s32, u32, s32)
SLCT(slct_b32_f32, u32, f32)
SLCT(slct_b64_s32, u64, s32)
SLCT(slct_b64_f32, u64, f32)

/* Defines logic on predicates. in->op & 1 negates a, and in->op & 2 negates b. */
#define PRED(name, expr)                                                           \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		u32 m = x->mask;                                                   \
		u32 a = VX_PRED(x, in->a) ^ (in->op & 1 ? ~0u : 0);                \
		u32 b = VX_PRED(x, in->b) ^ (in->op & 2 ? ~0u : 0);                \
                                                                                   \
		(void)b;                                                           \
		VX_PRED(x, in->d) = (VX_PRED(x, in->d) & ~m) | ((expr)&m);         \
		return in + 1;                                                     \
	}
PRED(and_pred, a &b)
PRED(or_pred, a | b)
PRED(xor_pred, a ^ b)
PRED(not_pred, ~a)
PRED(mov_pred, a)

/* testp examines the bits of a value, so the result does not depend on the host's floating-point
 * settings. */
INLINE u32 class32(f32 f)
{
	u32 e = f32_bits(f) >> 23 & 0xff, frac = f32_bits(f) & 0x7fffff;

	return e == 0xff ? (frac ? 2 : 1) : e ? 4 : 8 | (frac ? 0 : 16);
}
INLINE u32 class64(f64 f)
{
	u64 e = f64_bits(f) >> 52 & 0x7ff, frac = f64_bits(f) & 0xfffffffffffffull;

	return e == 0x7ff ? (frac ? 2 : 1) : e ? 4 : 8 | (frac ? 0 : 16);
}
/* in->size is the set of classes for which testp gives true: 1 infinite, 2 NaN, 4 normal, 8
 * subnormal, 16 zero. */
#define TESTP(name, S, fn)                                                         \
	static const struct vinsn *op_##name(struct vx *x, const struct vinsn *in) \
	{                                                                          \
		const S *pa = ALIGN(VX_PTR(x, in->a));                             \
		u32 m = x->mask, r = 0;                                            \
                                                                                   \
		for (int i = 0; i < LANES; i++) {                                  \
			u32 c = fn(pa[i]);                                         \
			c = c & 16 ? 16 : c;                                       \
			r |= (c & in->size ? 1u : 0) << i;                         \
		}                                                                  \
		VX_PRED(x, in->d) = (VX_PRED(x, in->d) & ~m) | (r & m);            \
		return in + 1;                                                     \
	}
TESTP(testp_f32, f32, class32)
TESTP(testp_f64, f64, class64)

VEC_TABLE(vgpu_vec_cmp) = {ALL(PAIR) VOP_ENTRY(flush_ab) VOP_ENTRY(selp_b32) VOP_ENTRY(selp_b64)
		VOP_ENTRY(slct_b32_s32) VOP_ENTRY(slct_b32_f32) VOP_ENTRY(slct_b64_s32)
			VOP_ENTRY(slct_b64_f32) VOP_ENTRY(and_pred) VOP_ENTRY(or_pred)
				VOP_ENTRY(xor_pred) VOP_ENTRY(not_pred) VOP_ENTRY(mov_pred)
					VOP_ENTRY(testp_f32) VOP_ENTRY(testp_f64){NULL, NULL}};
