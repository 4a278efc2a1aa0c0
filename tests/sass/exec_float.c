/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Floating point of 32 and 64 bits, and conversions. Results are IEEE's in the named rounding
 * mode, with one rounding for fma; a NaN result is the hardware's. Approximate functions are the
 * virtual GPU's. This file is compiled for changing rounding modes and without contraction. */
#include "sass_ops.h"

#include "approx.h"

#include <fenv.h>
#include <math.h>

#define EACH   for (unsigned i = 0; i < LANES; i++)
#define SRC(k) (&in->o[1 + (k)])

static int rounding(const struct sass_insn *in)
{
	return has(in, M_RM) || has(in, M_FLOOR)   ? FE_DOWNWARD
	       : has(in, M_RP) || has(in, M_CEIL)  ? FE_UPWARD
	       : has(in, M_RZ) || has(in, M_TRUNC) ? FE_TOWARDZERO
						   : FE_TONEAREST;
}

static uint32_t flushed(uint32_t u)
{
	return u & 0x7f800000u ? u : u & 0x80000000u;
}

static uint32_t result(const struct sass_insn *in, float f)
{
	uint32_t u = f == f ? u32_of(f) : 0x7fffffffu;

	u = has(in, M_FTZ) ? flushed(u) : u;
	if (has(in, M_SAT)) {
		f = f32_of(u);
		f = f > 0.0f ? f : 0.0f;
		u = u32_of(f < 1.0f ? f : 1.0f);
	}
	return u;
}

static void floats(struct sass_x *x, const struct sass_insn *in, unsigned k, float *ret)
{
	lanes32 t;
	const uint32_t *v = get_f32(x, SRC(k), t);

	EACH ret[i] = f32_of(has(in, M_FTZ) ? flushed(v[i]) : v[i]);
}

static void doubles(struct sass_x *x, const struct sass_opd *o, double *ret)
{
	lanes64 t;
	const uint64_t *v = get_f64(x, o, t);

	EACH ret[i] = f64_of(v[i]);
}

enum sass_next op_fadd(struct sass_x *x, const struct sass_insn *in)
{
	float a[LANES], b[LANES];
	lanes32 r;

	floats(x, in, 0, a);
	floats(x, in, 1, b);
	fesetround(rounding(in));
	EACH a[i] = a[i] + b[i];
	fesetround(FE_TONEAREST);
	EACH r[i] = result(in, a[i]);
	put32(x, &in->o[0], r);
	return N_NEXT;
}

enum sass_next op_fmul(struct sass_x *x, const struct sass_insn *in)
{
	float a[LANES], b[LANES], p[LANES];
	lanes32 r;

	floats(x, in, 0, a);
	floats(x, in, 1, b);
	fesetround(rounding(in));
	EACH p[i] = a[i] * b[i];
	/* A result that is rounded up to the smallest normal number only because subnormals have
	 * fewer bits is zero.
	 */
	EACH if (has(in, M_FTZ) && fabsf(p[i]) == 0x1p-126f &&
		 (float)fabs((double)a[i] * b[i] * 0x1p64) < 0x1p-62f) p[i] = copysignf(0.0f, p[i]);
	fesetround(FE_TONEAREST);
	EACH r[i] = result(in, p[i]);
	put32(x, &in->o[0], r);
	return N_NEXT;
}

enum sass_next op_ffma(struct sass_x *x, const struct sass_insn *in)
{
	float a[LANES], b[LANES], c[LANES];
	lanes32 r;

	floats(x, in, 0, a);
	floats(x, in, 1, b);
	floats(x, in, 2, c);
	fesetround(rounding(in));
	EACH a[i] = fmaf(a[i], b[i], c[i]);
	fesetround(FE_TONEAREST);
	EACH r[i] = result(in, a[i]);
	put32(x, &in->o[0], r);
	return N_NEXT;
}

static float least(float a, float b)
{
	float r = a < b ? a : b < a ? b : f32_of(u32_of(a) | u32_of(b));

	return a != a ? b : b != b ? a : r;
}

static float most(float a, float b)
{
	float r = a > b ? a : b > a ? b : f32_of(u32_of(a) & u32_of(b));

	return a != a ? b : b != b ? a : r;
}

/* FMNMX r, a, b, p: the smaller value if p, else the larger. */
enum sass_next op_fmnmx(struct sass_x *x, const struct sass_insn *in)
{
	float a[LANES], b[LANES];
	lanes32 r;
	uint32_t p = get_pred(x, SRC(2));

