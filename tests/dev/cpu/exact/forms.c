/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implementation of forms.h. */
#include "forms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- element types ---- */

const struct exact_type exact_types[] = {{"u8", KIND_UINT, 8, 1, 0, 0},
	{"u16", KIND_UINT, 16, 1, 0, 0}, {"u32", KIND_UINT, 32, 1, 0, 0},
	{"u64", KIND_UINT, 64, 1, 0, 0}, {"s8", KIND_INT, 8, 1, 0, 0},
	{"s16", KIND_INT, 16, 1, 0, 0}, {"s32", KIND_INT, 32, 1, 0, 0},
	{"s64", KIND_INT, 64, 1, 0, 0}, {"b16", KIND_BITS, 16, 1, 0, 0},
	{"b32", KIND_BITS, 32, 1, 0, 0}, {"b64", KIND_BITS, 64, 1, 0, 0},
	{"u16x2", KIND_UINT, 16, 2, 0, 0}, {"s16x2", KIND_INT, 16, 2, 0, 0},
	{"f16", KIND_FLOAT, 16, 1, 10, 15}, {"bf16", KIND_FLOAT, 16, 1, 7, 127},
	{"f16x2", KIND_FLOAT, 16, 2, 10, 15}, {"bf16x2", KIND_FLOAT, 16, 2, 7, 127},
	{"e4m3x2", KIND_FLOAT, 8, 2, 3, 7, true}, {"e5m2x2", KIND_FLOAT, 8, 2, 2, 15},
	{"tf32", KIND_FLOAT, 19, 1, 10, 127}, {"f32", KIND_FLOAT, 32, 1, 23, 127},
	{"f64", KIND_FLOAT, 64, 1, 52, 1023}, {"pred", KIND_PRED, 1, 1, 0, 0},
	{NULL, KIND_BITS, 0, 0, 0, 0}};

const struct exact_type *exact_type_of(const char *name)
{
	for (const struct exact_type *t = exact_types; t->name; t++)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

bool exact_has(const struct exact_insn *i, const char *part)
{
	for (unsigned k = 1; k < i->n_parts; k++)
		if (i->parts[k][0] == part[0] && !strcmp(i->parts[k], part))
			return true;
	return false;
}

bool exact_is(const struct exact_insn *i, const char *op)
{
	return !strcmp(i->parts[0], op);
}

/* ---- forms ---- */

const struct form_row form_rows[] = {
#define EXACT(forms, operands, ref)         {forms, operands, #ref, 90},
#define NEWER(target, forms, operands, ref) {forms, operands, #ref, target},
#define INEXACT(op, why)
#include "exact.def"
#undef EXACT
#undef NEWER
#undef INEXACT
};
const size_t form_n_rows = ARRAY_LEN(form_rows);

static void die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static void add_form(form_vec *all, unsigned row, const char *text)
{
	struct form f = {.row = row};
	struct exact_insn *i = &f.insn;
	char copy[sizeof(i->text)], *save = NULL;

	snprintf(i->text, sizeof(i->text), "%s", text);
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *p = strtok_r(copy, ".", &save); p; p = strtok_r(NULL, ".", &save)) {
		const struct exact_type *t = exact_type_of(p);
		if (i->n_parts == ARRAY_LEN(i->parts) || strlen(p) >= sizeof(i->parts[0]))
			die(text);
		snprintf(i->parts[i->n_parts++], sizeof(i->parts[0]), "%s", p);
		if (t && i->n_types < ARRAY_LEN(i->type))
			i->type[i->n_types++] = t;
	}
	i->n_src = (unsigned)strlen(form_rows[row].operands) - 1;
	if (!VEC_PUSH(all, f))
		die("out of memory");
}

/* Expands the first braces' alternatives one by one, and later braces by recursion. */
static void expand(const char *text, form_text_fn *each, void *arg)
{
	const char *open = strchr(text, '{'), *close = open ? strchr(open, '}') : NULL;

	if (!open) {
		each(arg, text);
		return;
	}
	for (const char *at = open + 1; at <= close;) {
		size_t len = strcspn(at, "|}");
		struct strbuf one = {0};
		strbuf_add(&one, text, (size_t)(open - text));
		strbuf_add(&one, at, len);
		strbuf_puts(&one, close + 1);
		if (one.failed)
			die("out of memory");
		expand(one.at, each, arg);
		strbuf_finish(&one);
		at += len + 1;
	}
}

void forms_alternatives(const char *text, form_text_fn *each, void *arg)
{
	expand(text, each, arg);
}

struct row_forms {
	form_vec *all;
	unsigned row;
};

static void add_of_row(void *arg, const char *text)
{
	struct row_forms *r = arg;

	add_form(r->all, r->row, text);
}

