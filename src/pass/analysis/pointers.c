/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds kernels that exchange addresses of functions with other kernels. A kernel that is rewritten
 * alone is in another module than the original, where each function has another address. A call in
 * one module to a function address of the other module faults. So memory must hold only function
 * addresses of the program's own module. A kernel stays unchanged in two cases:
 * - A function address that the kernel takes may leave its registers.
 * - The kernel may call an address that it did not take itself. Excepted are tables of functions
 *   and virtual function tables. They are variables, and all kernels use the variables of the
 *   program's own module, so these tables hold addresses of that module's functions.
 *
 * For each register and .param variable of the kernel and its callees, a flow-insensitive analysis
 * finds whether it may hold an address that this code takes (TAKEN), and whether it may hold any
 * other value (ELSE). */
#include "pass/analysis/callees.h"
#include "pass/analysis/find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TAKEN = 1, ELSE = 2 };
/* maximum number of passes over all statements; one pass follows any chain of moves in text
 * order */
#define MAX_ROUNDS 64

struct flow {
	struct pass_facts *facts;
	const struct pass_callee *c; /* the function that is being analyzed */
	const struct ptx_stmt *s;    /* the statement that is being analyzed */
	/* sorted by address; their values come first in `may` */
	VEC(const struct ptx_sym *) params;
	VEC(uint32_t) first; /* for each callee: index in `may` of its register 0 */
	uint8_t *may;
	uint32_t n;
	bool changed, objecting;
};

/* ---- values ---- */
static int by_address(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t) * (const struct ptx_sym *const *)a;
	uintptr_t y = (uintptr_t) * (const struct ptx_sym *const *)b;

	return x < y ? -1 : x > y;
}

/* Returns the value of a .param variable or a formal parameter; NULL: sym is not one of these. */
static uint8_t *param_value(const struct flow *w, const struct ptx_sym *sym)
{
	const struct ptx_sym **at =
		w->params.len ? bsearch(&sym, w->params.at, w->params.len, sizeof(sym), by_address)
			      : NULL;

	return at ? &w->may[at - w->params.at] : NULL;
}

static uint8_t *reg_value(const struct flow *w, const struct pass_callee *c, uint32_t reg)
{
	return &w->may[w->first.at[c - w->facts->callees.at] + reg];
}

static uint8_t *formal_value(
	const struct flow *w, const struct pass_callee *c, const struct ptx_sym *sym)
{
	return sym->space == PTX_REG ? reg_value(w, c, sym->first_reg) : param_value(w, sym);
}

static void add_value_bits(struct flow *w, uint8_t *value, unsigned bits)
{
	if (!value || !(bits & ~*value))
		return;
	*value |= (uint8_t)bits;
	w->changed = true;
}

static bool is_code(const struct ptx_opd *o)
{
	return o->kind == PTX_OPD_SYM && o->sym && o->sym->kind == PTX_SYM_FUNC;
}

/* Returns which kinds of value (TAKEN, ELSE) an operand may have. A constant has neither kind,
 * because it is not the address of a function. */
static unsigned value_of(const struct flow *w, const struct ptx_opd *o)
{
	unsigned bits = 0;

	switch (o->kind) {
	case PTX_OPD_REG:
		return *reg_value(w, w->c, o->reg) | (o->selector ? ELSE : 0u);
	case PTX_OPD_SYM:
		return is_code(o) && !o->has_value ? TAKEN : ELSE;
	case PTX_OPD_IMM:
		return 0;
	case PTX_OPD_VECTOR:
		for (uint32_t i = 0; i < o->n; i++)
			bits |= value_of(w, &o->list[i]);
		return bits;
	default:
		return ELSE;
	}
}

/* ---- function addresses that escape ---- */
static void report_escape(struct flow *w, const char *fmt, const char *what)
{
	if (w->objecting)
		pass_note(w->facts, PASS_SHARES_CODE, w->s, fmt, what);
}

static void report_use(struct flow *w)
{
	report_escape(w, "stores or computes with the address of a function (%s)", w->s->mn->text);
}

static void check_escape_reg(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *o)
{
	struct flow *w = user;
	uint8_t *value = reg_value(w, w->c, reg);

	if (role & PTX_USE && o && *value & TAKEN)
		report_use(w);
	if (role & PTX_DEF)
		add_value_bits(w, value, ELSE);
}

static void check_escape_opd(void *user, struct ptx_opd *o)
{
	struct flow *w = user;
	const uint8_t *param = o->kind == PTX_OPD_SYM ? param_value(w, o->sym) : NULL;

	if (is_code(o) || (param && *param & TAKEN))
		report_use(w);
}

