/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes the forms of sums.def as kernels, with their operands (sums.h). The host lays out the
 * fragments of mma, following the PTX ISA ("Matrix Fragments for mma"). wmma loads and stores
 * its own fragments, so their layout does not matter. */
#include "sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "forms.h"

/* Types that no instruction of exact.def has. Only their number of bits matters. */
static const struct exact_type narrow[] = {{"e4m3", KIND_BITS, 8, 1, 0, 0},
	{"e5m2", KIND_BITS, 8, 1, 0, 0}, {"s4", KIND_BITS, 4, 1, 0, 0},
	{"u4", KIND_BITS, 4, 1, 0, 0}, {"b1", KIND_BITS, 1, 1, 0, 0}};

static const struct exact_type *type_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(narrow); i++)
		if (!strcmp(narrow[i].name, name))
			return &narrow[i];
	return exact_type_of(name);
}

bool sum_parse(const char *text, struct sum_form *ret)
{
	struct sum_form f = {0};
	char copy[sizeof(f.text)], *save = NULL;
	const struct exact_type *types[4];
	unsigned n = 0;

	snprintf(f.text, sizeof(f.text), "%s", text);
	snprintf(copy, sizeof(copy), "%s", text);
	char *p = strtok_r(copy, ".", &save);
	f.wmma = p && !strcmp(p, "wmma");
	p = strtok_r(NULL, ".", &save);
	if (!p || sscanf(p, "m%un%uk%u", &f.m, &f.n, &f.k) != 3 || strlen(p) >= sizeof(f.shape))
		return false;
	snprintf(f.shape, sizeof(f.shape), "%s", p);
	while ((p = strtok_r(NULL, ".", &save))) {
		if (!strcmp(p, "satfinite")) {
			f.saturates = true;
			continue;
		}
		if (n == ARRAY_LEN(types) || !(types[n] = type_of(p)))
			return false;
		n++;
	}
	f.d = types[0];
	f.a = types[1];
	f.b = types[2];
	f.c = types[3];
	*ret = f;
	return n == ARRAY_LEN(types);
}

struct row {
	sum_vec *all;
	unsigned target;
	bool unknown;
};

static void add(void *arg, const char *text)
{
	const struct row *r = arg;
	struct sum_form f;

	if (!sum_parse(text, &f)) {
		fprintf(stderr, "sums.def: %s\n", text);
		exit(1);
	}
	f.target = r->target;
	f.unknown = r->unknown;
	if (!VEC_PUSH(r->all, f)) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
}

void sums_expand(sum_vec *ret)
{
	struct row r = {.all = ret};

#define SUM(sm, forms)                    \
	r.target = sm, r.unknown = false; \
	forms_alternatives(forms, add, &r);
#define UNKNOWN_SUM(forms)               \
	r.target = 90, r.unknown = true; \
	forms_alternatives(forms, add, &r);
#include "sums.def"
#undef SUM
#undef UNKNOWN_SUM
}

/* ---- registers ---- */

static unsigned element_bits(const struct exact_type *t)
{
	return t->bits == 19 ? 32 : t->bits;
}

static unsigned register_bytes(const struct exact_type *t)
{
	return t->bits == 64 ? 8 : 4;
}

static const char *register_type(const struct exact_type *t, bool factor)
{
	if (t->bits == 64)
		return "f64";
	return !factor && t->bits == 32 && t->kind == KIND_FLOAT ? "f32" : "b32";
}

/* Returns how many registers of one lane hold its part of a matrix. */
static unsigned registers(
	const struct sum_form *f, const struct exact_type *t, unsigned elements, bool factor)
{
	if (f->wmma && factor && !strcmp(t->name, "f16"))
		return 8; /* each element is in two lanes */
	return MAX(elements * element_bits(t) / (32 * 8 * register_bytes(t)), 1u);
}

static void list(struct strbuf *s, char name, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		strbuf_printf(s, "%s%%%c%u", i ? ", " : "{", name, i);
	strbuf_puts(s, "}");
}

/* ---- kernels ---- */

static void load(struct strbuf *s, const struct sum_form *f, char name, const struct exact_type *t,
	unsigned n, unsigned at)
{
	unsigned bytes = register_bytes(t);

	if (f->wmma) {
		strbuf_printf(s, "wmma.load.%c.sync.aligned.%s.%s.global.%s ", name,
			name == 'b' ? "col" : "row", f->shape, t->name);
		list(s, name, n);
		strbuf_printf(s, ", [%%in+%u];\n", at);
		return;
	}
	strbuf_printf(s, "mad.wide.u32 %%lane, %%i, %u, %%in;\n", bytes);
	for (unsigned r = 0; r < n; r++)
		strbuf_printf(s, "ld.global.%s %%%c%u, [%%lane+%u];\n",
			register_type(t, name != 'c'), name, r, at + 32 * bytes * r);
}