void forms_expand(form_vec *all)
{
	for (unsigned k = 0; k < form_n_rows; k++) {
		struct row_forms r = {all, k};
		char copy[300], *save = NULL;
		snprintf(copy, sizeof(copy), "%s", form_rows[k].forms);
		char *numbers = strchr(copy, '#');
		if (!numbers) {
			forms_alternatives(copy, add_of_row, &r);
			continue;
		}
		*numbers++ = 0;
		for (char *p = strtok_r(numbers, "|", &save); p; p = strtok_r(NULL, "|", &save)) {
			forms_alternatives(copy, add_of_row, &r);
			all->at[all->len - 1].insn.has_imm = true;
			all->at[all->len - 1].insn.imm = (unsigned)strtoul(p, NULL, 10);
		}
	}
}

const struct exact_type *form_operand(const struct form *f, unsigned k, unsigned *ret_bits)
{
	const struct exact_type *t;

	switch (form_rows[f->row].operands[k]) {
	case 'i':
		t = exact_type_of("b32");
		break;
	case 'p':
	case 'P':
		t = exact_type_of("pred");
		break;
	case 'U':
		t = f->insn.type[1];
		break;
	default:
		t = f->insn.type[0];
		break;
	}
	unsigned bits = t->bits * t->n * (form_rows[f->row].operands[k] == 'W' ? 2 : 1);
	*ret_bits = bits == 1 ? 1 : bits == 16 ? 16 : bits <= 32 ? 32 : 64;
	return t;
}

static bool sets_carry(const struct form *f)
{
	return !strcmp(form_rows[f->row].reference, "ref_carry");
}

bool form_has_second(const struct form *f)
{
	return form_rows[f->row].operands[0] == 'P' || sets_carry(f);
}

static void load(struct strbuf *s, unsigned bits, unsigned k)
{
	strbuf_printf(s, "ld.global.b64 %%w, [%%at+%u];\n", 8 * k);
	if (bits == 1)
		strbuf_printf(s, ".reg .pred %%a%u;\nsetp.ne.u64 %%a%u, %%w, 0;\n", k, k);
	else if (bits == 64)
		strbuf_printf(s, ".reg .b64 %%a%u;\nmov.b64 %%a%u, %%w;\n", k, k);
	else
		strbuf_printf(s, ".reg .b%u %%a%u;\ncvt.u%u.u64 %%a%u, %%w;\n", bits, k, bits, k);
}

static void store(struct strbuf *s, unsigned bits, const char *reg, unsigned at)
{
	if (bits == 1)
		strbuf_printf(s, "selp.b64 %%w, 1, 0, %s;\n", reg);
	else if (bits == 64)
		strbuf_printf(s, "mov.b64 %%w, %s;\n", reg);
	else
		strbuf_printf(s, "cvt.u64.u%u %%w, %s;\n", bits, reg);
	strbuf_printf(s, "st.global.b64 [%%to+%u], %%w;\n", at);
}

void form_kernel(struct strbuf *s, const struct form *f, const char *name)
{
	const struct exact_insn *i = &f->insn;
	bool pair = form_rows[f->row].operands[0] == 'P', carry = sets_carry(f);
	unsigned bits;

	strbuf_printf(s, ".visible .entry %s(.param .u64 in, .param .u64 out)\n{\n", name);
	strbuf_puts(s, ".reg .b64 %w, %at, %to;\n.reg .b32 %i, %j, %n, %c;\n.reg .pred %d2;\n"
		       "ld.param.u64 %at, [in];\nld.param.u64 %to, [out];\nmov.u32 %i, %tid.x;\n"
		       "mov.u32 %j, %ctaid.x;\nmov.u32 %n, %ntid.x;\nmad.lo.u32 %i, %j, %n, %i;\n"
		       "mad.wide.u32 %at, %i, 32, %at;\nmad.wide.u32 %to, %i, 16, %to;\n");
	for (unsigned k = 0; k < i->n_src; k++) {
		form_operand(f, k + 1, &bits);
		load(s, bits, k);
	}
	if (carry)
		strbuf_printf(s,
			"ld.global.b64 %%w, [%%at+%u];\ncvt.u32.u64 %%c, %%w;\n"
			"and.b32 %%c, %%c, 1;\nadd.cc.u32 %%c, %%c, 0xffffffff;\n",
			8 * i->n_src);
	form_operand(f, 0, &bits);
	if (bits == 1)
		strbuf_puts(s, ".reg .pred %d;\n");
	else
		strbuf_printf(s, ".reg .b%u %%d;\n", bits);
	strbuf_printf(s, "%s %%d%s", i->text, pair ? "|%d2" : "");
	for (unsigned k = 0; k < i->n_src; k++)
		strbuf_printf(s, ", %%a%u", k);
	if (i->has_imm)
		strbuf_printf(s, ", %u", i->imm);
	strbuf_puts(s, ";\n");
	if (carry)
		strbuf_puts(s, "addc.u32 %c, 0, 0;\n");
	store(s, bits, "%d", 0);
	if (pair)
		store(s, 1, "%d2", 8);
	else if (carry)
		store(s, 32, "%c", 8);
	strbuf_puts(s, "ret;\n}\n");
}

