/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests every arithmetic instruction of ops.def, on all combinations of edge cases and on random
 * operands. Expressions that share no code with the interpreter give the expected results. Each
 * row runs under a full and a partial mask, and with register and immediate operands. */
#include "unit.h"

#include "dev/cpu/code.h"
#include "grid.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;

#define U16(v) ((u64)(v)&0xffff)
#define U32(v) ((u64)(v)&0xffffffff)
#define S16(v) sext((u64)(v), 16)
#define S32(v) sext((u64)(v), 32)

static s64 sext(u64 v, int bits)
{
	u64 sign = 1ull << (bits - 1);

	v &= sign * 2 - 1;
	return (s64)(v ^ sign) - (s64)sign;
}

static s64 clamp(s64 v, s64 lo, s64 hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

static u64 long_hi(u64 a, u64 b)
{
	u64 al = U32(a), ah = a >> 32, bl = U32(b), bh = b >> 32;
	u64 mid = ah * bl + (al * bl >> 32), mid2 = al * bh + U32(mid);

	return ah * bh + (mid >> 32) + (mid2 >> 32);
}

static u64 slow_bfe(u64 a, u64 pos, u64 len, u64 width, bool is_signed)
{
	u64 r = 0, sign;

	/* In 64-bit fields the hardware truncates nothing (exact/h200.def). */
	pos &= width == 64 ? UINT32_MAX : 255;
	len &= width == 64 ? UINT32_MAX : 255;
	sign = !is_signed || !len
		       ? 0
		       : a >> (pos + len - 1 < width - 1 ? pos + len - 1 : width - 1) & 1;
	for (u64 i = 0; i < width; i++)
		r |= (i < len && pos + i < width ? a >> (pos + i) & 1 : sign) << i;
	return r;
}

static u64 slow_bfi(u64 a, u64 b, u64 pos, u64 len, u64 width)
{
	/* In 64-bit fields the hardware truncates nothing (exact/h200.def). */
	pos &= width == 64 ? UINT32_MAX : 255;
	len &= width == 64 ? UINT32_MAX : 255;
	for (u64 i = 0; i < len && pos + i < width; i++)
		b = (b & ~(1ull << (pos + i))) | (a >> i & 1) << (pos + i);
	return b;
}

static u64 slow_find(u64 a, int width, bool is_signed, bool shift)
{
	if (is_signed && a >> (width - 1) & 1)
		a = ~a;
	for (int i = width - 1; i >= 0; i--)
		if (a >> i & 1)
			return (u64)(shift ? width - 1 - i : i);
	return 0xffffffff;
}

static u64 slow_mask(u64 pos, u64 len)
{
	u64 r = 0;

	for (u64 i = 0; i < 32; i++)
		r |= (u64)(i >= pos && i - pos < len) << i;
	return r;
}

static u64 slow_popc(u64 a)
{
	u64 n = 0;

	for (; a; a >>= 1)
		n += a & 1;
	return n;
}

static u64 slow_brev(u64 a, int width)
{
	u64 r = 0;

	for (int i = 0; i < width; i++)
		r |= (a >> i & 1) << (width - 1 - i);
	return r;
}

static u64 slow_prmt(u64 a, u64 b, u64 sel)
{
	u64 r = 0;

	for (int k = 0; k < 4; k++) {
		u64 s = sel >> (4 * k) & 7,
		    byte = (s < 4 ? a >> (8 * s) : b >> (8 * (s - 4))) & 255;

		if (sel >> (4 * k) & 8)
			byte = byte >> 7 ? 255 : 0;
		r |= byte << (8 * k);
	}
	return r;
}

static u64 slow_dot(u64 a, u64 b, u64 c, int n, bool sa, bool sb, int shift)
{
	int wa = 32 / n;
	s64 sum = (s64)c;

	for (int k = 0; k < n; k++) {
		u64 p = a >> (k * wa) & ((1ull << wa) - 1), q = b >> (shift + k * 8) & 255;

		sum += (sa ? sext(p, wa) : (s64)p) * (sb ? sext(q, 8) : (s64)q);
	}
	return U32(sum);
}

/* ---- float references ---- */

static float f(u64 u)
{
	u32 v = (u32)u;
	float r;

	memcpy(&r, &v, 4);
	return r;
}

static double d(u64 u)
{
	double r;

	memcpy(&r, &u, 8);
	return r;
}

static u64 F(volatile float v)
{
	float w = v;
	u32 u;

	memcpy(&u, &w, 4);
	return v != v ? 0x7fffffff : u;
}

static u64 D(volatile double v)
{
	double w = v;
	u64 u;

	memcpy(&u, &w, 8);
	return v != v ? 0xfff8000000000000ull : u;
}

static u64 N(u64 u)
{
	return f(u) != f(u) ? 0x7fffffff : U32(u);
}

static u64 ND(u64 u)
{
	return d(u) != d(u) ? 0xfff8000000000000ull : u;
}

static u64 Z(u64 u)
{
	return u & 0x7f800000 ? u : u & 0x80000000;
}
#define z Z

static u64 SAT(u64 u)
{
	return f(u) != f(u) || f(u) <= 0 ? 0 : f(u) > 1 ? 0x3f800000 : u;
}
static u64 (*volatile round_begin_fn)(int);

static u64 set_round(int mode)
{
	return (u64)fesetround(mode);
}
/* Returns the result of fma.ftz: zero if the result, rounded with an unbounded exponent, is below
 * the smallest normal number. */
static u64 flushed_fma(float a, float b, float c)
{
	u64 r = Z(F(fmaf(a, b, c)));
	float large = fmaf(a * 0x1p32f, b * 0x1p32f, c * 0x1p64f);

	return (r & 0x7fffffff) == 0x800000 && fabsf(large) < 0x1p-62f ? r & 0x80000000 : r;
}

/* Converts f64 to f32. A NaN keeps its sign and the upper bits of its fraction (exact/h200.def). */
static u64 narrowed(u64 v)
{
	if (d(v) == d(v))
		return F((float)d(v));
	return (v >> 32 & 0x80000000) | 0x7fc00000 | (v >> 29 & 0x7fffff);
}

#define ROUND(mode, e) \
	(round_begin_fn(mode), round_result = (e), round_begin_fn(FE_TONEAREST), round_result)
static volatile u64 round_result;

static u64 slow_min(u64 a, u64 b, bool nan)
{
	if (f(a) != f(a) || f(b) != f(b))
		return nan || (f(a) != f(a) && f(b) != f(b)) ? 0x7fffffff
		       : f(a) != f(a)                        ? U32(b)
							     : U32(a);
	if (f(a) == f(b))
		return U32(a >> 31 & 1 ? a : b);
	return U32(f(a) < f(b) ? a : b);
}

static u64 slow_max(u64 a, u64 b, bool nan)
{
	if (f(a) != f(a) || f(b) != f(b))
		return nan || (f(a) != f(a) && f(b) != f(b)) ? 0x7fffffff
		       : f(a) != f(a)                        ? U32(b)
							     : U32(a);
	if (f(a) == f(b))
		return U32(a >> 31 & 1 ? b : a);
	return U32(f(a) > f(b) ? a : b);
}

static s64 to_int(double v, s64 lo, s64 hi)
{
	if (v != v)
		return 0;
	return v <= (double)lo ? lo : v >= (double)hi ? hi : (s64)v;
}

static u64 to_unsigned(double v)
{
	return !(v > 0) ? 0 : v >= 0x1p64 ? ~0ull : (u64)v;
}

/* Decodes f16 by its definition. */
static double h(u64 u)
{
	int e = (int)(u >> 10 & 31);
	double m = (double)(u & 1023), v;

	if (e == 31)
		v = m != 0 ? NAN : INFINITY;
	else
		v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
	return u >> 15 & 1 ? -v : v;
}

/* Finds the nearest of the 63,488 finite f16 numbers, ties to even, by bisection. */
static u64 HL(long double v)
{
	u64 lo = 0, hi = 0x7c00, sign = signbit(v) ? 0x8000 : 0;
	long double a = fabsl(v), below, above, top = 65520;

	if (v != v)
		return 0x7fff;
	if (a >= top)
		return sign | 0x7c00;
	while (hi - lo > 1) {
		u64 mid = (lo + hi) / 2;

		if ((long double)h(mid) <= a)
			lo = mid;
		else
			hi = mid;
	}
	below = a - h(lo);
	above = (hi == 0x7c00 ? 65536.0L : (long double)h(hi)) - a;
	return sign | (below < above || (below == above && !(lo & 1)) ? lo : hi);
}

static u64 H(double v)
{
	return HL(v);
}

static u64 zh(u64 u)
{
	return u & 0x7c00 ? u : u & 0x8000;
}
#define ZH zh

static u64 slow_bf16(u64 a)
{
	u64 rest = a & 0xffff, kept = a >> 16 & 0xffff;

	if (f(a) != f(a))
		return 0x7fff;
	return kept + (rest > 0x8000 || (rest == 0x8000 && kept & 1));
}

static u64 slow_bf16_of(u64 a)
{
	unsigned top = a ? 63 - (unsigned)__builtin_clzll(a) : 0, shift = top > 7 ? top - 7 : 0;
	u64 kept = a >> shift, rest = a - (kept << shift), half = shift ? 1ull << (shift - 1) : 1;

	if (!a)
		return 0;
	kept = shift ? kept + (rest > half || (rest == half && kept & 1)) : kept << (7 - top);
	return (127ull + top + (kept >> 8)) << 7 | (kept >> 8 ? 0 : kept & 127);
}

/* ---- rows of the table ---- */

#define ROW(insn, types, expr)                                         \
	static u64 VEC_CAT(ref_, __LINE__)(u64 a, u64 b, u64 c, u64 e) \
	{                                                              \
		(void)a, (void)b, (void)c, (void)e;                    \
		return (u64)(expr);                                    \
	}
#define VEC_CAT2(x, y) x##y
#define VEC_CAT(x, y)  VEC_CAT2(x, y)
#include "ops.def"
#undef ROW

static const struct row {
	const char *insn, *types;
	u64 (*ref)(u64, u64, u64, u64);
} rows[] = {
#define ROW(insn, types, expr) {insn, types, VEC_CAT(ref_, __LINE__)},
#include "ops.def"
#undef ROW
};

/* ---- operands ---- */

static const u64 edges32[] = {0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 0x7f, 0x80, 0xff,
	0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff, 0x800000, 0xffffff, 0x7fffffff,
	0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x12345678, 0x9abcdef0};
static const u64 edges64[] = {0, 1, 2, 31, 32, 63, 64, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
	0x8000000000000000, 0x8000000000000001, 0xffffffffffffffff, 0xfffffffffffffffe,
	0x0123456789abcdef, 0xffffffff80000000, 0x7fffffff, 0x80000000, 0x8000000000000401,
	0x8000008000000001};
static const u64 edges_f32[] = {0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
	0x7fc00000, 0xffc00001, 0x7f800001, 1, 0x80000001, 0x7fffff, 0x807fffff, 0x800000,
	0x80800000, 0x7f7fffff, 0xff7fffff, 0x3f000000, 0x3fc00000, 0x40200000, 0xbf000000,
	0xc0200000, 0x4effffff, 0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x5f800000,
	0x477fe000, 0x477ff000, 0x33000000, 0x33000001, 0x3f7fffff, 0x3f800001, 0x437f0000,
	0x43800000, 0x3f802000, 0x3f801000};
static const u64 edges_f64[] = {0, 1ull << 63, 0x3ff0000000000000, 0xbff0000000000000,
	0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000001,
	0x7ff0000000000001, 1, 0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000,
	0x7fefffffffffffff, 0xffefffffffffffff, 0x3fe0000000000000, 0x3ff8000000000000,
	0x4004000000000000, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000,
	0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000, 0x3690000000000000,
	0x36a0000000000001, 0x47efffffefffffff, 0x47effffff0000000, 0x380fffffffffffff};
static const u64 edges_h[] = {0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 1, 0x8001,
	0x3ff, 0x400, 0x7bff, 0xfbff, 0x3800, 0x3e00, 2, 0x7fff, 15, 16, 0xffff, 0x5640, 0x3555};

static u64 rng_state = 88172645463325252ull;

static u64 rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state;
}

