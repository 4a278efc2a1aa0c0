/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks the names in operands. Parameters must have the offsets of the kernel's own parameters,
 * module variables must be the same objects, and shared memory must be where the kernel has it. The
 * first use of a name decides its counterpart in the rewritten code, and all later uses must
 * agree. */
#include "pass/verify/verify_private.h"

#include <inttypes.h>
#include <string.h>

/* ---- parameters ---- */
static uint32_t index_of_param(const struct ptx_func *f, const struct ptx_sym *sym)
{
	for (uint32_t i = 0; i < f->params.len; i++)
		if (f->params.at[i] == sym)
			return i;
	return NONE;
}

uint32_t verify_param_at(const struct ptx_func *f, const struct ptx_sym *sym)
{
	uint32_t offsets[512], bytes, i = index_of_param(f, sym);

	if (i >= ARRAY_LEN(offsets) ||
		pass_param_layout(f, &bytes, offsets, NULL, ARRAY_LEN(offsets)) < 0)
		return NONE;
	return offsets[i];
}

static bool same_param(struct verify_pair *p, const struct ptx_sym *plain, uint64_t plain_offset,
	const struct ptx_sym *now, uint64_t offset, uint32_t at)
{
	const struct pass_merged *form = p->v->r->form;
	uint32_t own = verify_param_at(p->p, plain), there = verify_param_at(p->q, now);
	uint32_t begin = form && p->entry ? form->of[p->k].param_offset : 0;

	if (!p->entry && index_of_param(p->q, now) == NONE)
		there = own = 0; /* a return value */
	/* a parameter of a call, or more parameters than can be compared */
	if (own == NONE && there == NONE)
		return true;
	if (own != NONE && there != NONE && plain->bytes == now->bytes &&
		plain_offset + own + begin == offset + there)
		return true;
	verify_tell(p, PASS_RULE_PARAMS, at, p->of[at],
		"`%s` reads byte %" PRIu64
		" of the parameters, but `%s` reads what is now byte %" PRIu64,
		verify_text(p, p->q, at), offset + (there == NONE ? 0 : there),
		verify_text(p, p->p, p->of[at]), plain_offset + own + begin);
	return false;
}

/* ---- shared memory ---- */
static struct verify_place *place_of(struct verify_kernel *g, const struct ptx_sym *plain)
{
	for (size_t i = 0; i < g->places.len; i++)
		if (g->places.at[i].plain == plain)
			return &g->places.at[i];
	return NULL;
}

static bool is_dynamic(const struct ptx_sym *sym)
{
	return sym->linkage & PTX_EXTERN && sym->bytes == 0;
}

/* Checks the position of a shared variable in the pool, the array that all kernels share. */
static bool same_place(struct verify_pair *p, const struct ptx_sym *plain, uint64_t plain_offset,
	const struct ptx_sym *now, uint64_t offset, uint32_t at)
{
	struct verify_kernel *g = p->g;
	struct verify_place *place = place_of(g, plain);
	struct verify_place new = {plain, offset - plain_offset,
		is_dynamic(plain) ? g->from->dynamic_bytes : plain->bytes};

	if (!p->v->pool && is_dynamic(now))
		p->v->pool = now;
	if (now == p->v->pool && place && place->at == new.at)
		return true;
	if (now == p->v->pool && !place) {
		p->v->failed |= !VEC_PUSH(&g->places, new);
		return true;
	}
	verify_tell(p, PASS_RULE_SHARED, at, p->of[at],
		"`%s` accesses byte %" PRIu64
		" of '%.80s', but elsewhere the variable of `%s` is at byte %" PRIu64,
		verify_text(p, p->q, at), offset, now->name, verify_text(p, p->p, p->of[at]),
		place ? place->at + plain_offset : 0);
	return false;
}

/* ---- variables and functions ---- */
static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '%';
}

/* Compares the texts of two initial values. They must be equal, except that names in b may have a
 * prefix. */
static bool same_init(const char *a, const char *b)
{
	if (!a || !b)
		return a == b;
	while (*a && *b) {
		size_t n = 0, m = 0;
		bool number = *a >= '0' && *a <= '9';

		while (is_name_char(a[n]))
			n++;
		while (is_name_char(b[m]))
			m++;
		if (!n || !m) {
			if (*a++ != *b++)
				return false;
			continue;
		}
		if ((number && n != m) || m < n || memcmp(a, b + m - n, n) != 0)
			return false;
		a += n;
		b += m;
	}
	return *a == *b;
}

