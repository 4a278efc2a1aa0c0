/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Pairs of f16 in a register, and their matrix products. A pair of immediates is two operands,
 * the upper half first. ptxas also uses HFMA2.MMA to move constants. */
#include "sass_ops.h"

#include "approx.h"

#define EACH for (unsigned i = 0; i < LANES; i++)

struct pair {
	double v[LANES][2];
};

/* Reads the operand at *io_k, and advances *io_k. */
static void pair(struct sass_x *x, const struct sass_insn *in, unsigned *io_k, struct pair *ret)
{
	const struct sass_opd *o = &in->o[(*io_k)++];
	lanes32 t;

	if (o->kind == O_FLOAT) {
		const struct sass_opd *lo = &in->o[(*io_k)++];
		EACH
		{
			ret->v[i][0] = lo->neg ? -lo->f : lo->f;
			ret->v[i][1] = o->neg ? -o->f : o->f;
		}
		return;
	}
	const uint32_t *u = get_word(x, o, 0, t);
	EACH for (unsigned e = 0; e < 2; e++)
	{
		unsigned half = o->half == 1 ? 0 : o->half == 2 ? 1 : e;
		double v = (double)sass_half_to_f32(u[i] >> 16 * half, false);

		v = o->abs ? __builtin_fabs(v) : v;
		ret->v[i][e] = o->neg ? -v : v;
	}
}

static enum sass_next put_pair(
	struct sass_x *x, const struct sass_insn *in, const struct pair *p, unsigned used)
{
	lanes32 r;

	if (used != in->n)
		return sass_unknown(x, in, "operands");
	EACH r[i] = sass_half_from_f64(p->v[i][0], false, false) |
		    sass_half_from_f64(p->v[i][1], false, false) << 16;
	put32(x, &in->o[0], r);
	return N_NEXT;
}

/* .F32: the sum of the lower halves as a float. */
enum sass_next op_hadd2(struct sass_x *x, const struct sass_insn *in)
{
	struct pair a, b;
	unsigned k = 1;
	lanes32 r;

	pair(x, in, &k, &a);
	pair(x, in, &k, &b);
	EACH for (unsigned e = 0; e < 2; e++) a.v[i][e] += b.v[i][e];
	if (!has(in, M_F32))
		return put_pair(x, in, &a, k);
	EACH r[i] = a.v[i][0] == a.v[i][0] ? u32_of((float)a.v[i][0]) : 0x7fffffffu;
	put32(x, &in->o[0], r);
	return N_NEXT;
}

enum sass_next op_hmul2(struct sass_x *x, const struct sass_insn *in)
{
	struct pair a, b;
	unsigned k = 1;

	pair(x, in, &k, &a);
	pair(x, in, &k, &b);
	EACH for (unsigned e = 0; e < 2; e++) a.v[i][e] *= b.v[i][e];
	return put_pair(x, in, &a, k);
}

/* The product is exact in a double. An inexact sum is rounded to odd, so that a second rounding
 * is correct. */
static double fma_odd(double a, double b, double c)
{
	double p = a * b, s = p + c, t = s - p, err = (p - (s - t)) + (c - t);
	uint64_t u = u64_of(s);

	if (err != 0.0 && !(u & 1) && s - s == 0.0) {
		u = (err < 0.0) == (s > 0.0) ? u - 1 : u;
		s = f64_of(u | 1);
	}
	return s;
}

enum sass_next op_hfma2(struct sass_x *x, const struct sass_insn *in)
{
	struct pair a, b, c;
	unsigned k = 1;

	pair(x, in, &k, &a);
	pair(x, in, &k, &b);
	pair(x, in, &k, &c);
	EACH for (unsigned e = 0; e < 2; e++) a.v[i][e] = fma_odd(a.v[i][e], b.v[i][e], c.v[i][e]);
	return put_pair(x, in, &a, k);
}

/* F2FP.F16.F32.PACK_AB r, upper, lower */
enum sass_next op_f2fp(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 ta, tb, r;
	const uint32_t *a = get_f32(x, &in->o[1], ta), *b = get_f32(x, &in->o[2], tb);
	bool brain = has(in, M_BF16), zero = has(in, M_RZ);

	if (in->n != 3 || !has(in, M_PACK_AB))
		return sass_unknown(x, in, "operands");
	EACH r[i] = sass_half_from_f64((double)f32_of(a[i]), brain, zero) << 16 |
		    sass_half_from_f64((double)f32_of(b[i]), brain, zero);
	put32(x, &in->o[0], r);
	return N_NEXT;
}

/* HMMA.16816.F32 d, a, b, c */
enum sass_next op_hmma(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 a[4], b[2], c[4], d[4], t;

	if (in->n != 4 || !has(in, M_16816) || !has(in, M_F32) || x->mask != ~0u)
		return sass_unknown(x, in, "shape, or lanes are missing");
	for (unsigned k = 0; k < 4; k++) {
		memcpy(a[k], get_word(x, &in->o[1], k, t), sizeof(t));
		memcpy(c[k], get_word(x, &in->o[3], k, t), sizeof(t));
	}
	for (unsigned k = 0; k < 2; k++)
		memcpy(b[k], get_word(x, &in->o[2], k, t), sizeof(t));
	sass_mma_16816((const lanes32 *)a, (const lanes32 *)b, (const lanes32 *)c, d);
	for (unsigned k = 0; k < 4; k++)
		put_word(x, &in->o[0], k, d[k]);
	return N_NEXT;
}