static u64 cut(char type, u64 v)
{
	switch (type) {
	case 'h':
		return U16(v);
	case 'p':
		return v & 1;
	case 'l':
	case 'd':
		return v;
	default:
		return U32(v);
	}
}

static u64 operand(char type, size_t i)
{
	const u64 *t = type == 'f'   ? edges_f32
		       : type == 'd' ? edges_f64
		       : type == 'l' ? edges64
		       : type == 'h' ? edges_h
				     : edges32;
	size_t n = type == 'f'   ? ARRAY_LEN(edges_f32)
		   : type == 'd' ? ARRAY_LEN(edges_f64)
		   : type == 'l' ? ARRAY_LEN(edges64)
		   : type == 'h' ? ARRAY_LEN(edges_h)
				 : ARRAY_LEN(edges32);

	if (type == 'p')
		return rng() & 1;
	if (i < n)
		return t[i];
	/* Some numbers have exponents close to each other, so that sums round. */
	if (type == 'f' && rng() & 1)
		return (rng() & 0x80ffffff) + 0x3f000000 + (rng() % 12 << 23);
	if (type == 'd' && rng() & 1)
		return (rng() & 0x801fffffffffffffull) + ((1000ull + rng() % 60) << 52);
	return cut(type, rng());
}

/* ---- running one row ---- */