static bool same_object(const struct ptx_sym *a, const struct ptx_sym *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind != PTX_SYM_VAR)
		return true;
	return a->space == b->space && a->bytes == b->bytes && b->align >= a->align &&
	       a->type.base == b->type.base && same_init(a->init, b->init) &&
	       (a->linkage & PTX_EXTERN) == (b->linkage & PTX_EXTERN) &&
	       (!(a->linkage & PTX_EXTERN) || !strcmp(a->name, b->name) || is_dynamic(a));
}

static bool told_other(struct verify_pair *p, const struct ptx_sym *plain,
	const struct ptx_sym *now, const struct ptx_sym *what, uint32_t at)
{
	bool is_var = plain->kind == PTX_SYM_VAR;
	bool shared = is_var && plain->space == PTX_SHARED;

	verify_tell(p, shared ? PASS_RULE_SHARED : PASS_RULE_GLOBALS, at, p->of[at],
		"`%s` uses '%.200s' in place of '%.200s'%s%.200s", verify_text(p, p->q, at),
		now->name, plain->name,
		what ? " but " : ": their size, type or initial value differ",
		what ? what->name : "");
	return false;
}

/* Returns whether `now` is a local variable or a parameter of a called function. If several kernels
 * call the function, each call has its own copy. */
static bool is_of_each_call(const struct verify_pair *p, const struct ptx_sym *now)
{
	return !p->q->is_entry && (now->space == PTX_LOCAL || now->space == PTX_PARAM);
}

/* Returns the other original symbol that `now` already stands for, or NULL if `now` may stand for
 * `plain`. Two kernels may share only external variables, functions, and the variables of functions
 * that they share. */
static const struct ptx_sym *taken_by(
	const struct verify_pair *p, const struct ptx_sym *plain, const struct ptx_sym *now)
{
	const struct verify *v = p->v;

	for (unsigned k = 0; k < v->r->n; k++)
		for (size_t i = 0; i < v->kernel[k].syms.len; i++) {
			const struct verify_sym *s = &v->kernel[k].syms.at[i];

			if (s->now != now || (k == p->k && s->plain == plain))
				continue;
			if (k == p->k ||
				(now->kind == PTX_SYM_VAR && !(now->linkage & PTX_EXTERN) &&
					!is_of_each_call(p, now)))
				return s->plain;
		}
	return NULL;
}

static bool same_symbol(
	struct verify_pair *p, const struct ptx_sym *plain, const struct ptx_sym *now, uint32_t at)
{
	struct verify_kernel *g = p->g;
	struct verify_sym new = {plain, now};
	const struct ptx_sym *other;

	for (size_t i = 0; i < g->syms.len; i++)
		if (g->syms.at[i].plain == plain) {
			/* A function may have several copies: one for each caller. */
			if (g->syms.at[i].now == now)
				return true;
			if (plain->kind != PTX_SYM_FUNC)
				return told_other(p, plain, now, g->syms.at[i].now, at);
		}
	if (!same_object(plain, now))
		return told_other(p, plain, now, NULL, at);
	other = taken_by(p, plain, now);
	if (other && plain->kind == PTX_SYM_VAR && !is_dynamic(plain))
		return told_other(p, plain, now, other, at);
	p->v->failed |= !VEC_PUSH(&g->syms, new);
	return true;
}

static bool same_function(
	struct verify_pair *p, const struct ptx_sym *plain, const struct ptx_sym *now, uint32_t at)
{
	const struct ptx_func *a = plain->func, *b = now->func;

	if (!same_symbol(p, plain, now, at))
		return false;
	/* The symbol of a function that is declared more than once may refer to a declaration
	 * without a body. */
	if (a && !a->has_body)
		a = ptx_find_func(p->g->from->m, plain->name);
	if (b && !b->has_body)
		b = ptx_find_func(p->v->r->m, now->name);
	if (a && b && a->has_body && b->has_body)
		verify_add_pair(p->v, p->k, a, b);
	else if ((a && a->has_body) != (b && b->has_body))
		return told_other(p, plain, now, NULL, at);
	return true;
}

