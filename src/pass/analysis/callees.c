/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the functions that a kernel reaches (its callees). For each of them, computes which ids it
 * and its own callees read, and which barriers and warp operations they have. A call through a
 * pointer may reach every function whose address the kernel or one of its callees takes. pointers.c
 * rejects kernels in which such a call may reach any other function. */
#include "pass/analysis/callees.h"
#include "pass/analysis/find.h"
#include "pass/analysis/warps.h"
#include "ptx/graft.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool pass_note(struct pass_facts *facts, enum pass_trait trait, const struct ptx_stmt *s,
	const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (pass_has(facts, trait))
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	facts->found[trait] = (struct pass_finding){
		.reason = arena_strndup(&facts->arena, text, strlen(text)),
		.line = s ? s->line : 0,
		.col = s ? s->col : 0,
	};
	if (!facts->found[trait].reason)
		facts->found[trait].reason = "out of memory";
	facts->order[facts->n_found++] = trait;
	return false;
}

const struct ptx_func *pass_call_target(const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (s->opd[i].kind == PTX_OPD_REG)
			return NULL;
		if (s->opd[i].kind == PTX_OPD_SYM && s->opd[i].sym &&
			s->opd[i].sym->kind == PTX_SYM_FUNC)
			return s->opd[i].sym->func;
	}
	return NULL;
}

const struct pass_callee *pass_called(const struct pass_facts *facts, const struct ptx_stmt *s)
{
	const struct ptx_func *f = pass_call_target(s);

	for (size_t i = 0; f && i < facts->callees.len; i++)
		if (facts->callees.at[i].f == f)
			return &facts->callees.at[i];
	return NULL;
}

static int list_callees(
	const struct ptx_module *m, const struct ptx_func *f, struct pass_facts *facts)
{
	ptx_func_list funcs = {0};
	int r = ptx_reached(m, f, &funcs);

	for (size_t i = 0; r == 0 && i < funcs.len; i++)
		if (!VEC_PUSH(&facts->callees, ((struct pass_callee){.f = funcs.at[i]})))
			r = -ENOMEM;
	VEC_FREE(&funcs);
	return r;
}

struct taken {
	struct pass_facts *facts;
	const struct ptx_stmt *s;
};

static void take_address(void *user, struct ptx_opd *o)
{
	struct taken *t = user;

	if (o->kind != PTX_OPD_SYM || !o->sym || o->sym->kind != PTX_SYM_FUNC)
		return;
	t->facts->takes_code = true;
	for (size_t i = 0; i < t->facts->callees.len; i++)
		if (t->facts->callees.at[i].f == o->sym->func && !t->facts->callees.at[i].taken)
			t->facts->callees.at[i].taken = t->s;
}

static bool is_known_external(const char *name)
{
	static const char *const known[] = {"vprintf", "__assertfail", "malloc", "free"};

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(name, known[i]))
			return true;
	return false;
}

static void visit_call(struct pass_facts *facts, const struct ptx_stmt *s)
{
	const struct ptx_func *f = pass_call_target(s);

	if (!f && !facts->calls_pointer)
		facts->calls_pointer = s;
	if (f && !f->has_body && !is_known_external(f->sym->name))
		pass_note(facts, PASS_CALLS_ELSEWHERE, s,
			"calls %s, whose code is not in this module", f->sym->name);
}

struct reading {
	struct pass_callee *c;
};

static bool is_id(const struct ptx_opd *o, int all, int one)
{
	return o->value == (uint64_t)all || o->value == (uint64_t)one;
}

static bool is_size(const struct ptx_opd *o)
{
	return o->kind == PTX_OPD_SPECIAL &&
	       (o->value == PTX_SR_DYNAMIC_SMEM || o->value == PTX_SR_TOTAL_SMEM ||
		       o->value == PTX_SR_AGGR_SMEM);
}

static void note_operand(void *user, struct ptx_opd *o)
{
	struct pass_callee *c = ((struct reading *)user)->c;

	c->shared |= o->kind == PTX_OPD_SYM && o->sym && o->sym->space == PTX_SHARED;
	c->shared |= is_size(o);
	c->sizes |= is_size(o);
	if (o->kind != PTX_OPD_SPECIAL)
		return;
	for (int d = 0; d < 3; d++) {
		c->reads[PASS_CTAID + d] |= is_id(o, PTX_SR_CTAID, PTX_SR_CTAID_X + d);
		c->reads[PASS_NCTAID + d] |= is_id(o, PTX_SR_NCTAID, PTX_SR_NCTAID_X + d);
		c->reads[PASS_TID + d] |= is_id(o, PTX_SR_TID, PTX_SR_TID_X + d);
		c->reads[PASS_NTID + d] |= is_id(o, PTX_SR_NTID, PTX_SR_NTID_X + d);
	}
}

