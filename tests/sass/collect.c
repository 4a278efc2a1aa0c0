/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Instructions by which lanes of a warp exchange values: votes, shuffles, matches, reductions.
 * They involve only the lanes of the part that runs them. */
#include "sass_ops.h"

#define EACH for (unsigned i = 0; i < LANES; i++)

/* VOTE.x [r,] p, q */
enum sass_next op_vote(struct sass_x *x, const struct sass_insn *in)
{
	const struct sass_opd *q = &in->o[in->n - 1], *p = &in->o[in->n - 2];
	uint32_t v = get_pred(x, q) & x->mask, r;
	lanes32 t;

	if (in->n < 2 || in->n > 3)
		return sass_unknown(x, in, "operands");
	r = has(in, M_ALL) ? v == x->mask : has(in, M_ANY) ? v != 0 : !v || v == x->mask;
	EACH t[i] = v;
	if (in->n == 3)
		put32(x, &in->o[0], t);
	put_pred(x, p, r ? ~0u : 0);
	return N_NEXT;
}

static bool shfl_source(
	const struct sass_insn *in, unsigned i, uint32_t b, uint32_t c, unsigned *ret)
{
	uint32_t seg = c >> 8 & 31, clamp = c & 31, lo = i & seg, hi = lo | (clamp & ~seg);
	int32_t j;
	bool ok;

	b &= 31;
	if (has(in, M_UP)) {
		j = (int32_t)i - (int32_t)b;
		ok = j >= (int32_t)(lo | (clamp & ~seg));
	} else if (has(in, M_DOWN)) {
		j = (int32_t)(i + b);
		ok = j <= (int32_t)hi;
	} else if (has(in, M_BFLY)) {
		j = (int32_t)(i ^ b);
		ok = j <= (int32_t)hi;
	} else {
		j = (int32_t)(lo | (b & ~seg));
		ok = j <= (int32_t)hi;
	}
	*ret = ok ? (unsigned)j & 31 : i;
	return ok;
}

/* SHFL.x p, r, a, b, c. The value of an inactive lane is undefined; here it is zero. */
enum sass_next op_shfl(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 ta, tb, tc, r;
	const uint32_t *a = get32(x, &in->o[2], ta), *b = get32(x, &in->o[3], tb);
	const uint32_t *c = get32(x, &in->o[4], tc);
	uint32_t p = 0;

	if (in->n != 5)
		return sass_unknown(x, in, "operands");
	EACH
	{
		unsigned from;
		bool ok = shfl_source(in, i, b[i], c[i], &from);

		r[i] = x->mask >> from & 1 ? a[from] : 0;
		p |= (uint32_t)ok << i;
	}
	put32(x, &in->o[1], r);
	put_pred(x, &in->o[0], p);
	return N_NEXT;
}

/* MATCH.ANY r, a; MATCH.ALL p, r, a */
enum sass_next op_match(struct sass_x *x, const struct sass_insn *in)
{
	bool all = in->o[0].kind == O_PRED;
	const struct sass_opd *o = &in->o[all ? 1 : 0];
	lanes32 t, r;
	lanes64 v;
	uint32_t p;

	if (has(in, M_U64)) {
		get64(x, o + 1, v);
	} else {
		const uint32_t *a = get32(x, o + 1, t);
		EACH v[i] = a[i];
	}
	EACH
	{
		r[i] = 0;
		for (unsigned k = 0; k < LANES; k++)
			if (x->mask >> k & 1 && v[k] == v[i])
				r[i] |= 1u << k;
	}
	p = x->mask && r[__builtin_ctz(x->mask)] == x->mask ? ~0u : 0;
	if (all)
		EACH r[i] = p ? x->mask : 0;
	put32(x, o, r);
	if (all)
		put_pred(x, &in->o[0], p);
	return N_NEXT;
}

static uint32_t reduce(const struct sass_insn *in, uint32_t a, uint32_t b)
{
	bool less = has(in, M_S32) ? (int32_t)a < (int32_t)b : a < b;

	if (has(in, M_SUM))
		return a + b;
	if (has(in, M_MIN))
		return less ? a : b;
	if (has(in, M_MAX))
		return less ? b : a;
	if (has(in, M_OR))
		return a | b;
	if (has(in, M_XOR))
		return a ^ b;
	return a & b; /* AND has no modifier of its own */
}

enum sass_next op_redux(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 t, r;
	const uint32_t *a = get32(x, &in->o[1], t);
	uint32_t v = 0;
	bool first = true;

	EACH if (x->mask >> i & 1)
	{
		v = first ? a[i] : reduce(in, v, a[i]);
		first = false;
	}
	EACH r[i] = v;
	put32(x, &in->o[0], r);
	return N_NEXT;
}