static void instruction(struct strbuf *s, const struct sum_form *f)
{
	if (!f->wmma)
		strbuf_printf(s, "mma.sync.aligned.%s.row.col%s.%s.%s.%s.%s ", f->shape,
			f->saturates ? ".satfinite" : "", f->d->name, f->a->name, f->b->name,
			f->c->name);
	else if (!strcmp(f->a->name, "f16"))
		strbuf_printf(s, "wmma.mma.sync.aligned.row.col.%s.%s.%s%s ", f->shape, f->d->name,
			f->c->name, f->saturates ? ".satfinite" : "");
	else
		strbuf_printf(s, "wmma.mma.sync.aligned.row.col.%s.%s.%s.%s.%s%s ", f->shape,
			f->d->name, f->a->name, f->b->name, f->c->name,
			f->saturates ? ".satfinite" : "");
}

void sum_kernel(struct strbuf *s, const struct sum_form *f, const char *name)
{
	const struct {
		char name;
		const struct exact_type *type;
		unsigned elements;
	} of[] = {{'a', f->a, f->m * f->k}, {'b', f->b, f->k * f->n}, {'c', f->c, f->m * f->n},
		{'d', f->d, f->m * f->n}};
	unsigned n[ARRAY_LEN(of)];

	strbuf_printf(s,
		".visible .entry %s(.param .u64 in, .param .u64 out)\n{\n"
		".reg .b64 %%in, %%out, %%lane;\n.reg .b32 %%i, %%j;\n",
		name);
	for (unsigned i = 0; i < ARRAY_LEN(of); i++) {
		n[i] = registers(f, of[i].type, of[i].elements, i < 2);
		strbuf_printf(s, ".reg .%s %%%c<%u>;\n", register_type(of[i].type, i < 2),
			of[i].name, n[i]);
	}
	strbuf_printf(s,
		"ld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\n"
		"mov.u32 %%i, %%tid.x;\nmov.u32 %%j, %%ctaid.x;\n"
		"mad.wide.u32 %%in, %%j, %u, %%in;\nmad.wide.u32 %%out, %%j, %u, %%out;\n",
		3 * SUM_PLACE, SUM_PLACE);
	for (unsigned i = 0; i < 3; i++)
		load(s, f, of[i].name, of[i].type, n[i], i * SUM_PLACE);
	instruction(s, f);
	list(s, 'd', n[3]);
	for (unsigned i = 0; i < 3; i++) {
		strbuf_puts(s, ", ");
		list(s, of[i].name, n[i]);
	}
	strbuf_puts(s, ";\n");
	if (f->wmma) {
		strbuf_printf(s, "wmma.store.d.sync.aligned.row.%s.global.%s [%%out], ", f->shape,
			f->d->name);
		list(s, 'd', n[3]);
		strbuf_puts(s, ";\nret;\n}\n");
		return;
	}
	unsigned bytes = register_bytes(f->d);
	strbuf_printf(s, "mad.wide.u32 %%lane, %%i, %u, %%out;\n", bytes);
	for (unsigned r = 0; r < n[3]; r++)
		strbuf_printf(s, "st.global.%s [%%lane+%u], %%d%u;\n", register_type(f->d, false),
			32 * bytes * r, r);
	strbuf_puts(s, "ret;\n}\n");
}

/* ---- matrices in memory ---- */

/* The bit offset of an element of A (row r, column c), B or C in its matrix's memory. */
static size_t place_of(
	const struct sum_form *f, char which, const struct exact_type *t, unsigned r, unsigned c)
{
	unsigned bits = element_bits(t), p = 32 / bits ? 32 / bits : 1;
	unsigned lane, reg, e, rows = which == 'b' ? f->n : f->m;

	if (f->wmma)
		return (size_t)bits *
		       (which == 'b' ? c * f->k + r : r * (which == 'a' ? f->k : f->n) + c);
	if (which == 'b') { /* like A with rows and columns exchanged, and with eight rows */
		unsigned swap = r;
		r = c;
		c = swap;
	}
	if (which == 'c') {
		lane = r % 8 * 4 + c % 8 / 2;
		reg = (r / 8 * 2 + c % 2) / p;
		e = c % 2 % p;
	} else {
		lane = r % 8 * 4 + c / p % 4;
		reg = rows > 8 ? r / 8 + c / (4 * p) * 2 : c / (4 * p);
		e = c % p;
	}
	return (size_t)8 * register_bytes(t) * (32 * reg + lane) + (size_t)bits * e;
}

static void put(char *at, size_t bit, const struct exact_type *t, u64 v)
{
	unsigned bytes = element_bits(t) / 8;
	/* the bits below those of tf32 are ignored */
	u64 filled = t->bits == 19 ? v << 13 | 0xabc : v;

	memcpy(at + bit / 8, &filled, bytes);
}

static char *tile_at(char *in, unsigned number, unsigned matrix)
{
	return in + ((size_t)3 * number + matrix) * SUM_PLACE;
}