/* Handles an instruction that is not modelled: assumes that every address that it reads escapes. */
static void check_escapes(struct flow *w)
{
	struct ptx_stmt copy = *w->s;

	ptx_visit_regs(w->c->f, w->s, check_escape_reg, w);
	ptx_visit_opds(&copy, check_escape_opd, w);
}

/* ---- instructions whose effect on addresses is known ---- */
static bool is_whole_reg(const struct ptx_opd *o)
{
	return o->kind == PTX_OPD_REG && !o->selector;
}

static bool is_plain(const struct ptx_opd *o)
{
	return is_whole_reg(o) || o->kind == PTX_OPD_IMM || is_code(o);
}

static void follow_copy(struct flow *w, unsigned from, unsigned n)
{
	const struct ptx_stmt *s = w->s;
	bool plain = s->n >= from + n && is_whole_reg(&s->opd[0]);
	unsigned bits = 0;

	for (unsigned i = from; plain && i < from + n; i++) {
		plain = is_plain(&s->opd[i]);
		bits |= value_of(w, &s->opd[i]);
	}
	if (plain)
		add_value_bits(w, reg_value(w, w->c, s->opd[0].reg), bits);
	else
		check_escapes(w);
}

/* Handles a comparison. If it tests two function addresses of the same module for equality, neither
 * address escapes, because the result is the same in every module. */
static void follow_compare(struct flow *w)
{
	const struct ptx_stmt *s = w->s;
	unsigned bits = s->n < 3 ? 0 : value_of(w, &s->opd[1]) | value_of(w, &s->opd[2]);
	bool equality = s->mn->cmp == PTX_EQ || s->mn->cmp == PTX_NE;

	if (!(bits & TAKEN))
		check_escapes(w);
	else if (bits & ELSE || !equality)
		report_escape(w, "compares the address of a function (%s)", s->mn->text);
}

/* Returns the value of the .param variable that an access names; NULL: it names none. */
static uint8_t *accessed_param(const struct flow *w, const struct ptx_opd *o)
{
	if (w->s->mn->space != PTX_PARAM || o->kind != PTX_OPD_ADDR || o->n != 1 ||
		o->list[0].kind != PTX_OPD_SYM)
		return NULL;
	return param_value(w, o->list[0].sym);
}

static void follow_load(struct flow *w)
{
	const struct ptx_stmt *s = w->s;
	const uint8_t *from = s->n == 2 ? accessed_param(w, &s->opd[1]) : NULL;
	const struct ptx_opd *to = s->opd;

	if (!from) {
		check_escapes(w);
		return;
	}
	for (uint32_t i = 0; i < (to->kind == PTX_OPD_VECTOR ? to->n : 1); i++) {
		const struct ptx_opd *o = to->kind == PTX_OPD_VECTOR ? &to->list[i] : to;

		if (o->kind == PTX_OPD_REG)
			add_value_bits(w, reg_value(w, w->c, o->reg), *from);
	}
}

static void follow_store(struct flow *w)
{
	const struct ptx_stmt *s = w->s;
	uint8_t *to = s->n == 2 ? accessed_param(w, &s->opd[0]) : NULL;

	if (to)
		add_value_bits(w, to, value_of(w, &s->opd[1]));
	else
		check_escapes(w);
}

/* ---- calls ---- */
static unsigned value_of_argument(const struct flow *w, const struct ptx_opd *o)
{
	const uint8_t *param = o->kind == PTX_OPD_SYM ? param_value(w, o->sym) : NULL;

	return param ? *param : value_of(w, o);
}

static void set_result(struct flow *w, const struct ptx_opd *o, unsigned bits)
{
	if (o->kind == PTX_OPD_REG)
		add_value_bits(w, reg_value(w, w->c, o->reg), bits);
	else if (o->kind == PTX_OPD_SYM)
		add_value_bits(w, param_value(w, o->sym), bits);
}

static void follow_call(struct flow *w)
{
	static const struct ptx_opd none = {.kind = PTX_OPD_TUPLE};
	const struct ptx_stmt *s = w->s;
	unsigned at = s->opd[0].kind == PTX_OPD_TUPLE && s->n > 1;
	const struct ptx_opd *rets = at ? &s->opd[0] : &none;
	const struct ptx_opd *args =
		s->n > at + 1 && s->opd[at + 1].kind == PTX_OPD_TUPLE ? &s->opd[at + 1] : &none;
	const struct ptx_func *f = pass_call_target(s);
	const struct pass_callee *to = pass_called(w->facts, s);

	for (uint32_t i = 0; i < args->n; i++) {
		unsigned bits = value_of_argument(w, &args->list[i]);

		if (to && i < f->params.len)
			add_value_bits(w, formal_value(w, to, f->params.at[i]), bits);
		else if (bits & TAKEN)
			report_escape(w, "passes the address of a function to %s",
				f ? f->sym->name : "a function that it calls through a pointer");
	}
	for (uint32_t i = 0; i < rets->n; i++)
		set_result(w, &rets->list[i],
			to && i < f->rets.len ? *formal_value(w, to, f->rets.at[i]) : ELSE);
	if (!f && value_of(w, &s->opd[at]) & ELSE)
		report_escape(
			w, "calls through a pointer that comes from %s", "memory or a parameter");
}