	if (in->n != 4 || has(in, M_XORSIGN))
		return sass_unknown(x, in, "operands");
	floats(x, in, 0, a);
	floats(x, in, 1, b);
	EACH
	{
		float f = p >> i & 1 ? least(a[i], b[i]) : most(a[i], b[i]);
		r[i] = result(in, has(in, M_NAN) && (a[i] != a[i] || b[i] != b[i]) ? NAN : f);
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

static bool holds(const struct sass_insn *in, double a, double b)
{
	bool un = a != a || b != b;

	if (has(in, M_NUM) || has(in, M_NAN))
		return has(in, M_NAN) == un;
	if (has(in, M_LT) || has(in, M_LTU))
		return un ? has(in, M_LTU) : a < b;
	if (has(in, M_LE) || has(in, M_LEU))
		return un ? has(in, M_LEU) : a <= b;
	if (has(in, M_GT) || has(in, M_GTU))
		return un ? has(in, M_GTU) : a > b;
	if (has(in, M_GE) || has(in, M_GEU))
		return un ? has(in, M_GEU) : a >= b;
	if (has(in, M_EQ) || has(in, M_EQU))
		return un ? has(in, M_EQU) : a == b;
	return un ? has(in, M_NEU) : a != b;
}

static uint32_t combine(const struct sass_insn *in, uint32_t v, uint32_t q)
{
	return has(in, M_OR) ? v | q : has(in, M_XOR) ? v ^ q : v & q;
}

static enum sass_next setp(
	struct sass_x *x, const struct sass_insn *in, const double *a, const double *b)
{
	uint32_t v = 0, q = get_pred(x, &in->o[4]);

	if (in->n != 5)
		return sass_unknown(x, in, "operands");
	EACH v |= (uint32_t)holds(in, a[i], b[i]) << i;
	put_pred(x, &in->o[0], combine(in, v, q));
	put_pred(x, &in->o[1], combine(in, ~v, q));
	return N_NEXT;
}

enum sass_next op_fsetp(struct sass_x *x, const struct sass_insn *in)
{
	float f[LANES];
	double a[LANES], b[LANES];

	floats(x, in, 1, f);
	EACH a[i] = (double)f[i];
	floats(x, in, 2, f);
	EACH b[i] = (double)f[i];
	return setp(x, in, a, b);
}

enum sass_next op_dsetp(struct sass_x *x, const struct sass_insn *in)
{
	double a[LANES], b[LANES];

	doubles(x, &in->o[2], a);
	doubles(x, &in->o[3], b);
	return setp(x, in, a, b);
}

/* FSET[.BF] r, a, b, p: true is a mask, or (.BF) 1.0. */
enum sass_next op_fset(struct sass_x *x, const struct sass_insn *in)
{
	float a[LANES], b[LANES];
	lanes32 r;
	uint32_t v = 0;

	if (in->n != 4)
		return sass_unknown(x, in, "operands");
	floats(x, in, 0, a);
	floats(x, in, 1, b);
	EACH v |= (uint32_t)holds(in, (double)a[i], (double)b[i]) << i;
	v = combine(in, v, get_pred(x, SRC(2)));
	EACH r[i] = !(v >> i & 1) ? 0 : has(in, M_BF) ? 0x3f800000u : ~0u;
	put32(x, &in->o[0], r);
	return N_NEXT;
}

/* Whether a division needs the slow path: exponents near the limits. The slow path is correct
 * for all operands. */
enum sass_next op_fchk(struct sass_x *x, const struct sass_insn *in)
{
	lanes32 ta, tb;
	const uint32_t *a = get_f32(x, SRC(0), ta), *b = get_f32(x, SRC(1), tb);
	uint32_t p = 0;

	EACH
	{
		int ea = (int)(a[i] >> 23 & 255), eb = (int)(b[i] >> 23 & 255);
		bool fast = eb > 0 && eb < 253 && ea > 24 && ea < 254 && ea - eb > -125 &&
			    ea - eb < 126;

		p |= (uint32_t)!fast << i;
	}
	put_pred(x, &in->o[0], p);
	return N_NEXT;
}

/* The upper halves of 1 / v and of 1 / sqrt(v); `hi` is the upper half of v. */
static uint32_t upper(const struct sass_insn *in, uint32_t hi)
{
	double v = f64_of((uint64_t)hi << 32), r;

	if (!(hi & 0x7ff00000u))
		v = copysign(0.0, v);
	r = has(in, M_RCP64H) ? 1.0 / v : 1.0 / sqrt(v);
	if (r != r)
		return 0x7fffffffu;
	r = fabs(r) < 0x1p-1022 ? copysign(0.0, r) : r;
	return (uint32_t)(u64_of(r) >> 32);
}

enum sass_next op_mufu(struct sass_x *x, const struct sass_insn *in)
{
	static const struct {
		enum sass_mod mod;
		const char *key;
	} keys[] = {{M_RCP, "rcp_f32"}, {M_RSQ, "rsqrt_f32"}, {M_SQRT, "sqrt_f32"},
		{M_EX2, "ex2_f32"}, {M_LG2, "lg2_f32"}, {M_TANH, "tanh_f32"}};
	lanes32 t, r;
	const uint32_t *a = get_f32(x, SRC(0), t);

	for (size_t k = 0; k < ARRAY_LEN(keys); k++)
		if (has(in, keys[k].mod)) {
			sass_approx(keys[k].key, a, r);
			put32(x, &in->o[0], r);
			return N_NEXT;
		}
	if (has(in, M_RCP64H) || has(in, M_RSQ64H)) {
		EACH r[i] = upper(in, a[i]);
	} else if (has(in, M_SIN) || has(in, M_COS)) {
		/* The operand counts turns, not radians. */
		EACH
		{
			double v = (double)f32_of(a[i]) * 6.283185307179586476925;
			double s = has(in, M_SIN) ? sin(v) : cos(v);
			r[i] = s == s ? u32_of((float)s) : 0x7fffffffu;
		}
	} else {
		return sass_unknown(x, in, "function");
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

static void put_doubles(struct sass_x *x, const struct sass_insn *in, const double *v)
{
	lanes64 r;

	EACH r[i] = v[i] == v[i] ? u64_of(v[i]) : 0xfff8000000000000ull;
	put64(x, &in->o[0], r);
}

enum sass_next op_dadd(struct sass_x *x, const struct sass_insn *in)
{
	double a[LANES], b[LANES];

	doubles(x, SRC(0), a);
	doubles(x, SRC(1), b);
	fesetround(rounding(in));
	EACH a[i] = a[i] + b[i];
	fesetround(FE_TONEAREST);
	put_doubles(x, in, a);
	return N_NEXT;
}

enum sass_next op_dmul(struct sass_x *x, const struct sass_insn *in)
{
	double a[LANES], b[LANES];

	doubles(x, SRC(0), a);
	doubles(x, SRC(1), b);
	fesetround(rounding(in));
	EACH a[i] = a[i] * b[i];
	fesetround(FE_TONEAREST);
	put_doubles(x, in, a);
	return N_NEXT;
}

enum sass_next op_dfma(struct sass_x *x, const struct sass_insn *in)
{
	double a[LANES], b[LANES], c[LANES];

	doubles(x, SRC(0), a);
	doubles(x, SRC(1), b);
	doubles(x, SRC(2), c);
	fesetround(rounding(in));
	EACH a[i] = fma(a[i], b[i], c[i]);
	fesetround(FE_TONEAREST);
	put_doubles(x, in, a);
	return N_NEXT;
}

enum sass_next op_dmnmx(struct sass_x *x, const struct sass_insn *in)
{
	double a[LANES], b[LANES];
	uint32_t p = get_pred(x, SRC(2));

	doubles(x, SRC(0), a);
	doubles(x, SRC(1), b);
	EACH a[i] = p >> i & 1 ? fmin(a[i], b[i]) : fmax(a[i], b[i]);
	put_doubles(x, in, a);
	return N_NEXT;
}

/* ---- conversions ---- */

/* I2F.[dst].[src].[rounding] */
enum sass_next op_i2f(struct sass_x *x, const struct sass_insn *in)
{
	bool wide = has(in, M_U64) || has(in, M_S64);
	bool sign = !(has(in, M_U8) || has(in, M_U16) || has(in, M_U32) || has(in, M_U64));
	unsigned bits = has(in, M_U8) || has(in, M_S8)     ? 8
			: has(in, M_U16) || has(in, M_S16) ? 16
			: wide                             ? 64
							   : 32;
	lanes64 v;
	lanes32 t, r;
	double d[LANES];

	if (has(in, M_F16))
		return sass_unknown(x, in, "f16");
	if (wide) {
		get64(x, SRC(0), v);
	} else {
		const uint32_t *a = get32(x, SRC(0), t);
		EACH v[i] = a[i];
	}
	EACH v[i] = sign ? (uint64_t)((int64_t)(v[i] << (64 - bits)) >> (64 - bits))
			 : v[i] << (64 - bits) >> (64 - bits);
	fesetround(rounding(in));
	EACH if (has(in, M_F64)) d[i] = sign ? (double)(int64_t)v[i] : (double)v[i];
	else r[i] = u32_of(sign ? (float)(int64_t)v[i] : (float)v[i]);
	fesetround(FE_TONEAREST);
	if (has(in, M_F64))
		put_doubles(x, in, d);
	else
		put32(x, &in->o[0], r);
	return N_NEXT;
}

static double integral(const struct sass_insn *in, double v)
{
	return has(in, M_TRUNC)   ? trunc(v)
	       : has(in, M_FLOOR) ? floor(v)
	       : has(in, M_CEIL)  ? ceil(v)
				  : nearbyint(v);
}

/* Converts v, a whole number or NaN, to an integer. A value out of range becomes the nearest one
 * that fits. */
static uint64_t fitted(double v, unsigned bits, bool sign, bool from64)
{
	double top = ldexp(1.0, (int)bits - (sign ? 1 : 0));

	if (v != v)
		return bits == 64 || from64 ? 1ull << (bits - 1) : 0;
	if (sign) {
		if (v >= top)
			return (1ull << (bits - 1)) - 1;
		return v <= -top ? 0 - (1ull << (bits - 1)) : (uint64_t)(int64_t)v;
	}
	if (v <= 0.0)
		return 0;
	return v >= top ? (bits == 64 ? ~0ull : (1ull << bits) - 1) : (uint64_t)v;
}

enum sass_next op_f2i(struct sass_x *x, const struct sass_insn *in)
{
	bool wide = has(in, M_U64) || has(in, M_S64);
	bool sign = !(has(in, M_U8) || has(in, M_U16) || has(in, M_U32) || has(in, M_U64));
	unsigned bits = has(in, M_U8) || has(in, M_S8)     ? 8
			: has(in, M_U16) || has(in, M_S16) ? 16
			: wide                             ? 64
							   : 32;
	double d[LANES];
	float f[LANES];
	lanes64 r;
	lanes32 lo;

	if (has(in, M_F16))
		return sass_unknown(x, in, "f16");
	if (has(in, M_F64)) {
		doubles(x, SRC(0), d);
	} else {
		floats(x, in, 0, f);
		EACH d[i] = (double)f[i];
	}
	EACH r[i] = fitted(integral(in, d[i]), bits, sign, has(in, M_F64));
	if (wide) {
		put64(x, &in->o[0], r);
	} else {
		EACH lo[i] = (uint32_t)r[i];
		put32(x, &in->o[0], lo);
	}
	return N_NEXT;
}

/* F2F.dst.src: the types are in this order in the text. */
enum sass_next op_f2f(struct sass_x *x, const struct sass_insn *in)
{
	double d[LANES];
	float f[LANES];
	lanes32 r;
	uint64_t u;

	if (strstr(in->text, ".F64.F32")) {
		floats(x, in, 0, f);
		EACH d[i] = (double)f[i];
		put_doubles(x, in, d);
		return N_NEXT;
	}
	if (strstr(in->text, ".F16.F32")) {
		floats(x, in, 0, f);
		EACH r[i] = sass_half_from_f64((double)f[i], false, has(in, M_RZ));
		put32(x, &in->o[0], r);
		return has(in, M_RM) || has(in, M_RP) ? sass_unknown(x, in, "rounding") : N_NEXT;
	}
	if (!strstr(in->text, ".F32.F64"))
		return sass_unknown(x, in, "types");
	doubles(x, SRC(0), d);
	fesetround(rounding(in));
	EACH f[i] = (float)d[i];
	fesetround(FE_TONEAREST);
	EACH
	{
		u = u64_of(d[i]);
		r[i] = d[i] == d[i] ? u32_of(f[i])
				    : (uint32_t)(u >> 32 & 0x80000000u) | 0x7fc00000u |
					      (uint32_t)(u >> 29 & 0x7fffffu);
		r[i] = has(in, M_FTZ) ? flushed(r[i]) : r[i];
	}
	put32(x, &in->o[0], r);
	return N_NEXT;
}

enum sass_next op_frnd(struct sass_x *x, const struct sass_insn *in)
{
	float f[LANES];
	double d[LANES];
	lanes32 r;

	if (has(in, M_F64)) {
		doubles(x, SRC(0), d);
		EACH d[i] = integral(in, d[i]);
		put_doubles(x, in, d);
		return N_NEXT;
	}
	floats(x, in, 0, f);
	EACH r[i] = result(in, (float)integral(in, (double)f[i]));
	put32(x, &in->o[0], r);
	return N_NEXT;
}
