/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks where lanes of a warp reconverge in a woven form. ptxas reconverges lanes that a branch or
 * a guard separates (BSYNC) only at two kinds of places: a place to which no other branch leads,
 * and the end of a single-entry single-exit region. Elsewhere lanes stay diverged, although ptxas
 * assumes a whole warp. Then a barrier counts each group of diverged lanes as a warp, and a vote
 * sees only the lanes of one group.
 *
 * So after each statement at which lanes may diverge, such a place must come before the next
 * barrier, vote or other warp operation. A bar.warp.sync at the end of a separated part of the code
 * is such a place. A bar.warp.sync at the beginning of code that other code enters, too, is not.
 *
 * Only woven forms are checked, because only woven forms have many copies of code that jump into
 * each other. */
#include "pass/verify/verify_private.h"

#include <stdlib.h>

struct meeting {
	struct verify *v;
	const struct cfg *g;
	struct cfg_uniformity *u;
	uint8_t *together; /* for each basic block: whether lanes must be together in it or later */
};

static bool is_gathering(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && s->mn->op == PTX_OP_bar_warp && s->guard == PTX_NO_REG;
}

static bool is_together(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && !is_gathering(s) &&
	       s->mn->flags & (PTX_F_CONVERGENT | PTX_F_WARP_SYNC | PTX_F_BARRIER);
}

static void find_together(struct meeting *m)
{
	bool changed = true;

	for (uint32_t b = 0; b < m->g->n; b++)
		for (uint32_t i = m->g->at[b].first; i < m->g->at[b].end; i++)
			m->together[b] |= is_together(&m->g->f->body.at[i]);
	while (changed) {
		changed = false;
		for (uint32_t b = m->g->n; b-- > 0;) {
			bool was = m->together[b];

			for (uint32_t i = 0; i < m->g->at[b].n_succ; i++)
				m->together[b] |= m->together[m->g->at[b].succ[i]];
			changed |= was != m->together[b];
		}
	}
}

/* Returns what is uniform in the original kernel. The analysis runs at the first use only, because
 * most forms do not need it: their lanes can reconverge everywhere. */
static const struct cfg_uniformity *uniformity_of_kernel(struct meeting *m, struct verify_pair *p)
{
	const uint32_t *b = p->g->from->block;

	if (!p->g->u && cfg_uniformity(&m->v->arena, p->pg,
				b[1] == 1 && b[2] == 1 ? CFG_BLOCKS_1D : 0, NULL, &p->g->u) < 0)
		m->v->failed = true;
	return p->g->u;
}

static bool is_uniform(const struct cfg_uniformity *u, uint32_t block, uint32_t reg)
{
	return u->reg[reg] >= CFG_WARP_UNIFORM && u->block[block] >= CFG_WARP_UNIFORM;
}

/* Returns whether lanes of a warp may have different values of the guard of statement `at`. They
 * have the same value at a branch that is warp-uniform in the original kernel. */
static bool may_part(struct meeting *m, uint32_t block, uint32_t at)
{
	const struct ptx_stmt *s = &m->g->f->body.at[at], *w, *own;
	struct verify_pair *p = verify_owner(m->v, at);

	if (verify_is_never(m->v->pairs.at[0], at))
		return false;
	w = verify_written(m->g, at, s->guard);
	if (w && w->mn->op == PTX_OP_vote)
		return false;
	own = p && p->g && uniformity_of_kernel(m, p) ? &p->p->body.at[p->of[at]] : NULL;
	if (own && own->guard != PTX_NO_REG &&
		is_uniform(p->g->u, p->pg->block_of[p->of[at]], own->guard))
		return false;
	if (!m->u && cfg_uniformity(&m->v->arena, m->g, CFG_BLOCKS_1D, NULL, &m->u) < 0)
		m->v->failed = true;
	return m->v->failed || !is_uniform(m->u, block, s->guard);
}

/* Returns whether all paths to basic block `place` come from `from`, or `place` ends a single-entry
 * region. */
static bool is_own(const struct meeting *m, uint32_t from, uint32_t place)
{
	const struct cfg_block *b = &m->g->at[place];

	if (b->idom != CFG_NONE && m->g->at[b->idom].ipdom == place)
		return true;
	for (uint32_t i = 0; i < b->n_pred; i++)
		if (m->g->at[b->pred[i]].order != CFG_NONE &&
			!cfg_dominates(m->g, from, b->pred[i]))
			return false;
	return true;
}

/* Returns the first basic block from `place` on that does more than jump. ptxas does not reconverge
 * lanes in blocks that only jump. */
static uint32_t settle(const struct meeting *m, uint32_t place)
{
	for (uint32_t steps = 0; place != CFG_NONE && steps < m->g->n; steps++) {
		const struct cfg_block *b = &m->g->at[place];

		for (uint32_t i = b->first; i < b->end; i++) {
			const struct ptx_stmt *s = &m->g->f->body.at[i];

			if (s->kind == PTX_INSN &&
				(s->mn->op != PTX_OP_bra || s->guard != PTX_NO_REG))
				return place;
		}
		if (b->n_succ != 1)
			return place;
		place = b->succ[0];
	}
	return place;
}

/* Returns whether lanes that statement `at` separates can reconverge where their paths join. Also
 * true if no barrier or warp operation follows there. */
static bool can_meet(const struct meeting *m, uint32_t block, uint32_t at)
{
	const struct cfg_block *b = &m->g->at[block];
	uint32_t place = b->n_succ == 1 ? b->succ[0] : CFG_NONE;

	if (at + 1 == b->end && b->n_succ > 1)
		place = b->ipdom;
	place = settle(m, place);
	return place == CFG_NONE || place == m->g->exit || !m->together[place] ||
	       is_own(m, block, place);
}

/* Reports the last guarded statement of the basic block at which lanes may diverge without
 * reconverging. The search ends at a statement that all lanes execute together, such as a
 * barrier. */
static void check_block(struct meeting *m, uint32_t block)
{
	const struct cfg_block *b = &m->g->at[block];
	struct verify_pair *p;

	for (uint32_t at = b->end; at-- > b->first;) {
		const struct ptx_stmt *s = &m->g->f->body.at[at];

		if (is_gathering(s) || is_together(s))
			return;
		if (s->kind != PTX_INSN || s->guard == PTX_NO_REG || can_meet(m, block, at) ||
			!may_part(m, block, at))
			continue;
		if (m->v->r->diverged) {
			*m->v->r->diverged = true;
			return;
		}
		p = verify_owner(m->v, at);
		p = p ? p : m->v->pairs.at[0];
		verify_tell(p, PASS_RULE_CONVERGENCE, at, p->of[at],
			"the lanes of a warp may diverge at `%s`, and reconverge only after code "
			"that needs them converged",
			verify_text(p, p->q, at));
		return;
	}
}

void verify_meetings(struct verify *v)
{
	const struct pass_merged *form = v->r->form;
	struct meeting m = {.v = v, .g = v->host};

	if (!form || form->woven.why.reason || !form->woven.of[0].instructions)
		return;
	m.together = arena_zalloc(&v->arena, m.g->n + 1);
	if (!m.together) {
		v->failed = true;
		return;
	}
	find_together(&m);
	for (uint32_t b = 0; b < m.g->exit && !v->failed; b++)
		if (m.g->at[b].order != CFG_NONE && m.g->at[b].end > m.g->at[b].first)
			check_block(&m, b);
}
