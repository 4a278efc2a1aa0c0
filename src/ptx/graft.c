/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Translates the names of a source (the function whose code is copied) into a target (the function
 * that receives it). The source's registers get consecutive numbers in the target, so a register is
 * translated by an addition. Symbols are looked up in a map. Statements stored as text are
 * translated when the graft is created, while the names in the text still resolve in the source. */
#include "ptx/graft.h"
#include "ptx/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ptx_graft {
	struct ptx_module *m;
	struct ptx_func *target;
	const struct ptx_func *source;
	struct hash_map syms;
	struct hash_map texts; /* text or operands of a statement -> their translation */
	struct ptx_copy copy;
	uint32_t tag;
	bool names_param; /* a statement's text names a parameter */
	int error;
};

static void refuse(struct ptx_graft *g, struct diag_list *diags, const struct ptx_stmt *s,
	const char *why, const char *what)
{
	diag_add(diags, DIAG_ERROR, s ? s->line : 0, s ? s->col : 1, 1,
		"%.200s cannot be put into %.200s: %s%.200s", g->source->sym->name,
		g->target->sym->name, why, what);
}

/* Copies a symbol under a fresh name, without adding the copy to the symbols of the receiving
 * function. */
static struct ptx_sym *own_sym(struct ptx_graft *g, const struct ptx_sym *from)
{
	const struct ptx_name *n = ptx_tagged_name(g->m, g->tag, from);
	struct ptx_sym *to = n ? ARENA_NEW(&g->m->arena, struct ptx_sym) : NULL;

	if (!to)
		return NULL;
	*to = *from;
	to->name = n->text;
	to->name_len = n->len;
	to->link = NULL;
	to->scope = 0;
	return hash_map_put_at(&g->syms, from, to) ? to : NULL;
}

static int take_regs(struct ptx_graft *g, struct diag_list *diags)
{
	uint32_t n = (uint32_t)g->source->regs.len;
	int r;

	g->copy.n_regs = n;
	g->copy.first_reg = (uint32_t)g->target->regs.len;
	for (uint32_t i = 0; i < n;) {
		const struct ptx_sym *from = g->source->regs.at[i].sym;
		struct ptx_sym *to;

		if (from->kind == PTX_SYM_PARAM) {
			refuse(g, diags, NULL, "a register is a parameter: ", from->name);
			return -ENOTSUP;
		}
		to = own_sym(g, from);
		if (!to)
			return -ENOMEM;
		/* ptx_declare_regs can move the target's array of registers in memory. If source
		 * and target are the same function, this is also the array that the loop reads. So
		 * the loop keeps no pointer into the array. */
		r = ptx_declare_regs(g->m, g->target, to);
		if (r == 0)
			r = ptx_add_symbol(g->m, g->target, to);
		if (r < 0)
			return r;
		i += MAX(from->count, 1);
	}
	return 0;
}

/* Returns true if the symbol can exist twice, once for each copy of the code. */
static bool can_be_two(const struct ptx_sym *sym)
{
	return sym->kind != PTX_SYM_VAR || sym->space == PTX_SHARED ||
	       (sym->space != PTX_GLOBAL && !(sym->linkage & PTX_EXTERN));
}

static int take_sym(struct ptx_graft *g, struct diag_list *diags, const struct ptx_stmt *s)
{
	struct ptx_sym *to;
	int r = 0;

	if (hash_map_at(&g->syms, s->sym))
		return 0;
	if (!can_be_two(s->sym)) {
		refuse(g, diags, s, "there is only one of the variable ", s->sym->name);
		return -ENOTSUP;
	}
	to = own_sym(g, s->sym);
	if (!to)
		return -ENOMEM;
	if (to->kind == PTX_SYM_VAR && to->decl && !to->name_at)
		r = ptx_own_decl(g->m, to);
	if (r == -ENOTSUP)
		refuse(g, diags, s, "the type is not known of the variable ", s->sym->name);
	/* A register symbol needs no declaration here: "%r<0>" declares nothing. */
	if (r == 0 && to->kind != PTX_SYM_REG)
		r = ptx_add_symbol(g->m, g->target, to);
	return r;
}

static int take_symbols(struct ptx_graft *g, struct diag_list *diags)
{
	const ptx_body *body = &g->source->body;
	int r = 0;

	for (size_t i = 0; r == 0 && i < body->len; i++) {
		const struct ptx_stmt *s = &body->at[i];

		if (s->kind == PTX_LABEL || s->kind == PTX_DECL ||
			(s->kind == PTX_DIRECTIVE && s->sym))
			r = take_sym(g, diags, s);
	}
	for (size_t i = 0; r == 0 && i < body->len; i++) {
		const struct ptx_stmt *s = &body->at[i];
		struct ptx_sym *to;

		if (s->kind != PTX_DIRECTIVE || !s->sym || !s->sym->targets)
			continue;
		to = hash_map_at(&g->syms, s->sym);
		to->targets = ptx_copy_opds(&g->copy, s->sym->targets, s->sym->n_targets);
		r = to->targets ? 0 : -ENOMEM;
	}
	return r;
}

