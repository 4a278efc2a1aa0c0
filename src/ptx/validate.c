/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What must hold of a module for its text to mean what it means: every name, read where it is
 * printed, finds the very symbol that the statement points to. So the body is walked with the name
 * table as the parser would fill it, and each register, variable and label is looked up by its
 * printed name. This is what catches a copy that captures another's names. */
#include "ptx/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct check {
	struct ptx_module *m;
	const struct ptx_func *f;
	const struct ptx_stmt *s;
	struct diag_list *diags;
	unsigned errors;
	size_t depth;
	VEC(struct ptx_sym *) labels; /* all of them, ordered by scope */
	VEC(size_t) first;            /* by scope, in order of opening: its first label */
	size_t scope;                 /* of these, the next to open */
	VEC(uint32_t) found;          /* by register: `names` when its name was last looked up */
	uint32_t names;               /* how often what names mean has changed */
	bool failed;
};

static void complain(struct check *c, const char *what, const char *name)
{
	const struct ptx_stmt *s = c->s;

	c->errors++;
	diag_add(c->diags, DIAG_ERROR, s ? s->line : c->f->line, s ? s->col : 1, 1,
		"in %.100s: %s%s%.200s", c->f->sym ? c->f->sym->name : "?", what, name ? " " : "",
		name ? name : "");
}

static void check_reg(struct check *c, uint32_t reg, bool predicate)
{
	char name[160];
	uint32_t found;

	if (reg >= c->f->regs.len) {
		complain(c, "a register number is out of range", NULL);
		return;
	}
	if (c->found.at[reg] == c->names &&
		(!predicate || c->f->regs.at[reg].sym->type.base == PTX_PRED))
		return;
	memset(name, 0, sizeof(name));
	ptx_reg_name(c->f, reg, name, 128);
	if (strlen(name) >= 127)
		return;
	if (!ptx_find_reg(c->m, name, strlen(name), &found))
		complain(c, "not declared here: register", name);
	else if (found != reg)
		complain(c, "another register of this name is meant here:", name);
	else if (predicate && c->f->regs.at[reg].sym->type.base != PTX_PRED)
		complain(c, "the guard is no predicate:", name);
	else
		c->found.at[reg] = c->names;
}

static void check_sym(struct check *c, const struct ptx_opd *o)
{
	struct ptx_name *n = ptx_name_from(c->m, o->sym->name);
	const struct ptx_sym *sym;

	if (!n) {
		c->failed = true;
		return;
	}
	sym = n->local ? n->local : n->global;
	if (sym == o->sym)
		return;
	if (o->sym->kind == PTX_SYM_FUNC && sym && sym->kind == PTX_SYM_FUNC)
		return;
	complain(c, sym ? "another symbol of this name is meant here:" : "not declared here:",
		o->sym->name);
}

static void check_opds(struct check *c, const struct ptx_opd *o, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (o[i].kind) {
		case PTX_OPD_REG:
			check_reg(c, o[i].reg, false);
			break;
		case PTX_OPD_SYM:
			if (o[i].sym)
				check_sym(c, &o[i]);
			break;
		case PTX_OPD_ADDR:
		case PTX_OPD_VECTOR:
		case PTX_OPD_TUPLE:
		case PTX_OPD_PAIR:
			check_opds(c, o[i].list, o[i].n);
			break;
		default:
			break;
		}
	}
}

static void check_insn(struct check *c, const struct ptx_stmt *s)
{
	if (s->n < s->mn->n_needed)
		complain(c, "too few operands:", s->mn->text);
	if (s->guard != PTX_NO_REG)
		check_reg(c, s->guard, true);
	check_opds(c, s->opd, s->n);
}

static void bind(struct check *c, struct ptx_sym *sym)
{
	struct ptx_name *n = ptx_name_from(c->m, sym->name);
	int r = -ENOMEM;

	c->names++;
	if (n)
		r = sym->kind == PTX_SYM_REG ? ptx_bind_reg(c->m, n, sym)
					     : ptx_bind(c->m->globals, n, sym);
	if (r == -EEXIST)
		complain(c, "declared twice in a scope:", sym->name);
	else if (r < 0)
		c->failed = true;
}

static void open_scope(struct check *c)
{
	size_t i = c->first.at[c->scope], end = c->labels.len;

	if (++c->scope < c->first.len)
		end = c->first.at[c->scope];
	if (ptx_scope_open(c->m->globals) < 0)
		c->failed = true;
	for (; i < end; i++)
		bind(c, c->labels.at[i]);
}

static bool places(const struct ptx_stmt *s)
{
	return s->kind == PTX_LABEL || (s->kind == PTX_DIRECTIVE && s->sym);
}

static void place_at(struct check *c, size_t scope, struct ptx_sym *label)
{
	label->placed = true;
	c->labels.at[c->first.at[scope]++] = label;
}