#define N 8192

static const char *reg_type(char t)
{
	return t == 'h'   ? "b16"
	       : t == 'l' ? "b64"
	       : t == 'f' ? "f32"
	       : t == 'd' ? "f64"
	       : t == 'p' ? "pred"
			  : "b32";
}

/* Emits a load of operand k of this thread into register %a<k>. */
static void load_operand(struct strbuf *s, char t, unsigned k)
{
	strbuf_printf(s, "ld.global.b64 %%w, [%%at+%u];\n", 8 * k);
	switch (t) {
	case 'h':
		strbuf_printf(s, "cvt.u16.u64 %%a%u, %%w;\n", k);
		break;
	case 'p':
		strbuf_printf(s, "setp.ne.u64 %%a%u, %%w, 0;\n", k);
		break;
	case 'r':
		strbuf_printf(s, "cvt.u32.u64 %%a%u, %%w;\n", k);
		break;
	case 'f':
		strbuf_printf(s, "cvt.u32.u64 %%v, %%w;\nmov.b32 %%a%u, %%v;\n", k);
		break;
	default:
		strbuf_printf(s, "mov.b64 %%a%u, %%w;\n", k);
		break;
	}
}

static void store_result(struct strbuf *s, char t)
{
	switch (t) {
	case 'h':
		strbuf_puts(s, "cvt.u64.u16 %w, %d;\n");
		break;
	case 'p':
		strbuf_puts(s, "selp.b64 %w, 1, 0, %d;\n");
		break;
	case 'r':
		strbuf_puts(s, "cvt.u64.u32 %w, %d;\n");
		break;
	case 'f':
		strbuf_puts(s, "mov.b32 %v, %d;\ncvt.u64.u32 %w, %v;\n");
		break;
	default:
		strbuf_puts(s, "mov.b64 %w, %d;\n");
		break;
	}
	strbuf_puts(s, "st.global.b64 [%to], %w;\n");
}

