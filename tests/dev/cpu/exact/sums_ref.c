/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The exact value of a sum, its error bound, and the published model of its computation: sums.h. */
#include "sums.h"

#include <math.h>
#include <string.h>

#define TERMS_MAX 33

struct sum_way sum_way_of(unsigned sm)
{
	return sm >= 90 ? (struct sum_way){25, 32} : (struct sum_way){24, 16};
}

static unsigned products_a_step(const struct sum_form *f, struct sum_way way)
{
	if (f->d->bits == 64)
		return 1;
	if (f->wmma && f->a->bits == 19)
		return 4; /* always two steps: HMMA.1684 twice */
	return MIN(way.bytes / (f->a->bits == 16 ? 2 : 4), f->k);
}

/* ---- integers ---- */

static int64_t whole(const struct exact_type *t, u64 v)
{
	return t->kind == KIND_INT ? (int64_t)(v << (64 - t->bits)) >> (64 - t->bits) : (int64_t)v;
}

static u64 integer_sum(const struct sum_form *f, const u64 *a, const u64 *b, u64 c)
{
	int64_t sum = (int32_t)c;

	for (unsigned k = 0; k < f->k; k++)
		sum += whole(f->a, a[k]) * whole(f->b, b[k]);
	if (f->saturates)
		sum = MAX(MIN(sum, INT32_MAX), INT32_MIN);
	return (uint32_t)sum;
}

/* ---- NaN and infinities of the whole sum ---- */

struct infinities {
	bool nan, up, down;
};

static void look_at_product(
	struct infinities *i, const struct wide_value *x, const struct wide_value *y)
{
	bool inf = x->inf || y->inf;
	bool zero =
		(!x->inf && !x->nan && !x->significand) || (!y->inf && !y->nan && !y->significand);

	i->nan |= x->nan || y->nan || (inf && zero);
	if (inf && x->negative == y->negative)
		i->up = true;
	else if (inf)
		i->down = true;
}

static void look_at(struct infinities *i, const struct wide_value *c)
{
	i->nan |= c->nan;
	if (c->inf && c->negative)
		i->down = true;
	else if (c->inf)
		i->up = true;
}

/* Whether the result is NaN or infinite. */
static bool not_finite(
	const struct sum_form *f, const u64 *a, const u64 *b, u64 c, bool *ret_nan, int *ret_inf)
{
	struct infinities i = {0};
	struct wide_value vc = wide_decode(f->c, c);

	look_at(&i, &vc);
	for (unsigned k = 0; k < f->k; k++) {
		struct wide_value x = wide_decode(f->a, a[k]), y = wide_decode(f->b, b[k]);
		look_at_product(&i, &x, &y);
	}
	*ret_nan = i.nan || (i.up && i.down);
	*ret_inf = *ret_nan ? 0 : i.up ? 1 : i.down ? -1 : 0;
	return *ret_nan || *ret_inf;
}

/* ---- the bound ---- */

static int exponent_of(long double v)
{
	return v > 0 ? ilogbl(v) : -100000;
}

/* The unit in the last place of a number of this magnitude. */
static long double last_place(const struct exact_type *t, long double magnitude)
{
	int least = 1 - (int)t->f_bias;

	return ldexpl(1, MAX(exponent_of(magnitude), least) - (int)t->fbits);
}

static long double overflow(const struct exact_type *t)
{
	return ldexpl(1, (int)t->f_bias + 1);
}

/* The error that a step with products first to first + n - 1 adds to the bound; `sum` includes
 * these products. */
static long double step_error(const struct sum_form *f, struct sum_way way, const u64 *a,
	const u64 *b, unsigned first, unsigned n, int before, long double so_far,
	const struct wide *sum)
{
	const struct exact_type *d = f->d;
	int most = before;
	long double cut = 0, top = fabsl(wide_value(sum)) + so_far;

	for (unsigned k = first; k < first + n; k++) {
		struct wide_value x = wide_decode(f->a, a[k]), y = wide_decode(f->b, b[k]);
		/* A zero counts as a subnormal here: nothing documents that it does not. */
		most = MAX(most, x.scale + y.scale);
	}
	if (d->bits < 64)
		cut = ldexpl((long double)n, most - (int)way.bits);
	return cut + last_place(d, top + cut) / (d->bits == 32 ? 1 : 2);
}

/* Checks whether the sum overflows between two steps. If it exceeds the largest number of D's type
 * by more than the error bound, it is infinite, and stays so, since the next steps add finite
 * values. If it does so by less, D may or may not be infinite. */
static void overflown(const struct sum_form *f, struct sum_exact *e)
{
	long double v = wide_value(&e->sum);
	int sign = v < 0 ? -1 : 1;

	if (fabsl(v) - e->bound >= overflow(f->d) && e->inf != -sign && !e->open)
		e->inf = sign;
	else if (!e->inf || fabsl(v) - e->bound < overflow(f->d))
		e->open |= !e->inf || e->inf != sign;
	else
		e->open = true;
}

void sum_reference(const struct sum_form *f, struct sum_way way, const u64 *a, const u64 *b, u64 c,
	struct sum_exact *ret)
{
	unsigned n = products_a_step(f, way);

