/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Integer, logic and predicate instructions, and moves. Each function also handles the
 * instruction's variant with uniform registers. It computes all lanes, but stores only those of the
 * mask. */
#include "sass_ops.h"

#define EACH for (unsigned i = 0; i < LANES; i++)
/* Operand k after the predicate results. */
#define SRC(k)    (&in->o[in->n_pred_out + 1 + (k)])
#define GET(k, t) get32(x, SRC(k), t)
#define N_SRC     ((unsigned)(in->n - in->n_pred_out - 1))

static const struct sass_opd pred_true = {.kind = O_PRED, .reg = PT};

/* Returns the k-th predicate among the source operands, counted from 0; PT if there is none. */
static const struct sass_opd *pred_src(const struct sass_insn *in, unsigned k)
{
	return k < N_SRC ? SRC(k) : &pred_true;
}

enum sass_next op_nop(struct sass_x *x, const struct sass_insn *in)
{
	(void)x, (void)in;
	return N_NEXT;
}

enum sass_next op_mov(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 t;

	put32(x, &in->o[0], GET(0, t));
	return N_NEXT;
}

/* Adds three summands and up to two carries. A negated summand is added as its complement plus one,
 * as in hardware, which may set a carry. */
enum sass_next op_iadd3(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, t;
	lanes64 sum = {0};
	uint32_t out[2] = {0};
	bool ex = has(in, M_X);

	for (unsigned k = 0; k < 3; k++) {
		const struct sass_opd *o = SRC(k);
		const uint32_t *v = get_word(x, o, 0, t);

		if (o->neg && o->kind == O_IMM)
			EACH sum[i] += 0u - v[i]; /* a constant, merely written with a minus sign */
		else if (o->neg)
			EACH sum[i] += (uint64_t)~v[i] + !ex;
		else if (o->inv)
			EACH sum[i] += (uint32_t)~v[i];
		else
			EACH sum[i] += v[i];
		if (o->neg && ex && o->kind != O_IMM)
			return sass_unknown(x, in, "a negative summand of .X");
	}
	if (ex) {
		uint32_t p = get_pred(x, pred_src(in, 3)), q = N_SRC > 4 ? get_pred(x, SRC(4)) : 0;
		EACH sum[i] += (p >> i & 1) + (q >> i & 1);
	}
	EACH
	{
		r[i] = (uint32_t)sum[i];
		out[0] |= (uint32_t)(sum[i] >> 32 != 0) << i;
		out[1] |= (uint32_t)(sum[i] >> 32 > 1) << i;
	}
	put32(x, &in->o[0], r);
	for (unsigned k = 0; k < in->n_pred_out; k++)
		put_pred(x, &in->o[1 + k], out[k & 1]);
	return N_NEXT;
}

enum sass_next op_viadd(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb;
	const uint32_t *a = GET(0, ta), *b = GET(1, tb);

	EACH r[i] = a[i] + b[i];
	put32(x, &in->o[0], r);
	return N_NEXT;
}

static enum sass_next imad_wide(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 ta, tb;
	lanes64 tc, r;
	const uint32_t *a = GET(0, ta), *b = GET(1, tb);
	const uint64_t *c = get64(x, SRC(2), tc);
	uint32_t p = has(in, M_X) ? get_pred(x, pred_src(in, 3)) : 0, out = 0;

	EACH
	{
		uint64_t m = has(in, M_U32) ? (uint64_t)a[i] * b[i]
					    : (uint64_t)((int64_t)(int32_t)a[i] * (int32_t)b[i]);
		__extension__ unsigned __int128 s = (unsigned __int128)m + c[i] + (p >> i & 1);
		r[i] = (uint64_t)s;
		out |= (uint32_t)(s >> 64 != 0) << i;
	}
	if (has(in, M_HI)) {
		/* Keeps only the upper half. */
		lanes32 h;
		EACH h[i] = (uint32_t)(r[i] >> 32);
		put32(x, &in->o[0], h);
	} else {
		put64(x, &in->o[0], r);
	}
	if (in->n_pred_out)
		put_pred(x, &in->o[1], out);
	return N_NEXT;
}

enum sass_next op_imad(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb, tc;
	uint32_t p, out = 0;

	if (has(in, M_WIDE) || (has(in, M_HI) && !has(in, M_X)))
		return imad_wide(x, in);
	if (has(in, M_HI))
		return sass_unknown(x, in, "the upper half with a carry");
	const uint32_t *a = GET(0, ta), *b = GET(1, tb), *c = GET(2, tc);
	p = has(in, M_X) ? get_pred(x, pred_src(in, 3)) : 0;
	EACH
	{
		uint64_t s = (uint64_t)(a[i] * b[i]) + c[i] + (p >> i & 1);
		r[i] = (uint32_t)s;
		out |= (uint32_t)(s >> 32 != 0) << i;
	}
	put32(x, &in->o[0], r);
	if (in->n_pred_out)
		put_pred(x, &in->o[1], out);
	return N_NEXT;
}