/* ---- following all statements ---- */
static void follow_stmt(struct flow *w)
{
	switch (w->s->mn->op) {
	case PTX_OP_mov:
		follow_copy(w, 1, 1);
		break;
	case PTX_OP_selp:
		follow_copy(w, 1, 2);
		break;
	case PTX_OP_setp:
	case PTX_OP_set:
		follow_compare(w);
		break;
	case PTX_OP_ld:
		follow_load(w);
		break;
	case PTX_OP_st:
		follow_store(w);
		break;
	case PTX_OP_call:
		follow_call(w);
		break;
	default:
		check_escapes(w);
	}
}

static void follow_all_stmts(struct flow *w)
{
	w->changed = false;
	for (size_t i = 0; i < w->facts->callees.len; i++) {
		w->c = &w->facts->callees.at[i];
		for (size_t k = 0; k < w->c->f->body.len; k++) {
			w->s = &w->c->f->body.at[k];
			if (w->s->kind == PTX_INSN && w->s->n)
				follow_stmt(w);
		}
	}
}

static int collect_values(struct flow *w)
{
	bool ok = true;

	for (size_t i = 0; i < w->facts->callees.len; i++) {
		const struct ptx_func *f = w->facts->callees.at[i].f;

		for (size_t k = 0; k < f->params.len; k++)
			ok &= VEC_PUSH(&w->params, f->params.at[k]);
		for (size_t k = 0; k < f->rets.len; k++)
			ok &= VEC_PUSH(&w->params, f->rets.at[k]);
		for (size_t k = 0; k < f->body.len; k++) {
			const struct ptx_stmt *s = &f->body.at[k];

			if (s->kind == PTX_DECL && s->sym->space == PTX_PARAM)
				ok &= VEC_PUSH(&w->params, s->sym);
		}
		ok &= VEC_PUSH(&w->first, w->n);
		w->n += (uint32_t)f->regs.len;
	}
	for (size_t i = 0; ok && i < w->first.len; i++)
		w->first.at[i] += (uint32_t)w->params.len;
	if (!ok)
		return -ENOMEM;
	if (w->params.len)
		qsort(w->params.at, w->params.len, sizeof(w->params.at[0]), by_address);
	w->may = ARENA_ARRAY(&w->facts->arena, uint8_t, w->params.len + w->n + 1);
	return w->may ? 0 : -ENOMEM;
}

/* Marks the values that come from outside: the parameters of the kernel, and the parameters of
 * functions that a call through a pointer may reach. */
static void mark_outside_values(struct flow *w)
{
	for (size_t i = 0; i < w->facts->callees.len; i++) {
		const struct pass_callee *c = &w->facts->callees.at[i];

		for (size_t k = 0; (i == 0 || c->taken) && k < c->f->params.len; k++)
			add_value_bits(w, formal_value(w, c, c->f->params.at[k]), ELSE);
	}
}

static void report_results(struct flow *w)
{
	for (size_t i = 0; i < w->facts->callees.len; i++) {
		const struct pass_callee *c = &w->facts->callees.at[i];

		w->s = c->taken;
		for (size_t k = 0; c->taken && k < c->f->rets.len; k++)
			if (*formal_value(w, c, c->f->rets.at[k]) & TAKEN)
				report_escape(w,
					"calls %s through a pointer and gets the address of a "
					"function from it",
					c->f->sym->name);
	}
}

int pass_check_pointers(struct pass_facts *facts)
{
	struct flow w = {.facts = facts, .changed = true};
	int r;

	if (!facts->takes_code && !facts->calls_pointer)
		return 0;
	r = collect_values(&w);
	if (r == 0) {
		mark_outside_values(&w);
		for (unsigned i = 0; i < MAX_ROUNDS && w.changed; i++)
			follow_all_stmts(&w);
		w.objecting = true;
		if (w.changed)
			pass_note(facts, PASS_SHARES_CODE, NULL,
				"copies the addresses of functions too many times for the "
				"analysis");
		follow_all_stmts(&w);
		report_results(&w);
	}
	VEC_FREE(&w.params);
	VEC_FREE(&w.first);
	return r;
}