/* ---- operands ---- */

static u64 state;

static u64 rng(void)
{
	return exact_rng(&state);
}

u64 form_special_float(const struct exact_type *t, unsigned k)
{
	u64 one = (u64)t->f_bias << t->fbits, unit = 1ull << t->fbits;
	u64 inf = (u64)(2 * t->f_bias + 1) << t->fbits, sign = 1ull << (t->bits - 1);
	const u64 all[FORM_SPECIAL] = {0, sign, one, sign | one, inf, sign | inf, inf | unit / 2,
		sign | inf | 1, 1, sign | (unit - 1), unit, sign | unit, inf - 1, sign | (inf - 1),
		one + unit / 2, one - 1};

	return all[k];
}

u64 form_special_bits(unsigned bits, unsigned k)
{
	u64 top = 1ull << (bits - 1), all_set = exact_mask(bits);
	const u64 all[FORM_SPECIAL] = {0, 1, 2, 3, bits - 1, bits, bits + 1, 31 % bits, top,
		top - 1, top + 1, all_set, all_set - 1, 0x5555555555555555, all_set >> bits / 2,
		~(all_set >> bits / 2)};

	return all[k] & all_set;
}

/* random_float and random_bits_of return random values of many magnitudes, so that sums round, and
 * whole numbers and shift counts of few bits occur. */
static u64 random_float(const struct exact_type *t)
{
	u64 v = rng() & exact_mask(t->bits), kept;

	switch (rng() % 4) {
	case 0:
		return v;
	case 1:
		kept = v & ~(exact_mask(t->bits - 1) & ~exact_mask(t->fbits));
		return kept + ((u64)(t->f_bias - 6 + rng() % MIN(70u, t->f_bias)) << t->fbits);
	case 2:
		v &= ~exact_mask(t->fbits / 2 + (unsigned)(rng() % (t->fbits / 2)));
		return v;
	default:
		/* Gives the value one of the smallest magnitudes. */
		return v & ~(exact_mask(t->bits - 1) & ~exact_mask(t->fbits + 2));
	}
}

static u64 random_bits_of(unsigned bits)
{
	u64 v = rng() & exact_mask(bits);

	return rng() & 1 ? v : v >> rng() % bits;
}

static u64 element(const struct exact_type *t, unsigned bits, unsigned k)
{
	if (t->kind == KIND_FLOAT)
		return k < FORM_SPECIAL ? form_special_float(t, k) : random_float(t);
	return k < FORM_SPECIAL ? form_special_bits(bits, k) : random_bits_of(bits);
}

static u64 operand(const struct form *f, unsigned source, unsigned k)
{
	unsigned bits;
	const struct exact_type *t = form_operand(f, source + 1, &bits);
	u64 v = 0;

	if (bits == 1)
		return rng() & 1;
	if (t->n == 1)
		return element(t, form_rows[f->row].operands[source + 1] == 'W' ? bits : t->bits,
			       k) |
		       /* Bits that a wider register holds above the element are ignored. */
		       (t->bits == 8 ? rng() & 0xffffff00 : 0);
	for (unsigned j = 0; j < t->n; j++)
		v |= element(t, t->bits, j ? (unsigned)(rng() % FORM_SIDE) : k) << (t->bits * j);
	return v;
}

void form_fill(const struct form *f, u64 *in)
{
	u64 value[FORM_SOURCES][FORM_SIDE];

	state = hash_bytes(f->insn.text, strlen(f->insn.text), 1) | 1;
	for (unsigned s = 0; s < FORM_SOURCES; s++)
		for (unsigned k = 0; k < FORM_SIDE; k++)
			value[s][k] = s < f->insn.n_src ? operand(f, s, k) : rng();
	for (unsigned k = 0; k < FORM_N; k++) {
		in[FORM_SOURCES * k] = value[0][k % FORM_SIDE];
		in[FORM_SOURCES * k + 1] = value[1][k / FORM_SIDE];
		for (unsigned s = 2; s < FORM_SOURCES; s++)
			in[FORM_SOURCES * k + s] = value[s][rng() % FORM_SIDE];
	}
	/* A form with one operand uses as many different values as the others use pairs. */
	for (unsigned k = FORM_SIDE; f->insn.n_src == 1 && k < FORM_N; k++)
		in[FORM_SOURCES * k] = operand(f, 0, FORM_SPECIAL);
}