void sum_pack(const struct sum_form *f, unsigned number, const struct sum_tile *t, char *in)
{
	for (unsigned r = 0; r < f->m; r++)
		for (unsigned k = 0; k < f->k; k++)
			put(tile_at(in, number, 0), place_of(f, 'a', f->a, r, k), f->a,
				t->a[r * f->k + k]);
	for (unsigned c = 0; c < f->n; c++)
		for (unsigned k = 0; k < f->k; k++)
			put(tile_at(in, number, 1), place_of(f, 'b', f->b, k, c), f->b,
				t->b[c * f->k + k]);
	for (unsigned r = 0; r < f->m; r++)
		for (unsigned c = 0; c < f->n; c++)
			put(tile_at(in, number, 2), place_of(f, 'c', f->c, r, c), f->c,
				t->c[r * f->n + c]);
}

void sum_unpack(const struct sum_form *f, unsigned number, const char *out, u64 *ret_d)
{
	for (unsigned r = 0; r < f->m; r++)
		for (unsigned c = 0; c < f->n; c++) {
			u64 v = 0;
			size_t bit = place_of(f, 'c', f->d, r, c);
			memcpy(&v, out + (size_t)number * SUM_PLACE + bit / 8, f->d->bits / 8);
			ret_d[r * f->n + c] = v;
		}
}

/* ---- operands ---- */

static u64 state;

static u64 rng(void)
{
	return exact_rng(&state);
}

/* A random value whose exponent is within spread / 2 of the middle, as far as the type allows. */
static u64 near_exponent(const struct exact_type *t, int middle, unsigned spread)
{
	int field = middle + (int)t->f_bias + (int)(rng() % spread) - (int)spread / 2;
	u64 v = rng();

	field = MAX(MIN(field, 2 * (int)t->f_bias), 0);
	return (v & exact_mask(t->fbits)) | (u64)field << t->fbits | (v >> 63) << (t->bits - 1);
}

enum kind { ANY, MIXED, CLOSE, CANCELS, WIDE_SPREAD, PAIRS, TINY, WHOLE, N_KINDS };
_Static_assert(N_KINDS == SUM_KINDS, "one tile of each kind");

static u64 float_element(const struct exact_type *t, enum kind kind, const struct exact_type *sum)
{
	struct wide w = {0};

	switch (kind) {
	case ANY:
		return rng() & exact_mask(t->bits);
	case MIXED: /* few special values, since a sum has many elements */
		return rng() % 48 ? near_exponent(t, 0, 4)
				  : form_special_float(t, (unsigned)(rng() % FORM_SPECIAL));
	case WIDE_SPREAD:
	case PAIRS:
		return near_exponent(t, -2, 14);
	case TINY: /* products near the smallest numbers of D */
		return near_exponent(t, (1 - (int)sum->f_bias) / 2, 8);
	case WHOLE:
		wide_add(&w, rng() & 1, rng() % 16, 0);
		return wide_round(&w, t, true);
	default:
		return near_exponent(t, 0, 3);
	}
}

static u64 element(const struct exact_type *t, enum kind kind, const struct exact_type *sum)
{
	if (t->kind == KIND_FLOAT)
		return float_element(t, kind, sum);
	return rng() % 4 ? rng() & exact_mask(t->bits)
			 : form_special_bits(t->bits, (unsigned)(rng() % FORM_SPECIAL));
}

/* Makes the sum nearly cancel, so that truncation shows. */
static u64 cancelling(const struct sum_form *f, const u64 *a, const u64 *b)
{
	struct wide w = {0}, minus = {0};

	for (unsigned k = 0; k < f->k; k++) {
		struct wide_value x = wide_decode(f->a, a[k]), y = wide_decode(f->b, b[k]);
		wide_add_product(&w, &x, &y);
	}
	wide_sub(&minus, &w);
	return wide_round(&minus, f->c, rng() & 1);
}

void sum_fill(const struct sum_form *f, unsigned number, struct sum_tile *t)
{
	enum kind kind = number % N_KINDS;
	u64 sign = 1ull << (f->a->bits - 1);

	state = hash_bytes(f->text, strlen(f->text), 1 + number) | 1;
	for (unsigned i = 0; i < f->m * f->k; i++)
		t->a[i] = element(f->a, kind, f->d);
	for (unsigned i = 0; i < f->n * f->k; i++)
		t->b[i] = element(f->b, kind, f->d);
	for (unsigned i = 0; i < f->m * f->n; i++)
		t->c[i] = element(f->c, kind == TINY ? ANY : kind, f->d);
	if (f->d->kind != KIND_FLOAT)
		return;
	/* Each product but the first has its opposite elsewhere in the sum. */
	for (unsigned r = 0; kind == PAIRS && r < f->m; r++)
		for (unsigned k = 1; 2 * k < f->k; k++)
			t->a[r * f->k + f->k - k] = t->a[r * f->k + k] ^ sign;
	for (unsigned c = 0; kind == PAIRS && c < f->n; c++)
		for (unsigned k = 1; 2 * k < f->k; k++)
			t->b[c * f->k + f->k - k] = t->b[c * f->k + k];
	for (unsigned i = 0; i < f->m * f->n && kind == TINY; i++)
		t->c[i] = near_exponent(f->c, 1 - (int)f->d->f_bias, 6);
	for (unsigned i = 0; i < f->m * f->n && kind == CANCELS; i++)
		t->c[i] = cancelling(f, &t->a[i / f->n * f->k], &t->b[i % f->n * f->k]);
}
