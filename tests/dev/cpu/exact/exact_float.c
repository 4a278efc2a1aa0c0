/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* References for floating point. MPFR computes with the destination's precision and an unbounded
 * exponent; mpfr_check_range and mpfr_subnormalize then bring the result into the format, as
 * MPFR's manual describes for IEEE 754. A generated NaN has exactly the hardware's bits; the ISA
 * leaves those of f64 NaNs open. As in exact_int.c, "H200" marks rules that were measured on an
 * H200 (driver 580.159, hw.sh ops). */
#include "exact.h"

#include <math.h>
#include <string.h>

#define MPFR_USE_INTMAX_T
#include <mpfr.h>

static mpfr_exp_t wide_min, wide_max;
static mpfr_t work[4];

void exact_float_init(void)
{
	wide_min = mpfr_get_emin();
	wide_max = mpfr_get_emax();
	for (size_t k = 0; k < ARRAY_LEN(work); k++)
		mpfr_init2(work[k], 160);
}

void exact_float_finish(void)
{
	for (size_t k = 0; k < ARRAY_LEN(work); k++)
		mpfr_clear(work[k]);
	mpfr_free_cache();
}

/* ---- bits and values ---- */

static u64 sign_bit(const struct exact_type *t)
{
	return 1ull << (t->bits - 1);
}

static u64 fraction(const struct exact_type *t, u64 v)
{
	return v & exact_mask(t->fbits);
}

static unsigned exponent(const struct exact_type *t, u64 v)
{
	return (unsigned)((v & ~sign_bit(t)) >> t->fbits);
}

static unsigned top_exponent(const struct exact_type *t)
{
	return 2 * t->f_bias + 1;
}

static bool is_nan(const struct exact_type *t, u64 v)
{
	if (t->no_inf)
		return (v & ~sign_bit(t)) == sign_bit(t) - 1;
	return exponent(t, v) == top_exponent(t) && fraction(t, v);
}

static u64 nan_of(const struct exact_type *t)
{
	return t->bits == 64 ? 0xfff8000000000000ull : sign_bit(t) - 1;
}

static u64 flushed(const struct exact_type *t, u64 v)
{
	return exponent(t, v) ? v : v & sign_bit(t);
}

static void get(mpfr_t r, const struct exact_type *t, u64 v)
{
	int sign = v & sign_bit(t) ? -1 : 1;
	unsigned e = exponent(t, v);
	u64 m = fraction(t, v);

	if (is_nan(t, v)) {
		mpfr_set_nan(r);
	} else if (e == top_exponent(t) && !t->no_inf) {
		mpfr_set_inf(r, sign);
	} else {
		m |= e ? 1ull << t->fbits : 0;
		mpfr_set_uj_2exp(
			r, m, (intmax_t)(e ? e : 1) - (intmax_t)(t->f_bias + t->fbits), MPFR_RNDN);
		mpfr_setsign(r, r, sign < 0, MPFR_RNDN);
	}
}

/* The bits of a number that the format can represent. */
static u64 put(const struct exact_type *t, const mpfr_t v)
{
	u64 sign = mpfr_signbit(v) ? sign_bit(t) : 0, m;
	mpfr_exp_t e;
	mpfr_t whole;

	if (mpfr_nan_p(v))
		return nan_of(t);
	if (mpfr_inf_p(v))
		return sign | (u64)top_exponent(t) << t->fbits;
	if (mpfr_zero_p(v))
		return sign;
	/* Scales the magnitude to units in the last place. */
	e = mpfr_get_exp(v) - 1 + (mpfr_exp_t)t->f_bias;
	mpfr_init2(whole, 80);
	mpfr_abs(whole, v, MPFR_RNDN);
	mpfr_mul_2si(whole, whole, (long)(t->fbits + t->f_bias) - (long)(e > 0 ? e : 1), MPFR_RNDN);
	m = mpfr_get_uj(whole, MPFR_RNDN);
	mpfr_clear(whole);
	return sign | (e > 0 ? ((u64)e << t->fbits) + (m - (1ull << t->fbits)) : m);
}

static mpfr_rnd_t mode_of(const struct exact_insn *i)
{
	if (exact_has(i, "rz") || exact_has(i, "rzi"))
		return MPFR_RNDZ;
	if (exact_has(i, "rm") || exact_has(i, "rmi"))
		return MPFR_RNDD;
	return exact_has(i, "rp") || exact_has(i, "rpi") ? MPFR_RNDU : MPFR_RNDN;
}