/* If `partial`, only odd threads run the instruction; the other threads' result stays 0. */
static void make_ptx(struct strbuf *s, const struct row *r, bool partial)
{
	size_t n = strlen(r->types) - 1;

	strbuf_puts(s,
		".version 8.0\n.target sm_90\n.address_size 64\n"
		".visible .entry k(.param .u64 in, .param .u64 out)\n{\n.reg .b64 %w, %at, %to, "
		"%t;\n.reg .b32 %v, %i, %j, %n;\n.reg .pred %odd;\n");
	strbuf_printf(s, ".reg .%s %%d;\n", reg_type(r->types[0]));
	for (unsigned k = 0; k < n; k++)
		strbuf_printf(s, ".reg .%s %%a%u;\n", reg_type(r->types[k + 1]), k);
	strbuf_puts(s, "ld.param.u64 %at, [in];\nld.param.u64 %to, [out];\nmov.u32 %i, %tid.x;\n"
		       "mov.u32 %j, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmad.lo.u32 %i, %j, %n, %i;\n"
		       "mad.wide.u32 %at, %i, 32, %at;\nmad.wide.u32 %to, %i, 8, %to;\n");
	for (unsigned k = 0; k < n; k++)
		load_operand(s, r->types[k + 1], k);
	if (partial)
		strbuf_puts(s, "and.b32 %j, %i, 1;\nsetp.eq.u32 %odd, %j, 0;\n@%odd bra DONE;\n");
	strbuf_printf(s, "%s %%d", r->insn);
	for (unsigned k = 0; k < n; k++)
		strbuf_printf(s, ", %%a%u", k);
	strbuf_puts(s, ";\n");
	store_result(s, r->types[0]);
	strbuf_puts(s, "DONE:\nret;\n}\n");
}