static void note_stmt(struct pass_callee *c, struct ptx_stmt s)
{
	struct reading rd = {c};

	if (s.kind != PTX_INSN)
		return;
	c->barriers |= (s.mn->flags & PTX_F_BARRIER) != 0;
	c->warp_ops |= (s.mn->flags & PTX_F_WARP_SYNC) && !pass_needs_whole_warp(&s);
	c->observes |= (s.mn->flags & (PTX_F_VOLATILE | PTX_F_ATOMIC)) != 0;
	ptx_visit_opds(&s, note_operand, &rd);
}

static bool merge_properties(struct pass_callee *to, const struct pass_callee *from)
{
	struct pass_callee old = *to;

	for (int d = 0; d < PASS_IDS; d++)
		to->reads[d] |= from->reads[d];
	to->barriers |= from->barriers;
	to->warp_ops |= from->warp_ops;
	to->observes |= from->observes;
	to->shared |= from->shared;
	to->sizes |= from->sizes;
	return memcmp(&old, to, sizeof(old)) != 0;
}

static bool merge_called(
	const struct pass_facts *facts, struct pass_callee *c, const struct ptx_stmt *s)
{
	const struct ptx_func *f = pass_call_target(s);
	bool changed = false;

	for (size_t i = 0; i < facts->callees.len; i++)
		if (f ? facts->callees.at[i].f == f : facts->callees.at[i].taken != NULL)
			changed |= merge_properties(c, &facts->callees.at[i]);
	return changed;
}

/* Propagates the properties of callees to their callers. */
static void close_over_calls(struct pass_facts *facts)
{
	bool changed = true;

	while (changed) {
		changed = false;
		/* Callees are listed after their callers, so that the last ones are known first. */
		for (size_t i = facts->callees.len; i-- > 0;) {
			struct pass_callee *c = &facts->callees.at[i];

			for (size_t k = 0; k < c->f->body.len; k++) {
				const struct ptx_stmt *s = &c->f->body.at[k];

				if (s->kind == PTX_INSN && s->mn->op == PTX_OP_call)
					changed |= merge_called(facts, c, s);
			}
		}
	}
}

/* ---- recursion ---- */
/* Returns the first call in function `from` whose target is not done yet; NULL: there is none. */
static const struct ptx_stmt *find_open_call(
	const struct pass_facts *facts, const uint8_t *done, size_t from, size_t *ret_to)
{
	const ptx_body *body = &facts->callees.at[from].f->body;

	for (size_t k = 0; k < body->len; k++) {
		const struct ptx_stmt *s = &body->at[k];
		const struct ptx_func *f;

		if (s->kind != PTX_INSN || s->mn->op != PTX_OP_call)
			continue;
		f = pass_call_target(s);
		for (size_t i = 0; i < facts->callees.len; i++) {
			const struct pass_callee *c = &facts->callees.at[i];

			if (done[i] || (f ? c->f != f : !c->taken))
				continue;
			*ret_to = i;
			return s;
		}
	}
	return NULL;
}

/* Notes the trait PASS_RECURS if a kernel's functions call each other recursively. A function is
 * done once all functions that it calls are done. A function that never becomes done leads into a
 * cycle of calls. */
static int note_recursion(struct pass_facts *facts)
{
	uint8_t *done = arena_zalloc(&facts->arena, facts->callees.len + 1);
	const struct ptx_stmt *s = NULL;
	bool changed = true;
	size_t at = 0, to;

	while (done && changed) {
		changed = false;
		for (size_t i = facts->callees.len; i-- > 0;)
			if (!done[i] && !find_open_call(facts, done, i, &to))
				done[i] = changed = true;
	}
	if (!done || !facts->callees.len || done[0])
		return done ? 0 : -ENOMEM;
	/* After as many calls as there are functions, the walk is inside the cycle. */
	for (size_t i = 0; i < facts->callees.len; i++) {
		s = find_open_call(facts, done, at, &to);
		at = to;
	}
	pass_note(facts, PASS_RECURS, s,
		"calls %s, which may be recursive: the lanes of a warp may return from it at "
		"different times",
		facts->callees.at[at].f->sym->name);
	return 0;
}

