/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks that the module's printed text means the same as the module in memory. The checker walks
 * each body with the name table as the parser would fill it. It looks up every register, variable
 * and label by its printed name, and compares the result with the symbol that the statement points
 * to. This finds a copied name that wrongly captures another one. */
#include "ptx/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct check {
	struct ptx_module *m;
	const struct ptx_func *f;
	const struct ptx_stmt *s;
	struct diag_list *diags;
	unsigned errors;
	struct ptx_walk walk;
	/* for each register: the value of `names` when its name was last looked up */
	VEC(uint32_t) found;
	uint32_t names; /* counts the changes in the meaning of names */
	bool failed, unbalanced;
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

static void declared_twice(void *user, const struct ptx_sym *sym)
{
	complain(user, "declared twice in a scope:", sym->name);
}

static void check_stmt(struct check *c, const struct ptx_stmt *s)
{
	int r;

	if (s->kind == PTX_INSN)
		check_insn(c, s);
	else if (s->kind == PTX_DIRECTIVE && s->sym)
		check_opds(c, s->sym->targets, s->sym->n_targets);
	r = ptx_walk_step(&c->walk, s);
	if (s->kind == PTX_DECL || s->kind == PTX_OPEN || s->kind == PTX_CLOSE)
		c->names++;
	c->unbalanced = r == -EINVAL;
	if (c->unbalanced)
		complain(c, "a brace closes nothing", NULL);
	else if (r < 0)
		c->failed = true;
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
	c->unbalanced = false;
	if (!f->has_body)
		return;
	if (!no_names(c) || ptx_walk_begin(&c->walk, c->m, f) < 0) {
		c->failed = true;
		return;
	}
	for (size_t i = 0; i < f->body.len && !c->failed && !c->unbalanced; i++) {
		c->s = &f->body.at[i];
		check_stmt(c, c->s);
	}
	c->s = NULL;
	if (c->walk.depth)
		complain(c, "a brace is not closed", NULL);
	ptx_unbind_func(c->m);
}

static unsigned finish(struct check *c)
{
	if (c->failed) {
		diag_add(c->diags, DIAG_ERROR, 0, 0, 1, "out of memory");
		c->errors++;
	}
	ptx_walk_end(&c->walk);
	VEC_FREE(&c->found);
	return c->errors;
}

unsigned ptx_validate_func(
	const struct ptx_module *m, const struct ptx_func *f, struct diag_list *diags)
{
	/* The const of m is cast away because the walk uses the module's name table as scratch
	 * space. Apart from the scope fields of symbols, nothing else in the module changes. */
	struct check c = {.m = (struct ptx_module *)m, .diags = diags};

	c.walk.twice = declared_twice;
	c.walk.user = &c;

	check_func(&c, f);
	return finish(&c);
}

unsigned ptx_validate(const struct ptx_module *m, struct diag_list *diags)
{
	struct check c = {.m = (struct ptx_module *)m, .diags = diags};

	c.walk.twice = declared_twice;
	c.walk.user = &c;

	for (size_t i = 0; i < m->items.len && !c.failed; i++)
		if (m->items.at[i].kind == PTX_ITEM_FUNC)
			check_func(&c, m->items.at[i].func);
	return finish(&c);
}