static void fill_operands(const struct row *r, u64 *in)
{
	size_t n = strlen(r->types) - 1, side = 1;

	while (n > 1 && (side + 1) * (side + 1) <= N / 2 && side < 40)
		side++;
	for (size_t i = 0; i < N; i++) {
		for (size_t k = 0; k < n; k++) {
			size_t at = n == 1 ? i : k == 0 ? i % side : k == 1 ? i / side : (size_t)-1;

			/* The first two operands: all pairs of edge cases, then mostly random
			 * values. Further operands: edge cases or random values. */
			if (k >= 2)
				at = rng() % 64;
			else if (n > 1 && i >= side * side)
				at = rng() & 3 ? (size_t)-1 : rng() % side;
			in[i * 4 + k] = operand(r->types[k + 1], at);
		}
	}
}

static void fail_row(const struct row *r, const u64 *in, u64 got, u64 want, bool partial)
{
	print_error("%s (%s%s): %016llx %016llx %016llx %016llx gives %016llx, not %016llx\n",
		r->insn, r->types, partial ? ", partial mask" : "", (unsigned long long)in[0],
		(unsigned long long)in[1], (unsigned long long)in[2], (unsigned long long)in[3],
		(unsigned long long)got, (unsigned long long)want);
}

static unsigned run_row(struct vgpu_mem *m, const struct row *r, bool partial)
{
	struct strbuf s = {0};
	struct arena a;
	static struct diag_list diags;
	struct vgpu_module *mod;
	struct grid_result g;
	u64 params[2], *in, *out;
	struct vgpu_launch l = {
		.grid = {N / 256, 1, 1}, .block = {256, 1, 1}, .params = params, .n_sms = 1};
	unsigned bad = 0;

	make_ptx(&s, r, partial);
	arena_init(&a, 0);
	diag_init(&diags, &a, "row", s.at, s.len);
	assert_int_equal(vgpu_module_load(m, s.at, s.len, &diags, &mod), 0);
	assert_int_equal(vgpu_mem_alloc(m, N * 32, &params[0]), 0);
	assert_int_equal(vgpu_mem_alloc(m, N * 8, &params[1]), 0);
	in = (u64 *)(uintptr_t)params[0];
	out = (u64 *)(uintptr_t)params[1];
	fill_operands(r, in);
	l.kernel = vgpu_module_kernel(mod, "k");
	assert_non_null(l.kernel);
	if (vgpu_run_grid(&l, 100000, 0, &g)) {
		print_error("%s: %s\n", r->insn, g.fault.message);
		bad = 1;
	}
	for (size_t i = 0; i < N && !bad; i++) {
		u64 want = cut(r->types[0],
			r->ref(in[4 * i], in[4 * i + 1], in[4 * i + 2], in[4 * i + 3]));

		if (partial && !(i & 1))
			want = 0;
		if (out[i] != want) {
			fail_row(r, in + 4 * i, out[i], want, partial);
			bad = 1;
		}
	}
	vgpu_mem_free(m, params[0]);
	vgpu_mem_free(m, params[1]);
	vgpu_module_free(mod);
	arena_finish(&a);
	strbuf_finish(&s);
	return bad;
}

static void every_row(void **state)
{
	struct vgpu_mem *m;
	unsigned bad = 0;

	(void)state;
	round_begin_fn = set_round;
	assert_int_equal(vgpu_mem_create(1 << 30, &m), 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bad += run_row(m, &rows[i], false);
		bad += run_row(m, &rows[i], true);
	}
	vgpu_mem_destroy(m);
	assert_int_equal(bad, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_row)};

	if (argc > 1 && !strcmp(argv[1], "plain"))
		vgpu_vec_plain();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