/* r has the format's precision; `inexact` is the ternary value that MPFR returned for it. */
static u64 bound(const struct exact_type *t, mpfr_t r, int inexact, mpfr_rnd_t mode)
{
	mpfr_set_emin(2 - (mpfr_exp_t)t->f_bias - (mpfr_exp_t)t->fbits);
	mpfr_set_emax((mpfr_exp_t)t->f_bias + 1 + t->no_inf);
	inexact = mpfr_check_range(r, inexact, mode);
	mpfr_subnormalize(r, inexact, mode);
	mpfr_set_emin(wide_min);
	mpfr_set_emax(wide_max);
	return put(t, r);
}

static u64 rounded(const struct exact_type *t, const mpfr_t exact, mpfr_rnd_t mode)
{
	mpfr_t r;

	mpfr_init2(r, t->fbits + 1);
	u64 v = bound(t, r, mpfr_set(r, exact, mode), mode);
	mpfr_clear(r);
	return v;
}

/* Applies .ftz, .sat and .relu to a result. */
static u64 finished(const struct exact_insn *i, const struct exact_type *t, u64 v, bool flush)
{
	if (flush)
		v = flushed(t, v);
	if (exact_has(i, "sat")) {
		u64 one = (u64)t->f_bias << t->fbits;
		v = is_nan(t, v) || v & sign_bit(t) ? 0 : MIN(v, one);
	}
	if (exact_has(i, "relu") && v & sign_bit(t) && !is_nan(t, v))
		v = 0;
	return v;
}

/* ---- arithmetic ---- */

static bool multiplies(const struct exact_insn *i)
{
	return exact_is(i, "mul") || exact_is(i, "fma") || exact_is(i, "mad");
}

static u64 computed(const struct exact_insn *i, const struct exact_type *t)
{
	mpfr_rnd_t mode = mode_of(i);
	mpfr_t r;
	int inexact;

	mpfr_init2(r, t->fbits + 1);
	if (exact_is(i, "add"))
		inexact = mpfr_add(r, work[0], work[1], mode);
	else if (exact_is(i, "sub"))
		inexact = mpfr_sub(r, work[0], work[1], mode);
	else if (exact_is(i, "mul"))
		inexact = mpfr_mul(r, work[0], work[1], mode);
	else if (exact_is(i, "div"))
		inexact = mpfr_div(r, work[0], work[1], mode);
	else if (exact_is(i, "rcp"))
		inexact = mpfr_ui_div(r, 1, work[0], mode);
	else if (exact_is(i, "sqrt"))
		inexact = mpfr_sqrt(r, work[0], mode);
	else if (exact_is(i, "abs"))
		inexact = mpfr_abs(r, work[0], mode);
	else if (exact_is(i, "neg"))
		inexact = mpfr_neg(r, work[0], mode);
	else
		inexact = mpfr_fma(r, work[0], work[1], work[2], mode);
	/* H200: .ftz of products tests the number rounded with an unbounded exponent. A number
	 * that is rounded up to a normal number only because subnormals have fewer bits is
	 * therefore zero. */
	if (exact_has(i, "ftz") && multiplies(i) && mpfr_regular_p(r) &&
		mpfr_get_exp(r) < 2 - (mpfr_exp_t)t->f_bias) {
		mpfr_set_zero(r, mpfr_signbit(r) ? -1 : 1);
		inexact = 0;
	}
	u64 v = bound(t, r, inexact, mode);
	mpfr_clear(r);
	return v;
}

bool ref_float(const struct exact_insn *i, const u64 *v, u64 ret[2])
{
	const struct exact_type *t = i->type[0];
	bool flush = exact_has(i, "ftz");

	ret[0] = 0;
	for (unsigned k = 0; k < t->n; k++) {
		for (unsigned j = 0; j < 3; j++) {
			u64 part = exact_part(t, v[j], k);
			get(work[j], t, flush ? flushed(t, part) : part);
		}
		ret[0] |= finished(i, t, computed(i, t), flush) << (t->bits * k);
	}
	return true;
}

int exact_float_order(const struct exact_type *t, u64 a, u64 b, bool flush)
{
	get(work[0], t, flush ? flushed(t, a) : a);
	get(work[1], t, flush ? flushed(t, b) : b);
	if (mpfr_unordered_p(work[0], work[1]))
		return 2;
	int order = mpfr_cmp(work[0], work[1]);
	return order < 0 ? -1 : order > 0;
}

/* -0 is less than +0; a number is preferred to a NaN, unless .NaN is given. */
static u64 extreme(const struct exact_insn *i, const struct exact_type *t, u64 a, u64 b)
{
	bool least = exact_is(i, "min");

	if (is_nan(t, a) || is_nan(t, b)) {
		if (exact_has(i, "NaN") || (is_nan(t, a) && is_nan(t, b)))
			return nan_of(t);
		return is_nan(t, a) ? b : a;
	}
	int order = exact_float_order(t, a, b, false);
	if (order == 0)
		order = (int)(b >> (t->bits - 1)) - (int)(a >> (t->bits - 1));
	return (order < 0) == least ? a : b;
}