/* (a << s) + b; .HI: the upper half of (c:a << s); with .SX32, c is a's sign. */
enum sass_next op_lea(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb, tc, ts;
	bool hi = has(in, M_HI), sx = has(in, M_SX32);
	const uint32_t *a = get_word(x, SRC(0), 0, ta), *b = GET(1, tb), *c = NULL;
	unsigned k = 2;
	uint32_t p, out = 0;

	if (hi && !sx)
		c = GET(k++, tc);
	const uint32_t *s = GET(k++, ts);
	p = has(in, M_X) ? get_pred(x, pred_src(in, k)) : 0;
	if (SRC(0)->inv || SRC(0)->abs || (SRC(0)->neg && (hi || has(in, M_X))))
		return sass_unknown(x, in, "a sign");
	EACH
	{
		uint64_t v = (uint64_t)(c    ? c[i]
					: sx ? (uint32_t)((int32_t)a[i] >> 31)
					     : 0)
				     << 32 |
			     a[i];
		uint32_t w = (uint32_t)(hi ? v << (s[i] & 31) >> 32 : v << (s[i] & 31));
		uint64_t sum =
			SRC(0)->neg ? (uint64_t)~w + 1 + b[i] : (uint64_t)w + b[i] + (p >> i & 1);
		r[i] = (uint32_t)sum;
		out |= (uint32_t)(sum >> 32 != 0) << i;
	}
	put32(x, &in->o[0], r);
	if (in->n_pred_out)
		put_pred(x, &in->o[1], out);
	return N_NEXT;
}

static uint32_t lut3(uint32_t a, uint32_t b, uint32_t c, unsigned lut)
{
	uint32_t r = 0;

	for (unsigned k = 0; k < 8; k++)
		if (lut >> k & 1)
			r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
	return r;
}

/* LOP3.LUT [p,] d, a, b, c, lut, q: p is true if d is not zero or q is true. */
enum sass_next op_lop3(struct sass_x *x, const struct sass_insn *in)
{
	bool pred = in->o[0].kind == O_PRED || in->o[0].kind == O_UPRED;
	unsigned first = pred ? 1 : 0;
	const struct sass_opd *o = &in->o[first];
	lanes32 r, ta, tb, tc;
	const uint32_t *a = get32(x, o + 1, ta), *b = get32(x, o + 2, tb), *c = get32(x, o + 3, tc);
	unsigned lut = (unsigned)o[4].imm;
	uint32_t p = 0, q = get_pred(x, o + 5);

	if (o[4].kind != O_IMM)
		return sass_unknown(x, in, "a table that is no immediate");
	EACH r[i] = lut3(a[i], b[i], c[i], lut);
	EACH p |= (uint32_t)(r[i] != 0) << i;
	put32(x, o, r);
	if (pred)
		put_pred(x, &in->o[0], p | q);
	return N_NEXT;
}

/* PLOP3.LUT d, e, a, b, c, lut of d, lut of e */
enum sass_next op_plop3(struct sass_x *x, const struct sass_insn *in)
{
	uint32_t a = get_pred(x, &in->o[2]), b = get_pred(x, &in->o[3]), c = get_pred(x, &in->o[4]);

	if (in->n != 7)
		return sass_unknown(x, in, "operands");
	put_pred(x, &in->o[0], lut3(a, b, c, (unsigned)in->o[5].imm));
	put_pred(x, &in->o[1], lut3(a, b, c, (unsigned)in->o[6].imm));
	return N_NEXT;
}