static void note_pointers(struct pass_facts *facts)
{
	for (size_t i = 0; facts->calls_pointer && i < facts->callees.len; i++) {
		const struct pass_callee *c = &facts->callees.at[i];
		bool ids = false;

		for (int d = PASS_CTAID; d < PASS_TID; d++)
			ids |= c->reads[d];
		if (c->taken && ids)
			pass_note(facts, PASS_CALLS_POINTER, facts->calls_pointer,
				"calls through a pointer that may point to %s, which reads block "
				"ids",
				c->f->sym->name);
		if (c->taken && c->barriers)
			pass_note(facts, PASS_CALLS_POINTER, facts->calls_pointer,
				"calls through a pointer that may point to %s, which has a barrier",
				c->f->sym->name);
	}
}

/* Records the functions that one statement calls or whose address it takes. */
static void visit_stmt(struct pass_facts *facts, const struct ptx_stmt *s)
{
	struct taken t = {facts, s};
	struct ptx_stmt copy = *s;

	if (s->kind != PTX_INSN)
		return;
	if (s->mn->op != PTX_OP_call) {
		ptx_visit_opds(&copy, take_address, &t);
		return;
	}
	for (unsigned i = 0; i < s->n; i++)
		for (uint32_t k = 0; s->opd[i].kind == PTX_OPD_TUPLE && k < s->opd[i].n; k++)
			take_address(&t, &s->opd[i].list[k]);
	visit_call(facts, s);
}

int pass_callees_find(
	const struct ptx_module *m, const struct ptx_func *f, struct pass_facts *facts)
{
	int r = list_callees(m, f, facts);

	for (size_t i = 0; i < facts->callees.len; i++) {
		const struct ptx_func *at = facts->callees.at[i].f;

		for (size_t k = 0; k < at->body.len; k++) {
			note_stmt(&facts->callees.at[i], at->body.at[k]);
			visit_stmt(facts, &at->body.at[k]);
		}
	}
	if (r == 0)
		r = pass_check_pointers(facts);
	if (r == 0)
		close_over_calls(facts);
	if (r == 0)
		r = note_recursion(facts);
	if (r == 0)
		note_pointers(facts);
	return r;
}

int pass_free_names(struct ptx_module *m, const struct ptx_func *f, struct diag_list *diags)
{
	ptx_func_list list = {0};
	int r = pass_form_param(f) ? 0 : ptx_reached(m, f, &list);

	for (size_t i = 0; r == 0 && i < list.len; i++)
		r = ptx_free_names(m, (struct ptx_func *)list.at[i], diags);
	VEC_FREE(&list);
	return r;
}

/* ---- kernels that are too large ---- */
/* The analyses take time in proportion to a product of these numbers. Kernels from compilers stay
 * far below the limits. */
#define MAX_FUNCTIONS 2000
#define MAX_SWITCHES  1000
#define MAX_TARGETS   20000
#define MAX_SHARED    8192

struct size {
	size_t functions, switches, targets, shared;
};

static void add_size(struct size *n, const struct ptx_func *f)
{
	for (size_t i = 0; i < f->body.len; i++) {
		const struct ptx_stmt *s = &f->body.at[i];
		const struct ptx_opd *o = s->kind == PTX_INSN && s->n == 2 ? &s->opd[1] : NULL;

		n->shared += s->kind == PTX_DECL && s->sym->space == PTX_SHARED;
		if (o && s->mn->op == PTX_OP_brx && o->kind == PTX_OPD_SYM && o->sym) {
			n->switches++;
			n->targets += o->sym->n_targets;
		}
	}
}

const char *pass_too_large(struct arena *a, const struct ptx_module *m, const struct ptx_func *f)
{
	static const char text[] = "has %zu %s: heddle takes at most %d";
	ptx_func_list list = {0};
	struct size n = {0};
	int r = ptx_reached(m, f, &list);

	for (size_t i = 0; r == 0 && i < list.len; i++)
		add_size(&n, list.at[i]);
	for (size_t i = 0; i < m->items.len; i++)
		n.shared += m->items.at[i].kind == PTX_ITEM_VAR &&
			    m->items.at[i].sym->space == PTX_SHARED;
	n.functions = list.len;
	VEC_FREE(&list);
	if (n.functions > MAX_FUNCTIONS)
		return arena_printf(a, text, n.functions, "functions", MAX_FUNCTIONS);
	if (n.switches > MAX_SWITCHES)
		return arena_printf(a, text, n.switches, "brx.idx", MAX_SWITCHES);
	if (n.targets > MAX_TARGETS)
		return arena_printf(a, text, n.targets, "targets of brx.idx", MAX_TARGETS);
	if (n.shared > MAX_SHARED)
		return arena_printf(a, text, n.shared, "shared variables", MAX_SHARED);
	return NULL;
}
