/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the module variables that a kernel only reads. A task's form gets its own copy of each
 * variable. Such a copy is correct only for a table: a variable with an initial value that neither
 * the host nor another module can name. A table's address reaches only loads, arithmetic, and the
 * arguments of vprintf and __assertfail. The analysis ignores statement order: a register that
 * holds such an address anywhere in a function counts as holding it everywhere. */
#include "pass/analysis/tables.h"
#include "pass/analysis/callees.h"
#include "ptx/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct follow {
	const struct ptx_func *f;
	/* for each register: the variable whose address it may hold; or NULL */
	const struct ptx_sym **held;
	/* variable that the statement being visited names or whose address it uses */
	const struct ptx_sym *found;
	bool changed;
};

static bool is_variable(const struct ptx_sym *sym)
{
	return sym && sym->kind == PTX_SYM_VAR && sym->space == PTX_GLOBAL;
}

static void find_variable(void *user, struct ptx_opd *o)
{
	struct follow *w = user;

	if (o->kind == PTX_OPD_SYM && is_variable(o->sym))
		w->found = o->sym;
	else if (o->kind == PTX_OPD_REG && o->reg < w->f->regs.len && w->held[o->reg])
		w->found = w->held[o->reg];
}

static void find_in_text(void *user, const struct ptx_sym *sym)
{
	struct follow *w = user;

	if (is_variable(sym))
		w->found = sym;
}

static void hold_address(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct follow *w = user;

	(void)opd;
	if (!(role & PTX_DEF) || reg >= w->f->regs.len || w->held[reg])
		return;
	w->held[reg] = w->found;
	w->changed = true;
}

static bool is_reader(const struct ptx_stmt *call)
{
	const struct ptx_func *f = pass_call_target(call);

	return f && !f->has_body &&
	       (!strcmp(f->sym->name, "vprintf") || !strcmp(f->sym->name, "__assertfail"));
}

static bool passes_param(const struct ptx_stmt *call, const struct ptx_sym *param)
{
	for (unsigned i = 0; i < call->n; i++)
		for (uint32_t k = 0; call->opd[i].kind == PTX_OPD_TUPLE && k < call->opd[i].n; k++)
			if (call->opd[i].list[k].kind == PTX_OPD_SYM &&
				call->opd[i].list[k].sym == param)
				return true;
	return false;
}

/* Returns whether s stores into an argument variable that only calls of vprintf and __assertfail
 * use. */
static bool is_text_argument(const struct follow *w, const struct ptx_stmt *s)
{
	const struct ptx_opd *to = &s->opd[0];
	bool any = false;

	if (s->mn->op != PTX_OP_st || s->mn->space != PTX_PARAM || to->kind != PTX_OPD_ADDR ||
		!to->n || to->list[0].kind != PTX_OPD_SYM)
		return false;
	for (size_t i = 0; i < w->f->body.len; i++) {
		const struct ptx_stmt *call = &w->f->body.at[i];

		if (call->kind != PTX_INSN || call->mn->op != PTX_OP_call ||
			!passes_param(call, to->list[0].sym))
			continue;
		if (!is_reader(call))
			return false;
		any = true;
	}
	return any;
}

/* Returns whether s, one of whose operands is the address of w->found, only reads through that
 * address. */
static bool only_reads(const struct follow *w, const struct ptx_stmt *s)
{
	const uint32_t acts = PTX_F_WRITES_MEM | PTX_F_ATOMIC | PTX_F_UNKNOWN | PTX_F_SIDE_EFFECT;

	if (s->mn->op == PTX_OP_ld || s->mn->op == PTX_OP_ldu || s->mn->op == PTX_OP_prefetch)
		return true;
	if (s->mn->op == PTX_OP_call)
		return is_reader(s);
	return !(s->mn->flags & acts) ? s->n > 0 : is_text_argument(w, s);
}

static void find_in_stmt(struct follow *w, const struct ptx_module *m, const struct ptx_stmt *s)
{
	struct ptx_stmt copy = *s;

	w->found = NULL;
	if (s->kind != PTX_INSN)
		return;
	if (s->n)
		ptx_visit_opds(&copy, find_variable, w);
	else if (s->text)
		ptx_visit_text_globals(m, s->text, find_in_text, w);
}

static void follow_all(struct follow *w, const struct ptx_module *m)
{
	do {
		w->changed = false;
		for (size_t i = 0; i < w->f->body.len; i++) {
			const struct ptx_stmt *s = &w->f->body.at[i];

			find_in_stmt(w, m, s);
			/* A loaded value is not the address of the variable. */
			if (w->found && !(s->mn->flags & PTX_F_READS_MEM) &&
				s->mn->op != PTX_OP_call)
				ptx_visit_regs(w->f, s, hold_address, w);
		}
	} while (w->changed);
}

static bool names_others(const struct ptx_module *m, const char *init)
{
	struct follow w = {0};

	ptx_visit_text_globals(m, init, find_in_text, &w);
	return w.found != NULL;
}

/* Returns NULL if nothing except the kernel's own code can change the variable, so that a copy
 * stays equal. Otherwise returns the reason. */
static const char *changed_elsewhere(const struct ptx_module *m, const struct ptx_sym *sym)
{
	if (sym->linkage & (PTX_EXTERN | PTX_VISIBLE | PTX_WEAK | PTX_COMMON))
		return "which the host and other modules can write";
	if (!sym->init)
		return "which has no initial value";
	return names_others(m, sym->init) ? "which holds addresses" : NULL;
}

int pass_find_written(
	const struct ptx_module *m, const struct ptx_func *f, struct pass_written *ret)
{
	struct follow w = {.f = f, .held = calloc(f->regs.len + 1, sizeof(*w.held))};

	*ret = (struct pass_written){0};
	if (!w.held)
		return -ENOMEM;
	follow_all(&w, m);
	for (size_t i = 0; i < f->body.len && !ret->sym; i++) {
		const struct ptx_stmt *s = &f->body.at[i];

		find_in_stmt(&w, m, s);
		if (!w.found)
			continue;
		ret->why = changed_elsewhere(m, w.found);
		if (!ret->why && only_reads(&w, s))
			continue;
		ret->sym = w.found;
		ret->s = s;
	}
	free(w.held);
	return 0;
}