static const char *name_in_host(
	void *user, uint32_t reg, const struct ptx_sym *sym, char *buf, size_t size)
{
	struct ptx_graft *g = user;
	const struct ptx_sym *to;

	if (reg != PTX_NO_REG)
		return ptx_reg_name(g->target, ptx_graft_reg(g, reg), buf, size);
	to = hash_map_at(&g->syms, sym);
	g->names_param |= !to && sym->kind == PTX_SYM_PARAM && g->source != g->target;
	return to ? to->name : NULL;
}

static int take_text(struct ptx_graft *g, const struct ptx_stmt *s)
{
	const void *text = ptx_rename_stmt(g->m, s, name_in_host, g);
	struct ptx_sym *to;

	if (!text)
		return -ENOMEM;
	if (s->kind == PTX_DECL) {
		to = hash_map_at(&g->syms, s->sym);
		to->init = text;
		return 0;
	}
	if (s->kind == PTX_DIRECTIVE) {
		to = hash_map_at(&g->syms, s->sym);
		to->targets = ptx_copy_opds(&g->copy, text, to->n_targets);
		return to->targets ? 0 : -ENOMEM;
	}
	return hash_map_put_at(&g->texts, s->opd, (void *)text) ? 0 : -ENOMEM;
}

struct taking {
	struct ptx_graft *g;
	struct diag_list *diags;
};

static int take_or_refuse(void *user, struct ptx_stmt *s)
{
	struct taking *t = user;
	int r = take_text(t->g, s);

	if (!t->g->names_param)
		return r;
	refuse(t->g, t->diags, s, "an instruction that is not known names a parameter", "");
	return -ENOTSUP;
}

static int take_texts(struct ptx_graft *g, struct diag_list *diags)
{
	return ptx_walk_texts(g->m, g->source, take_or_refuse, &(struct taking){g, diags});
}

int ptx_graft_new(struct ptx_module *m, struct ptx_func *target, const struct ptx_func *source,
	struct diag_list *diags, struct ptx_graft **ret)
{
	struct ptx_graft *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	g->m = m;
	g->target = target;
	g->source = source;
	g->copy.m = m;
	g->copy.syms = &g->syms;
	g->tag = ptx_new_tag(m);
	r = take_regs(g, diags);
	if (r == 0)
		r = take_symbols(g, diags);
	if (r == 0)
		r = take_texts(g, diags);
	if (r < 0)
		ptx_graft_free(g);
	else
		*ret = g;
	return r;
}

void ptx_graft_free(struct ptx_graft *g)
{
	if (!g)
		return;
	hash_map_free(&g->syms);
	hash_map_free(&g->texts);
	free(g);
}

uint32_t ptx_graft_reg(const struct ptx_graft *g, uint32_t source_reg)
{
	return ptx_copy_reg(&g->copy, source_reg);
}

/* Returns NULL if out of memory. */
static struct ptx_opd *ptx_graft_opds(struct ptx_graft *g, const struct ptx_opd *opd, size_t n)
{
	struct ptx_opd *to = ptx_copy_opds(&g->copy, opd, n);

	if (!to)
		g->error = -ENOMEM;
	return to;
}

struct ptx_stmt ptx_graft_stmt(struct ptx_graft *g, const struct ptx_stmt *s)
{
	struct ptx_stmt to = *s;
	const void *text;
	struct ptx_sym *sym;

	if (s->kind == PTX_INSN) {
		to.guard = ptx_graft_reg(g, s->guard);
		text = hash_map_at(&g->texts, s->opd);
		if (s->n)
			to.opd = ptx_graft_opds(g, text ? text : s->opd, s->n);
		else if (text)
			to.text = text;
		if (!to.opd)
			to.n = 0;
	} else if (s->kind == PTX_LABEL || s->kind == PTX_DECL || s->kind == PTX_DIRECTIVE) {
		sym = s->sym ? hash_map_at(&g->syms, s->sym) : NULL;
		to.sym = sym ? sym : s->sym;
	}
	return to;
}

void ptx_graft_map(
	struct ptx_graft *g, const struct ptx_sym *source_sym, struct ptx_sym *target_sym)
{
	if (!hash_map_put_at(&g->syms, source_sym, target_sym))
		g->error = -ENOMEM;
}

int ptx_graft_map_reg(struct ptx_graft *g, uint32_t source_reg, uint32_t target_reg)
{
	uint32_t *same = g->copy.same[g->copy.n_same];

	if (g->copy.n_same == PTX_COPY_SAME)
		return -E2BIG;
	same[0] = source_reg;
	same[1] = target_reg;
	g->copy.n_same++;
	return 0;
}

int ptx_graft_error(const struct ptx_graft *g)
{
	return g->error;
}
