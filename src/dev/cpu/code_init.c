/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Evaluates initializers of module variables: numbers, nested braces, addresses of variables and
 * functions, generic(), sums and differences, and masks that select a byte such as 0xFF(name). */
#include "code.h"

#include <errno.h>
#include <string.h>

struct init {
	struct vgpu_module *mod;
	const char *s, *end;
	uint8_t *to;
	uint64_t left; /* bytes */
	unsigned elem;
	uint8_t type;
	unsigned depth;
};

static void skip_space(struct init *t)
{
	while (t->s < t->end) {
		if (strchr(" \t\r\n", *t->s)) {
			t->s++;
		} else if (t->s[0] == '/' && t->s + 1 < t->end && t->s[1] == '/') {
			while (t->s < t->end && *t->s != '\n')
				t->s++;
		} else if (t->s[0] == '/' && t->s + 1 < t->end && t->s[1] == '*') {
			const char *e = strstr(t->s + 2, "*/");

			t->s = e ? e + 2 : t->end;
		} else {
			break;
		}
	}
}

static bool accept_char(struct init *t, char c)
{
	skip_space(t);
	if (t->s >= t->end || *t->s != c)
		return false;
	t->s++;
	return true;
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '%' || c == '.';
}

static int address_of(struct init *t, const char *name, size_t len, uint64_t *ret)
{
	struct vgpu_module *mod = t->mod;

	for (size_t i = 0; i < mod->globals.len; i++) {
		const char *n = mod->globals.at[i].sym->name;

		if (strlen(n) == len && !memcmp(n, name, len)) {
			*ret = mod->globals.at[i].addr;
			return 0;
		}
	}
	for (size_t i = 0; i < mod->funcs.len; i++) {
		const char *n = mod->funcs.at[i]->sym->name;

		if (strlen(n) == len && !memcmp(n, name, len)) {
			*ret = vgpu_func_addr(mod, mod->funcs.at[i]);
			return 0;
		}
	}
	return -ENOENT;
}

/* Converts a value's bits from f32 to f64, or from f64 to f32. */
static uint64_t convert_bits(uint64_t bits, bool to_f64)
{
	uint64_t r = 0;
	double d;
	float f;

	if (to_f64) {
		memcpy(&f, &bits, sizeof(f));
		d = (double)f;
		memcpy(&r, &d, sizeof(d));
	} else {
		memcpy(&d, &bits, sizeof(d));
		f = (float)d;
		memcpy(&r, &f, sizeof(f));
	}
	return r;
}

static int parse_number(struct init *t, uint64_t *ret)
{
	bool is_float = t->type == PTX_F32 || t->type == PTX_F64, is_f32, is_hex;
	const char *text = t->s;
	enum ptx_number_kind kind;
	double d;

	while (t->s < t->end &&
		(is_name(*t->s) || ((*t->s == '-' || *t->s == '+') && t->s > text &&
					   strchr("eE", t->s[-1]) && text[1] != 'x')))
		t->s++;
	kind = ptx_read_number(text, (size_t)(t->s - text), ret);
	is_f32 = kind == PTX_NUM_FLOAT && *text == '0' && (text[1] | 32) == 'f';
	is_hex = is_f32 || (kind == PTX_NUM_FLOAT && *text == '0' && (text[1] | 32) == 'd');
	if (kind == PTX_NUM_NONE || (kind == PTX_NUM_FLOAT && !is_float && !is_hex))
		return -EINVAL;
	if (!is_float)
		return 0;
	if (kind == PTX_NUM_INT) {
		d = (double)*ret;
		memcpy(ret, &d, sizeof(d));
	}
	if (is_f32 != (t->type == PTX_F32))
		*ret = convert_bits(*ret, is_f32);
	return 0;
}

static int parse_value(struct init *t, uint64_t *ret);

static int parse_term(struct init *t, uint64_t *ret)
{
	const char *from;
	uint64_t v;
	int r;

	skip_space(t);
	if (t->s >= t->end || ++t->depth > 64)
		return -EINVAL;
	if (accept_char(t, '-')) {
		r = parse_term(t, &v);
		if (t->type == PTX_F32)
			v ^= 1u << 31;
		else if (t->type == PTX_F64)
			v ^= 1ull << 63;
		else
			v = 0 - v;
		*ret = v;
	} else if (accept_char(t, '~')) {
		r = parse_term(t, &v);
		*ret = ~v;
	} else if (accept_char(t, '(')) {
		r = parse_value(t, ret);
		if (!r && !accept_char(t, ')'))
			r = -EINVAL;
	} else if ((*t->s >= '0' && *t->s <= '9') || *t->s == '.') {
		r = parse_number(t, &v);
		/* Evaluates 0xFF00(name): the bytes selected by the mask, shifted down. */
		if (!r && v && accept_char(t, '(')) {
			r = parse_value(t, ret);
			*ret = (*ret & v) >> (__builtin_ctzll(v) & ~7);
			if (!r && !accept_char(t, ')'))
				r = -EINVAL;
		} else {
			*ret = v;
		}
	} else {
		for (from = t->s; t->s < t->end && is_name(*t->s);)
			t->s++;
		if (t->s - from == 7 && !memcmp(from, "generic", 7) && accept_char(t, '(')) {
			r = parse_value(t, ret);
			if (!r && !accept_char(t, ')'))
				r = -EINVAL;
		} else {
			r = t->s == from ? -EINVAL
					 : address_of(t, from, (size_t)(t->s - from), ret);
		}
	}
	t->depth--;
	return r;
}

static int parse_value(struct init *t, uint64_t *ret)
{
	int r = parse_term(t, ret);
	uint64_t v;

	while (!r) {
		if (accept_char(t, '+')) {
			r = parse_term(t, &v);
			*ret += v;
		} else if (accept_char(t, '-')) {
			r = parse_term(t, &v);
			*ret -= v;
		} else {
			break;
		}
	}
	return r;
}

static int parse_list(struct init *t)
{
	uint64_t v;
	int r;

	if (!accept_char(t, '{')) {
		r = parse_value(t, &v);
		if (r)
			return r;
		if (t->left < t->elem)
			return -E2BIG;
		memcpy(t->to, &v, t->elem);
		t->to += t->elem;
		t->left -= t->elem;
		return 0;
	}
	if (++t->depth > 64)
		return -EINVAL;
	while (!accept_char(t, '}')) {
		uint8_t *from = t->to;

		skip_space(t);
		r = parse_list(t);
		if (r)
			return r;
		(void)from;
		if (!accept_char(t, ',')) {
			if (!accept_char(t, '}'))
				return -EINVAL;
			break;
		}
	}
	t->depth--;
	return 0;
}

int vgpu_init_globals(struct vgpu_module *mod, struct diag_list *diags)
{
	for (size_t i = 0; i < mod->globals.len; i++) {
		struct vglobal *g = &mod->globals.at[i];
		struct init t = {.mod = mod, .s = g->sym->init, .type = g->sym->type.base};
		int r;

		if (!t.s)
			continue;
		t.end = t.s + strlen(t.s);
		t.to = (uint8_t *)(uintptr_t)g->addr;
		t.left = g->bytes;
		t.elem = ptx_type_bytes(t.type);
		if (t.elem > 8 || !t.elem)
			r = -EINVAL;
		else
			r = parse_list(&t);
		if (!r)
			continue;
		diag_add(diags, DIAG_ERROR, g->sym->line, g->sym->col, 1,
			"the initialiser of %.100s cannot be read", g->sym->name);
		return -EINVAL;
	}
	return 0;
}