	memset(ret, 0, sizeof(*ret));
	if (f->d->kind != KIND_FLOAT) {
		ret->whole = integer_sum(f, a, b, c);
		return;
	}
	not_finite(f, a, b, c, &ret->nan, &ret->inf);
	struct wide_value start = wide_decode(f->c, c);
	if (!start.inf && !start.nan)
		wide_add(&ret->sum, start.negative, start.significand, start.exp);
	int before = start.scale;
	for (unsigned k = 0; k < f->k; k += n) {
		for (unsigned i = k; i < k + n; i++) {
			struct wide_value x = wide_decode(f->a, a[i]), y = wide_decode(f->b, b[i]);
			if (!x.inf && !x.nan && !y.inf && !y.nan)
				wide_add_product(&ret->sum, &x, &y);
		}
		ret->bound += step_error(f, way, a, b, k, n, before, ret->bound, &ret->sum);
		long double so_far = fabsl(wide_value(&ret->sum)) + ret->bound;
		before = exponent_of(so_far);
		if (k + n < f->k && !ret->nan && so_far >= overflow(f->d))
			overflown(f, ret);
	}
	/* Raises the bound by more than the error of the long double arithmetic above. */
	ret->bound *= 1 + 0x1p-50L;
}

struct sum_distance sum_compare(const struct sum_form *f, const struct sum_exact *e, u64 d)
{
	struct sum_distance r = {0};

	if (f->d->kind != KIND_FLOAT) {
		r.beyond = d != e->whole;
		return r;
	}
	struct wide_value got = wide_decode(f->d, d);
	if (e->open)
		return r;
	if (e->nan || e->inf || got.nan) {
		r.beyond = got.nan != e->nan || got.inf != (e->inf != 0) ||
			   (e->inf && got.negative != (e->inf < 0));
		return r;
	}
	long double exact = wide_value(&e->sum);
	if (got.inf) {
		/* Rounding to the nearest overflows half a last place earlier. */
		long double edge = overflow(f->d) - last_place(f->d, overflow(f->d) / 2) / 2;
		r.beyond = (got.negative ? -exact : exact) + e->bound < edge;
		return r;
	}
	struct wide diff = e->sum;
	wide_add(&diff, !got.negative, got.significand, got.exp);
	long double off = fabsl(wide_value(&diff));
	r.bounds = e->bound > 0 ? off / e->bound : off > 0 ? 2 : 0;
	r.beyond = r.bounds > 1;
	r.ulps = off / last_place(f->d, fabsl(exact));
	return r;
}

bool sum_same(const struct sum_form *f, u64 x, u64 y)
{
	return x == y ||
	       (f->d->kind == KIND_FLOAT && wide_decode(f->d, x).nan && wide_decode(f->d, y).nan);
}

/* ---- the published model ---- */

static u64 special_bits(const struct exact_type *t, bool nan, int inf)
{
	u64 infinite = (u64)(2 * t->f_bias + 1) << t->fbits;

	return nan ? exact_mask(t->bits - 1) : infinite | (u64)(inf < 0) << (t->bits - 1);
}

struct term {
	bool negative;
	u64 significand;
	int exp, scale;
};

/* Adds a term, truncated to `bits` bits after the point of a number with exponent `largest`. */
static void add_cut(struct wide *w, const struct term *t, int largest, unsigned bits)
{
	int shift = largest - (int)bits - t->exp;

	if (shift <= 0)
		wide_add(w, t->negative, t->significand, t->exp);
	else if (shift < 64)
		wide_add(w, t->negative, t->significand >> shift, t->exp + shift);
}

static u64 model_step(const struct sum_form *f, struct sum_way way, const u64 *a, const u64 *b,
	unsigned n, const struct wide_value *c)
{
	struct term terms[TERMS_MAX] = {{c->negative, c->significand, c->exp, c->scale}};
	struct wide w = {0};
	int largest = -100000;

	for (unsigned k = 0; k < n; k++) {
		struct wide_value x = wide_decode(f->a, a[k]), y = wide_decode(f->b, b[k]);
		terms[k + 1] = (struct term){x.negative != y.negative,
			x.significand * y.significand, x.exp + y.exp, x.scale + y.scale};
	}
	for (unsigned k = 0; k <= n; k++)
		if (terms[k].significand)
			largest = MAX(largest, terms[k].scale);
	for (unsigned k = 0; k <= n; k++)
		add_cut(&w, &terms[k], largest, way.bits);
	return wide_round(&w, f->d, f->d->bits == 16);
}

static u64 fused_step(const struct sum_form *f, u64 a, u64 b, const struct wide_value *c)
{
	struct wide_value x = wide_decode(f->a, a), y = wide_decode(f->b, b);
	struct wide w = {0};

	wide_add(&w, c->negative, c->significand, c->exp);
	wide_add_product(&w, &x, &y);
	return wide_round(&w, f->d, true);
}

u64 sum_model(const struct sum_form *f, struct sum_way way, const u64 *a, const u64 *b, u64 c)
{
	unsigned n = products_a_step(f, way);
	const struct exact_type *type = f->c;
	struct sum_form part = *f;

	if (f->d->kind != KIND_FLOAT)
		return integer_sum(f, a, b, c);
	if (type->bits < f->d->bits) { /* the addend enters the sum with D's type */
		struct wide_value v = wide_decode(type, c);
		struct wide w = {0};

		wide_add(&w, v.negative, v.significand, v.exp);
		c = v.nan || v.inf ? special_bits(f->d, v.nan, v.negative ? -1 : 1)
				   : wide_round(&w, f->d, false);
		type = f->d;
	}
	/* Between steps the sum has D's type, and may be infinite by then. */
	for (unsigned k = 0; k < f->k; k += n, type = f->d) {
		bool nan;
		int inf;

		part.k = n;
		part.c = type;
		struct wide_value v = wide_decode(type, c);
		if (not_finite(&part, a + k, b + k, c, &nan, &inf))
			c = special_bits(f->d, nan, inf);
		else if (f->d->bits == 64)
			c = fused_step(f, a[k], b[k], &v);
		else
			c = model_step(f, way, a + k, b + k, n, &v);
	}
	return c;
}