bool verify_name(struct verify_pair *p, const struct ptx_sym *plain, uint64_t plain_offset,
	const struct ptx_sym *now, uint64_t offset, uint32_t at)
{
	if (!plain || !now)
		return true; /* a name that is not declared */
	if (plain->kind == PTX_SYM_LABEL || plain->kind == PTX_SYM_PROTO)
		return plain->kind == now->kind || told_other(p, plain, now, NULL, at);
	if (plain->kind == PTX_SYM_PARAM && now->kind == PTX_SYM_PARAM)
		return same_param(p, plain, plain_offset, now, offset, at);
	if (plain->kind != now->kind)
		return told_other(p, plain, now, NULL, at);
	if (plain->kind == PTX_SYM_FUNC)
		return same_function(p, plain, now, at);
	if (plain->space == PTX_SHARED)
		p->g->has_shared = true;
	if (plain->space == PTX_SHARED && p->v->r->form && is_dynamic(now))
		return same_place(p, plain, plain_offset, now, offset, at);
	if (!same_symbol(p, plain, now, at))
		return false;
	if (plain_offset == offset)
		return true;
	verify_tell(p, plain->space == PTX_SHARED ? PASS_RULE_SHARED : PASS_RULE_CODE, at,
		p->of[at], "`%s` has offset %" PRIu64 ", but `%s` has offset %" PRIu64,
		verify_text(p, p->q, at), offset, verify_text(p, p->p, p->of[at]), plain_offset);
	return false;
}

/* ---- layout of shared memory ---- */
static bool overlap(const struct verify_place *a, const struct verify_place *b)
{
	return a->at < b->at + b->bytes && b->at < a->at + a->bytes;
}

bool verify_share_places(const struct verify_kernel *a, const struct verify_kernel *b)
{
	for (size_t i = 0; i < a->places.len; i++)
		for (size_t k = 0; k < b->places.len; k++)
			if (overlap(&a->places.at[i], &b->places.at[k]))
				return true;
	/* shared variables that are not in the pool are separate variables (taken_by) */
	return false;
}

static bool side_by_side(const struct verify_kernel *a, const struct verify_kernel *b)
{
	return a->end <= b->first || b->end <= a->first;
}

static void tell_overlap(struct verify *v, unsigned k, const struct verify_place *a,
	const struct verify_kernel *g, const struct verify_place *b)
{
	verify_tell(v->pairs.at[k], PASS_RULE_SHARED, NONE, NONE,
		"'%.200s', bytes %" PRIu64 " to %" PRIu64
		", overlaps '%.200s' of kernel '%.200s', bytes %" PRIu64 " to %" PRIu64,
		a->plain->name, a->at, a->at + a->bytes, b->plain->name, g->from->name, b->at,
		b->at + b->bytes);
}

static void compare_places(struct verify *v, unsigned k, unsigned other)
{
	struct verify_kernel *g = &v->kernel[k], *h = &v->kernel[other];

	for (size_t i = 0; i < g->places.len; i++)
		for (size_t m = k == other ? i + 1 : 0; m < h->places.len; m++) {
			const struct verify_place *a = &g->places.at[i], *b = &h->places.at[m];
			bool same = k == other && is_dynamic(a->plain) && is_dynamic(b->plain);

			if (same ? a->at != b->at : overlap(a, b))
				tell_overlap(v, k, a, h, b);
		}
}

void verify_places(struct verify *v)
{
	const struct pass_merged *form = v->r->form;

	for (unsigned k = 0; form && k < v->r->n; k++) {
		struct verify_kernel *g = &v->kernel[k];

		for (size_t i = 0; i < g->places.len; i++) {
			const struct verify_place *a = &g->places.at[i];

			if (a->at + a->bytes > form->shared_bytes)
				verify_tell(v->pairs.at[k], PASS_RULE_SHARED, NONE, NONE,
					"'%.200s' ends at byte %" PRIu64 " of %u", a->plain->name,
					a->at + a->bytes, form->shared_bytes);
			if (a->at % MAX(a->plain->align, 1u) || v->pool->align < a->plain->align)
				verify_tell(v->pairs.at[k], PASS_RULE_SHARED, NONE, NONE,
					"'%.200s' at byte %" PRIu64 " is not aligned to %u",
					a->plain->name, a->at, a->plain->align);
		}
		for (unsigned j = 0; j <= k; j++)
			if (j == k || side_by_side(g, &v->kernel[j]))
				compare_places(v, k, j);
	}
}
