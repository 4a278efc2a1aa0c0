/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes a draft of the graph of existing code. */
#include "draft_from.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_leaving(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && (s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT));
}

static bool is_table(const struct ptx_stmt *s)
{
	return s->kind == PTX_DIRECTIVE && s->sym && !strcmp(s->text, ".branchtargets");
}

/* Maps labels to blocks. */
struct label {
	const struct ptx_sym *sym;
	uint32_t block;
};

struct drafting {
	const struct cfg *g;
	struct cfg_draft *d;
	VEC(struct label) labels; /* sorted by symbol address */
};

static int by_address(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	return (uintptr_t)x->sym < (uintptr_t)y->sym ? -1 : x->sym != y->sym;
}

static uint32_t block_of(const struct drafting *dr, const struct ptx_opd *o)
{
	struct label key = {o->kind == PTX_OPD_SYM ? o->sym : NULL, 0}, *hit;

	hit = dr->labels.len ? bsearch(&key, dr->labels.at, dr->labels.len, sizeof(key), by_address)
			     : NULL;
	return hit ? hit->block : CFG_NONE;
}

static int gather_labels(struct drafting *dr)
{
	const ptx_body *body = &dr->g->f->body;

	for (size_t i = 0; i < body->len; i++)
		if (body->at[i].kind == PTX_LABEL &&
			!VEC_PUSH(&dr->labels, (struct label){body->at[i].sym, dr->g->block_of[i]}))
			return -ENOMEM;
	if (dr->labels.len)
		qsort(dr->labels.at, dr->labels.len, sizeof(dr->labels.at[0]), by_address);
	return 0;
}

static int add_target(struct drafting *dr, struct cfg_part *p, const struct ptx_opd *o)
{
	uint32_t b = block_of(dr, o);

	if (b == CFG_NONE)
		return -ENOTSUP;
	return VEC_PUSH(&p->to, b) ? 0 : -ENOMEM;
}

static int draft_end(
	struct drafting *dr, struct cfg_part *p, const struct ptx_stmt *s, uint32_t next)
{
	const struct ptx_sym *table;
	int r = 0;

	p->next = next;
	if (!is_leaving(s))
		return VEC_PUSH(&p->stmts, *s) ? 0 : -ENOMEM;
	if (s->mn->flags & PTX_F_EXIT) {
		p->last = *s;
		return 0;
	}
	if (s->mn->op == PTX_OP_brx) {
		table = s->n > 1 && s->opd[1].kind == PTX_OPD_SYM ? s->opd[1].sym : NULL;
		if (!table || !table->targets)
			return -ENOTSUP;
		p->last = *s;
		for (uint32_t i = 0; r == 0 && i < table->n_targets; i++)
			r = add_target(dr, p, &table->targets[i]);
		return r;
	}
	if (s->guard != PTX_NO_REG) {
		p->last = *s;
		return s->n ? add_target(dr, p, &s->opd[0]) : -ENOTSUP;
	}
	p->next = s->n ? block_of(dr, &s->opd[0]) : CFG_NONE;
	return p->next == CFG_NONE ? -ENOTSUP : 0;
}

static void look_for_label(void *user, struct ptx_opd *o)
{
	bool *found = user;
	const struct ptx_sym *sym = o->kind == PTX_OPD_SYM ? o->sym : NULL;

	if (sym && sym->kind == PTX_SYM_PROTO && sym->n_targets)
		sym = sym->targets[0].kind == PTX_OPD_SYM ? sym->targets[0].sym : NULL;
	*found |= sym && sym->kind == PTX_SYM_LABEL;
}

/* Returns true if an instruction other than a known branch names a label, for whatever purpose. */
static bool names_label(const struct ptx_stmt *s)
{
	struct ptx_stmt copy = *s;
	bool found = false;

	ptx_visit_opds(&copy, look_for_label, &found);
	return found;
}

/* Copies a block of the graph into a part of the draft. Braces, which surround call sequences, have
 * to open and close within the block. */
static int draft_block(struct drafting *dr, uint32_t b)
{
	const struct cfg_block *blk = &dr->g->at[b];
	struct cfg_part *p = &dr->d->parts.at[b];
	size_t depth = 0;
	int r = 0;

	p->next = b + 1 == dr->g->exit ? CFG_NONE : b + 1;
	for (uint32_t i = blk->first; r == 0 && i < blk->end; i++) {
		const struct ptx_stmt *s = &dr->g->f->body.at[i];

		depth += s->kind == PTX_OPEN;
		depth -= s->kind == PTX_CLOSE;
		if (depth > 1)
			return -EINVAL;
		if (s->kind == PTX_INSN && !is_leaving(s) && names_label(s))
			return -ENOTSUP;
		if (i + 1 == blk->end)
			r = draft_end(dr, p, s, p->next);
		else if (s->kind == PTX_DECL && depth == 0)
			r = VEC_PUSH(&dr->d->head, *s) ? 0 : -ENOMEM;
		else if (!is_table(s))
			r = VEC_PUSH(&p->stmts, *s) ? 0 : -ENOMEM;
	}
	return r == 0 && depth ? -EINVAL : r;
}

int draft_from(const struct cfg *g, struct cfg_draft *d)
{
	struct drafting dr = {.g = g, .d = d};
	int r = g->has_indirect ? -ENOTSUP : gather_labels(&dr);

	*d = (struct cfg_draft){0};
	for (uint32_t b = 0; r == 0 && b < g->exit; b++)
		if (cfg_draft_add(d) == CFG_NONE)
			r = -ENOMEM;
	for (uint32_t b = 0; r == 0 && b < g->exit; b++)
		r = draft_block(&dr, b);
	VEC_FREE(&dr.labels);
	if (r < 0)
		cfg_draft_finish(d);
	return r;
}