bool ref_extreme(const struct exact_insn *i, const u64 *v, u64 ret[2])
{
	const struct exact_type *t = i->type[0];

	ret[0] = 0;
	for (unsigned k = 0; k < t->n; k++) {
		u64 r = 0, signs = 0;
		for (unsigned j = 0; j < i->n_src; j++) {
			u64 part = exact_part(t, v[j], k);
			part = exact_has(i, "ftz") ? flushed(t, part) : part;
			signs ^= part & sign_bit(t);
			if (exact_has(i, "abs"))
				part &= ~sign_bit(t);
			r = j ? extreme(i, t, r, part) : part;
		}
		if (exact_has(i, "xorsign") && !is_nan(t, r))
			r = (r & ~sign_bit(t)) | signs;
		ret[0] |= (is_nan(t, r) ? nan_of(t) : r) << (t->bits * k);
	}
	return true;
}

bool ref_class(const struct exact_insn *i, const u64 *v, u64 ret[2])
{
	const struct exact_type *t = i->type[0];
	u64 a = v[0] & exact_mask(t->bits);
	bool finite = exponent(t, a) != top_exponent(t);

	if (exact_is(i, "copysign"))
		ret[0] = (v[1] & ~sign_bit(t) & exact_mask(t->bits)) | (a & sign_bit(t));
	else if (exact_has(i, "finite"))
		ret[0] = finite;
	else if (exact_has(i, "infinite"))
		ret[0] = !finite && !fraction(t, a);
	else if (exact_has(i, "number"))
		ret[0] = !is_nan(t, a);
	else if (exact_has(i, "notanumber"))
		ret[0] = is_nan(t, a);
	else if (exact_has(i, "normal")) /* zeros count as normal: PTX ISA, testp */
		ret[0] = finite && (exponent(t, a) || !fraction(t, a));
	else
		ret[0] = finite && !exponent(t, a) && fraction(t, a);
	return true;
}

/* ---- conversions ---- */

static bool integral(const struct exact_insn *i)
{
	return exact_has(i, "rni") || exact_has(i, "rzi") || exact_has(i, "rmi") ||
	       exact_has(i, "rpi");
}

/* Loads v into work[0], exactly. */
static void get_any(const struct exact_insn *i, const struct exact_type *t, u64 v)
{
	v &= exact_mask(t->bits);
	/* .ftz applies to f32 only. H200: it does not apply to an f32 that is converted to f16. */
	bool flush = t->bits == 32 && exact_has(i, "ftz") && !exact_has(i, "f16");
	if (t->kind == KIND_FLOAT)
		get(work[0], t, flush ? flushed(t, v) : v);
	else if (t->kind == KIND_INT && v >> (t->bits - 1))
		mpfr_set_sj(work[0], (intmax_t)(v | ~exact_mask(t->bits)), MPFR_RNDN);
	else
		mpfr_set_uj(work[0], v, MPFR_RNDN);
}

/* Converts a whole number: the value if it fits, else the nearest value that does, sign-extended
 * to the register's width. */
static u64 to_integer(const struct exact_type *t, bool clamps)
{
	unsigned held = t->bits <= 16 ? (t->bits == 8 ? 32 : 16) : t->bits;
	mpfr_t limit;
	u64 r;

	mpfr_init2(limit, 70);
	mpfr_set_uj(limit, exact_mask(t->kind == KIND_INT ? t->bits - 1 : t->bits), MPFR_RNDN);
	if (clamps && mpfr_cmp(work[0], limit) > 0)
		mpfr_set(work[0], limit, MPFR_RNDN);
	if (t->kind == KIND_INT)
		mpfr_set_si_2exp(limit, -1, (mpfr_exp_t)t->bits - 1, MPFR_RNDN);
	else
		mpfr_set_zero(limit, 1);
	if (clamps && mpfr_cmp(work[0], limit) < 0)
		mpfr_set(work[0], limit, MPFR_RNDN);
	mpfr_clear(limit);
	r = mpfr_sgn(work[0]) < 0 ? (u64)mpfr_get_sj(work[0], MPFR_RNDN)
				  : mpfr_get_uj(work[0], MPFR_RNDN);
	r &= exact_mask(t->bits);
	if (t->kind == KIND_INT && r >> (t->bits - 1))
		r |= ~exact_mask(t->bits);
	return r & exact_mask(held);
}