/* SHF.{L,R} d, lo, shift, hi: shifts hi:lo, and returns the lower half or (.HI) the upper one. */
enum sass_next op_shf(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb, tc;
	const uint32_t *lo = GET(0, ta), *sh = GET(1, tb), *hi = GET(2, tc);
	bool wide = has(in, M_U64) || has(in, M_S64), sign = has(in, M_S32) || has(in, M_S64);
	uint32_t bits = wide ? 64 : 32;

	EACH
	{
		uint64_t v = (uint64_t)hi[i] << 32 | lo[i];
		uint32_t s = has(in, M_W) ? sh[i] & (bits - 1) : MIN(sh[i], bits);

		if (has(in, M_L))
			v = s > 63 ? 0 : v << s;
		else if (sign)
			v = (uint64_t)((int64_t)v >> MIN(s, 63u));
		else
			v = s > 63 ? 0 : v >> s;
		r[i] = (uint32_t)(has(in, M_HI) ? v >> 32 : v);
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

static uint32_t prmt_selector(const struct sass_insn *in, uint32_t s)
{
	static const uint16_t tables[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543},
		{0x5670, 0x6701, 0x7012, 0x0123}, {0x0000, 0x1111, 0x2222, 0x3333},
		{0x3210, 0x3211, 0x3222, 0x3333}, {0x0000, 0x1110, 0x2210, 0x3210},
		{0x1010, 0x3232, 0x1010, 0x3232}};
	static const enum sass_mod mods[] = {M_F4E, M_B4E, M_RC8, M_ECL, M_ECR, M_RC16};

	for (unsigned k = 0; k < 6; k++)
		if (has(in, mods[k]))
			return tables[k][s & 3];
	return s;
}

enum sass_next op_prmt(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb, tc;
	const uint32_t *a = GET(0, ta), *s = GET(1, tb), *c = GET(2, tc);

	EACH
	{
		uint64_t v = (uint64_t)c[i] << 32 | a[i];
		uint32_t sel = prmt_selector(in, s[i]);

		r[i] = 0;
		for (unsigned k = 0; k < 4; k++) {
			uint32_t n = sel >> 4 * k & 15, byte = (uint32_t)(v >> 8 * (n & 7)) & 0xff;

			if (n & 8)
				byte = byte & 0x80 ? 0xff : 0;
			r[i] |= byte << 8 * k;
		}
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

/* op: 1 for FSEL, whose operands have floats' signs. */
enum sass_next op_sel(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb;
	const uint32_t *a = in->op ? get_f32(x, SRC(0), ta) : GET(0, ta);
	const uint32_t *b = in->op ? get_f32(x, SRC(1), tb) : GET(1, tb);
	uint32_t p = get_pred(x, pred_src(in, 2));

	EACH r[i] = p >> i & 1 ? a[i] : b[i];
	EACH r[i] = has(in, M_FTZ) && !(r[i] & 0x7f800000u) ? r[i] & 0x80000000u : r[i];
	put32(x, &in->o[0], r);
	return N_NEXT;
}

static uint32_t combine(const struct sass_insn *in, uint32_t v, uint32_t q)
{
	return has(in, M_OR) ? v | q : has(in, M_XOR) ? v ^ q : v & q;
}

/* ISETP p, q, a, b, c [, e]: p = (a ? b) with c, q = !(a ? b) with c. .EX: a and b are upper
 * halves, and e is the result for the lower ones. */
enum sass_next op_isetp(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 ta, tb;
	const struct sass_opd *o = in->o;
	const uint32_t *a = get32(x, o + 2, ta), *b = get32(x, o + 3, tb);
	uint32_t lt = 0, eq = 0, v, c = get_pred(x, o + 4), low;

	if (in->n != (has(in, M_EX) ? 6 : 5))
		return sass_unknown(x, in, "operands");
	EACH
	{
		bool less = has(in, M_U32) ? a[i] < b[i] : (int32_t)a[i] < (int32_t)b[i];
		lt |= (uint32_t)less << i;
		eq |= (uint32_t)(a[i] == b[i]) << i;
	}
	/* Whether the comparison holds for equal operands. */
	low = has(in, M_EX) ? get_pred(x, o + 5)
			    : (has(in, M_LE) || has(in, M_GE) || has(in, M_EQ) ? ~0u : 0);
	if (has(in, M_EQ))
		v = eq & low;
	else if (has(in, M_NE))
		v = ~eq | (eq & low);
	else if (has(in, M_LT) || has(in, M_LE))
		v = lt | (eq & low);
	else
		v = (~lt & ~eq) | (eq & low);
	put_pred(x, o, combine(in, v, c));
	put_pred(x, o + 1, combine(in, ~v, c));
	return N_NEXT;
}

enum sass_next op_iabs(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, t;
	const uint32_t *a = GET(0, t);

	EACH r[i] = (int32_t)a[i] < 0 ? 0 - a[i] : a[i];
	put32(x, &in->o[0], r);
	return N_NEXT;
}

static uint32_t lesser(const struct sass_insn *in, uint32_t a, uint32_t b, bool least)
{
	bool less = has(in, M_U32) ? a < b : (int32_t)a < (int32_t)b;

	return less == least ? a : b;
}

enum sass_next op_vimnmx(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb;
	const uint32_t *a = GET(0, ta), *b = GET(1, tb);
	uint32_t p = get_pred(x, pred_src(in, 2));

	EACH r[i] = lesser(in, a[i], b[i], p >> i & 1);
	put32(x, &in->o[0], r);
	return N_NEXT;
}

enum sass_next op_vimnmx3(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb, tc;
	const uint32_t *a = GET(0, ta), *b = GET(1, tb), *c = GET(2, tc);
	uint32_t p = get_pred(x, pred_src(in, 3));

	EACH r[i] = lesser(in, lesser(in, a[i], b[i], p >> i & 1), c[i], p >> i & 1);
	put32(x, &in->o[0], r);
	return N_NEXT;
}

enum sass_next op_viaddmnmx(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb, tc;
	const uint32_t *a = GET(0, ta), *b = GET(1, tb), *c = GET(2, tc);
	uint32_t p = get_pred(x, pred_src(in, 3));

	EACH r[i] = lesser(in, a[i] + b[i], c[i], p >> i & 1);
	put32(x, &in->o[0], r);
	return N_NEXT;
}

enum sass_next op_vabsdiff(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb, tc;
	const uint32_t *a = GET(0, ta), *b = GET(1, tb), *c = GET(2, tc);

	EACH
	{
		bool less = has(in, M_U32) ? a[i] < b[i] : (int32_t)a[i] < (int32_t)b[i];
		r[i] = (less ? b[i] - a[i] : a[i] - b[i]) + c[i];
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

enum sass_next op_popc(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, t;
	const uint32_t *a = GET(0, t);

	EACH r[i] = (uint32_t)__builtin_popcount(a[i]);
	put32(x, &in->o[0], r);
	return N_NEXT;
}

/* Finds the highest bit that is set or, with a signed operand, that differs from the sign. .SH: the
 * result is the left shift that would move this bit to the top. */
enum sass_next op_flo(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, t;
	const uint32_t *a = GET(0, t);

	EACH
	{
		uint32_t v = !has(in, M_U32) && (int32_t)a[i] < 0 ? ~a[i] : a[i];
		uint32_t n = v ? 31 - (uint32_t)__builtin_clz(v) : ~0u;
		r[i] = has(in, M_SH) && v ? 31 - n : n;
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

enum sass_next op_brev(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, t;
	const uint32_t *a = GET(0, t);

	EACH
	{
		uint32_t v = a[i];

		v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
		v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
		v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
		r[i] = __builtin_bswap32(v);
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

/* b bits, from bit a upwards. */
enum sass_next op_bmsk(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb;
	const uint32_t *a = GET(0, ta), *b = GET(1, tb);

	EACH
	{
		uint32_t at = has(in, M_W) ? a[i] & 31 : MIN(a[i], 32u);
		uint32_t n = has(in, M_W) ? b[i] & 31 : MIN(b[i], 32u);
		r[i] = (uint32_t)(((1ull << n) - 1) << at);
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

/* The lower b bits of a, zero- or sign-extended. */
enum sass_next op_sgxt(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb;
	const uint32_t *a = GET(0, ta), *b = GET(1, tb);

	EACH
	{
		uint32_t n = has(in, M_W) ? b[i] & 31 : MIN(b[i], 32u);
		uint64_t v = n ? (uint64_t)a[i] << (64 - n) : 0;

		v = !n ? 0 : has(in, M_U32) ? v >> (64 - n) : (uint64_t)((int64_t)v >> (64 - n));
		r[i] = (uint32_t)v;
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

static int32_t piece(uint32_t v, unsigned bits, unsigned k, bool sign)
{
	uint32_t u = v >> bits * k & ((1u << bits) - 1);

	return sign ? (int32_t)(u << (32 - bits)) >> (32 - bits) : (int32_t)u;
}

/* IDP.4A.a.b and IDP.2A.{LO,HI}.a.b: the order in the name says which operand is signed, but the
 * list of modifiers does not keep the order. So for bytes, both must have the same signedness;
 * otherwise the instruction counts as unknown. */
enum sass_next op_idp(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tb, tc;
	const uint32_t *a = GET(0, ta), *b = GET(1, tb), *c = GET(2, tc);
	bool two = has(in, M_2A), sb = has(in, M_S8), sa = two ? has(in, M_S16) : sb;

	if (!two && has(in, M_S8) && has(in, M_U8))
		return sass_unknown(x, in, "signs");
	EACH
	{
		r[i] = c[i];
		for (unsigned k = 0; k < (two ? 2u : 4u); k++) {
			int32_t p = piece(a[i], two ? 16 : 8, k, sa);
			int32_t q = piece(b[i], 8, k + (has(in, M_HI) ? 2 : 0), sb);
			r[i] += (uint32_t)(p * q);
		}
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

/* P2R d, PR, a, mask: predicates as bits where the mask is set; a's bits elsewhere. */
enum sass_next op_p2r(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, ta, tm;
	const uint32_t *a = get32(x, &in->o[2], ta), *m = get32(x, &in->o[3], tm);

	if (in->n != 4 || in->o[1].kind != O_ALL_PREDS)
		return sass_unknown(x, in, "operands");
	EACH
	{
		uint32_t p = 0;
		for (unsigned k = 0; k < 7; k++)
			p |= (x->w->pred[k] >> i & 1) << k;
		p = in->o[1].wide ? x->w->upred & 0x7f : p;
		r[i] = (a[i] & ~m[i]) | (p & m[i]);
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

/* R2P PR, a, mask */
enum sass_next op_r2p(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 ta, tm;
	const uint32_t *a = get32(x, &in->o[1], ta), *m = get32(x, &in->o[2], tm);

	if (in->n != 3 || in->o[0].kind != O_ALL_PREDS || in->o[0].wide)
		return sass_unknown(x, in, "operands");
	for (unsigned k = 0; k < 7; k++)
		EACH if (x->mask >> i & 1 && m[i] >> k & 1) x->w->pred[k] =
			(x->w->pred[k] & ~(1u << i)) | (a[i] >> k & 1) << i;
	return N_NEXT;
}

/* R2UR [p,] ur, r: the first lane's value; p: the lanes that have the same value. */
enum sass_next op_r2ur(struct sass_x *x, const struct sass_insn *in)
{
	bool pred = in->o[0].kind == O_PRED;
	const struct sass_opd *o = &in->o[pred ? 1 : 0];
	lanes32 t;
	const uint32_t *a = get32(x, o + 1, t);
	uint32_t first, same = 0;

	if (!x->mask)
		return N_NEXT;
	first = a[__builtin_ctz(x->mask)];
	EACH if (a[i] == first) same |= 1u << i;
	put32(x, o, a);
	if (pred)
		put_pred(x, &in->o[0], same);
	return N_NEXT;
}

static uint64_t timer_ns(const struct vgpu_block *b)
{
	return b->launch->timer_ns ? b->launch->timer_ns(b->launch->user) : b->clock;
}

static uint32_t special(const struct sass_x *x, int64_t sr, unsigned i)
{
	const struct vgpu_block *b = x->b;

	switch (sr) {
	case SR_TID_X:
	case SR_TID_Y:
	case SR_TID_Z:
		return x->w->tid[sr - SR_TID_X][i];
	case SR_CTAID_X:
	case SR_CTAID_Y:
	case SR_CTAID_Z:
		return b->ctaid[sr - SR_CTAID_X];
	case SR_LANEID:
		return i;
	case SR_EQMASK:
		return 1u << i;
	case SR_LTMASK:
		return (1u << i) - 1;
	case SR_LEMASK:
		return ~0u >> (31 - i);
	case SR_GTMASK:
		return ~(~0u >> (31 - i));
	case SR_GEMASK:
		return ~((1u << i) - 1);
	case SR_GLOBALTIMERLO:
		return (uint32_t)timer_ns(b);
	case SR_GLOBALTIMERHI:
		return (uint32_t)(timer_ns(b) >> 32);
	case SR_CLOCKLO:
		return (uint32_t)b->clock;
	case SR_CLOCKHI:
		return (uint32_t)(b->clock >> 32);
	case SR_SWINHI:
		return 0x00010000;
	case SR_VIRTUALSMID:
		return b->smid;
	case SR_VIRTID:
		/* Identifies where a thread runs: the SM, the block's slot, the warp. */
		return b->smid << 20 | (b->slot * b->n_warps + x->w->index) << 8;
	default:
		return 0;
	}
}

/* op: 1 for CS2R, which writes a register pair. */
enum sass_next op_s2r(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 r, hi = {0};
	int64_t sr = in->o[1].imm;

	if (in->o[1].kind != O_SPECIAL)
		return sass_unknown(x, in, "operands");
	EACH r[i] = special(x, sr, i);
	put32(x, &in->o[0], r);
	if (in->op && !has(in, M_32)) {
		if (sr == SR_CLOCKLO || sr == SR_GLOBALTIMERLO)
			EACH hi[i] = special(x, sr + 1, i);
		put_word(x, &in->o[0], 1, hi);
	}
	return N_NEXT;
}