/* Labels are known in all of their scope: gathered by scope before the walk. */
static int gather_labels(struct check *c)
{
	const ptx_body *body = &c->f->body;
	VEC(size_t) open = {0};
	size_t scopes = 1, total = 0;
	int r = -ENOMEM;

	if (!VEC_PUSH(&open, 0) || !VEC_PUSH(&c->first, 0))
		goto out;
	/* Count by scope, then turn counts into places. */
	for (size_t i = 0; i < body->len; i++) {
		const struct ptx_stmt *s = &body->at[i];

		if (s->kind == PTX_OPEN) {
			if (!VEC_PUSH(&open, scopes++) || !VEC_PUSH(&c->first, 0))
				goto out;
		} else if (s->kind == PTX_CLOSE && open.len > 1) {
			open.len--;
		} else if (places(s)) {
			c->first.at[open.at[open.len - 1]]++;
			if (!VEC_PUSH(&c->labels, NULL))
				goto out;
		}
	}
	for (size_t i = 0; i < scopes; i++) {
		size_t n = c->first.at[i];

		c->first.at[i] = total;
		total += n;
	}
	open.len = 1;
	scopes = 1;
	for (size_t i = 0; i < body->len; i++) {
		const struct ptx_stmt *s = &body->at[i];

		if (s->kind == PTX_OPEN)
			open.at[open.len++] = scopes++;
		else if (s->kind == PTX_CLOSE && open.len > 1)
			open.len--;
		else if (places(s))
			place_at(c, open.at[open.len - 1], s->sym);
	}
	/* Filling moved every start to its end, which is the next one's start. */
	memmove(c->first.at + 1, c->first.at, (scopes - 1) * sizeof(*c->first.at));
	c->first.at[0] = 0;
	r = 0;
out:
	VEC_FREE(&open);
	return r;
}

static void walk(struct check *c)
{
	const ptx_body *body = &c->f->body;

	for (size_t i = 0; i < body->len && !c->failed; i++) {
		const struct ptx_stmt *s = c->s = &body->at[i];

		switch (s->kind) {
		case PTX_INSN:
			check_insn(c, s);
			break;
		case PTX_DECL:
			if (s->sym->kind != PTX_SYM_REG || s->sym->first_reg < c->f->regs.len)
				bind(c, s->sym);
			break;
		case PTX_OPEN:
			c->depth++;
			open_scope(c);
			break;
		case PTX_CLOSE:
			if (c->depth == 0) {
				complain(c, "a brace closes nothing", NULL);
				return;
			}
			c->depth--;
			c->names++;
			ptx_scope_close(c->m->globals, NULL);
			break;
		case PTX_DIRECTIVE:
			if (s->sym)
				check_opds(c, s->sym->targets, s->sym->n_targets);
			break;
		default:
			break;
		}
	}
	c->s = NULL;
	if (c->depth)
		complain(c, "a brace is not closed", NULL);
}

static bool no_names(struct check *c)
{
	c->found.len = 0;
	while (c->found.len < c->f->regs.len) {
		if (!VEC_PUSH(&c->found, 0))
			return false;
	}
	c->names = 1;
	return true;
}

static void check_func(struct check *c, const struct ptx_func *f)
{
	c->f = f;
	c->s = NULL;
	c->depth = c->scope = 0;
	c->labels.len = c->first.len = 0;
	if (!f->has_body)
		return;
	if (gather_labels(c) < 0 || !no_names(c)) {
		c->failed = true;
		return;
	}
	ptx_unbind_func(c->m);
	open_scope(c);
	for (size_t i = 0; i < f->rets.len; i++)
		if (strcmp(f->rets.at[i]->name, "_") != 0)
			bind(c, f->rets.at[i]);
	for (size_t i = 0; i < f->params.len; i++)
		if (strcmp(f->params.at[i]->name, "_") != 0)
			bind(c, f->params.at[i]);
	walk(c);
	ptx_unbind_func(c->m);
}

static unsigned finish(struct check *c)
{
	if (c->failed) {
		diag_add(c->diags, DIAG_ERROR, 0, 0, 1, "out of memory");
		c->errors++;
	}
	VEC_FREE(&c->labels);
	VEC_FREE(&c->first);
	VEC_FREE(&c->found);
	return c->errors;
}

unsigned ptx_validate_func(
	const struct ptx_module *m, const struct ptx_func *f, struct diag_list *diags)
{
	/* The name table is scratch space of the module; nothing else in it changes. */
	struct check c = {.m = (struct ptx_module *)m, .diags = diags};

	check_func(&c, f);
	return finish(&c);
}

unsigned ptx_validate(const struct ptx_module *m, struct diag_list *diags)
{
	struct check c = {.m = (struct ptx_module *)m, .diags = diags};

	for (size_t i = 0; i < m->items.len && !c.failed; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC)
			check_func(&c, m->items.at[i].func);
	return finish(&c);
}