/* PTX ISA, cvt: a NaN becomes 0 when f32 or narrower is converted to 32 bits or fewer; otherwise
 * only the highest bit is set. */
static u64 nan_to_integer(const struct exact_type *to, const struct exact_type *from)
{
	if (to->bits < 64 && from->bits < 64)
		return 0;
	u64 r = 1ull << (to->bits - 1);
	if (to->bits == 8 && to->kind == KIND_INT)
		r |= exact_mask(32) & ~0xffull;
	return r;
}

/* Clamps work[0] to the type's largest magnitude. */
static void limit(const struct exact_type *t)
{
	u64 largest = t->no_inf ? sign_bit(t) - 2 : ((u64)top_exponent(t) << t->fbits) - 1;

	get(work[1], t, largest);
	if (mpfr_cmp(work[0], work[1]) > 0)
		mpfr_set(work[0], work[1], MPFR_RNDN);
	mpfr_neg(work[1], work[1], MPFR_RNDN);
	if (mpfr_cmp(work[0], work[1]) < 0)
		mpfr_set(work[0], work[1], MPFR_RNDN);
}

/* Converts a NaN whose result depends on its bits, and returns true; returns false for other
 * values. Measured on the H200: conversions that only move a value keep all bits. An f64 NaN
 * becomes a quiet NaN with its sign and the upper bits of its fraction. .rna clears the lower 13
 * bits; with .satfinite it also subtracts one unit of the last place that tf32 keeps.
 */
static bool keeps_nan(const struct exact_insn *i, const struct exact_type *to,
	const struct exact_type *from, u64 v, u64 *ret)
{
	bool moves = (from->bits == 32 || !strcmp(from->name, "bf16")) &&
		     !strcmp(to->name, "f32") && !exact_has(i, "ftz") && !integral(i);

	if (from->kind != KIND_FLOAT || !is_nan(from, v) || exact_has(i, "sat"))
		return false;
	if (moves) {
		*ret = v << (to->bits - from->bits);
	} else if (from->bits == 64 && to->bits < 64) {
		u64 sign = v & sign_bit(from) ? sign_bit(to) : 0;
		*ret = sign | (u64)top_exponent(to) << to->fbits | 1ull << (to->fbits - 1) |
		       fraction(from, v) >> (from->fbits - to->fbits);
	} else if (exact_has(i, "rna")) {
		*ret = v & ~0x1fffull;
		*ret -= exact_has(i, "satfinite") ? 0x2000 : 0;
	} else {
		return false;
	}
	return true;
}

static u64 to_float(const struct exact_insn *i, const struct exact_type *t)
{
	bool nan = mpfr_nan_p(work[0]);

	if (exact_has(i, "satfinite") && !nan)
		limit(t);
	if (!strcmp(t->name, "tf32") && exact_has(i, "rna") && !nan && !mpfr_inf_p(work[0])) {
		/* Adds half a unit in the last place to the magnitude and drops the bits below. */
		u64 v = put(exact_type_of("f32"), work[0]);
		return (v + 0x1000) & ~0x1fffull & exact_mask(32);
	}
	u64 v = rounded(t, work[0], mode_of(i));
	v = finished(i, t, v, t->bits == 32 && exact_has(i, "ftz"));
	return strcmp(t->name, "tf32") ? v : v << 13; /* tf32 occupies the upper bits */
}

bool ref_convert(const struct exact_insn *i, const u64 *v, u64 ret[2])
{
	const struct exact_type *to = i->type[0], *from = i->type[1];
	u64 kept;

	ret[0] = 0;
	for (unsigned k = 0; k < to->n; k++) {
		/* With two sources, the first one goes to the upper half. */
		u64 part = from->n > 1 ? exact_part(from, v[0], k) : v[to->n - 1 - k];
		get_any(i, from, part);
		if (integral(i) && !mpfr_nan_p(work[0]) && !mpfr_inf_p(work[0]) &&
			!mpfr_zero_p(work[0])) {
			bool minus = mpfr_signbit(work[0]);
			mpfr_rint(work[0], work[0], mode_of(i));
			mpfr_setsign(work[0], work[0], minus, MPFR_RNDN);
		}
		if (to->kind == KIND_FLOAT && keeps_nan(i, to, from, part, &kept))
			ret[0] |= kept << (to->bits * k);
		else if (to->kind == KIND_FLOAT)
			ret[0] |= to_float(i, to) << (to->bits * k);
		else if (mpfr_nan_p(work[0]))
			ret[0] = nan_to_integer(to, from);
		else
			ret[0] = to_integer(to, from->kind == KIND_FLOAT || exact_has(i, "sat"));
	}
	return true;
}
