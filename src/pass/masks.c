/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Masks that hold no lane that has left. `activemask` gives the lanes that run it together, so none
 * that left ahead of it; nor does a part of such a mask hold one: its `and` with anything, the
 * lanes of it that voted, or that match.
 *
 * A mask's register keeps its value, and lanes may leave behind that. So it counts only for those
 * that part at a branch from which every way to the operation comes through the activemask and,
 * behind that, through each step that made the mask from it: then the mask is younger than the
 * parting. In a worker lanes that leave a block wait at its end for the others of their warp
 * (facts->gathers), and so never are in the next block's masks ahead of them. */
#include "pass/private.h"

#include <errno.h>
#include <string.h>

#define STEPS_MAX 8 /* from the activemask to the operation */

struct pass_masks {
	const struct cfg *g;
	uint32_t *def; /* of each register the statement; CFG_NONE: none, or several */
	uint32_t at;   /* while those are looked for */
	uint32_t *stack, *seen,
		mark; /* of blocks; one is pushed once for each edge to it at most */
};

static void note_def(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct pass_masks *m = user;

	if (role & PTX_DEF)
		m->def[reg] = m->seen[reg]++ ? CFG_NONE : m->at;
}

int pass_masks_find(struct arena *a, const struct cfg *g, struct pass_masks **ret)
{
	size_t regs = g->f->regs.len + 1, edges = 1;
	struct pass_masks *m = ARENA_NEW(a, struct pass_masks);

	if (!m)
		return -ENOMEM;
	m->g = g;
	for (uint32_t b = 0; b < g->n; b++)
		edges += g->at[b].n_succ;
	m->def = ARENA_ARRAY(a, uint32_t, regs);
	m->seen = arena_zalloc(a, sizeof(uint32_t) * MAX(regs, g->n));
	m->stack = ARENA_ARRAY(a, uint32_t, edges);
	if (!m->def || !m->seen || !m->stack)
		return -ENOMEM;
	memset(m->def, 0xff, regs * sizeof(*m->def));
	for (m->at = 0; m->at < g->f->body.len; m->at++)
		ptx_visit_regs(g->f, &g->f->body.at[m->at], note_def, m);
	memset(m->seen, 0, sizeof(uint32_t) * MAX(regs, g->n));
	*ret = m;
	return 0;
}

bool pass_way_leads(struct pass_masks *m, uint32_t from, uint32_t to, const uint32_t past[2])
{
	const struct cfg *g = m->g;
	uint32_t n = 0;

	m->mark++;
	m->stack[n++] = from;
	while (n) {
		uint32_t b = m->stack[--n];

		if (b == past[0] || b == past[1] || m->seen[b] == m->mark)
			continue;
		if (b == to)
			return true;
		m->seen[b] = m->mark;
		for (uint32_t i = 0; i < g->at[b].n_succ; i++)
			if (m->seen[g->at[b].succ[i]] != m->mark)
				m->stack[n++] = g->at[b].succ[i];
	}
	return false;
}

/* Whether every way from the end of a block to a statement comes through another. */
static bool comes_through(struct pass_masks *m, uint32_t from, uint32_t stmt, uint32_t through)
{
	const struct cfg *g = m->g;
	uint32_t to = g->block_of[stmt], past[2] = {g->block_of[through], CFG_NONE};

	if (to == past[0])
		return through < stmt;
	for (uint32_t i = 0; i < g->at[from].n_succ; i++)
		if (pass_way_leads(m, g->at[from].succ[i], to, past))
			return false;
	return true;
}

/* The activemask's statement, or CFG_NONE. */
static uint32_t young_mask(struct pass_masks *m, uint32_t parting, uint32_t stmt,
	const struct ptx_opd *mask, unsigned steps)
{
	const struct ptx_stmt *s;
	uint32_t def, from = CFG_NONE;

	if (steps == STEPS_MAX || mask->kind != PTX_OPD_REG || mask->selector || mask->negated ||
		m->def[mask->reg] == CFG_NONE)
		return CFG_NONE;
	def = m->def[mask->reg];
	s = &m->g->f->body.at[def];
	if (s->kind != PTX_INSN || s->guard != PTX_NO_REG || s->n < 1)
		return CFG_NONE;
	switch (s->mn->op) {
	case PTX_OP_activemask:
		from = def;
		break;
	case PTX_OP_mov:
	case PTX_OP_and:
		for (unsigned i = 1; i < s->n && from == CFG_NONE; i++)
			from = young_mask(m, parting, def, &s->opd[i], steps + 1);
		break;
	case PTX_OP_match:
	case PTX_OP_vote:
		if (s->mn->op == PTX_OP_match || ptx_has_mod(s->mn, "ballot"))
			from = young_mask(m, parting, def, &s->opd[s->n - 1], steps + 1);
		break;
	default:
		break;
	}
	return from != CFG_NONE && comes_through(m, parting, stmt, def) ? from : CFG_NONE;
}

uint32_t pass_young_mask(struct pass_masks *m, uint32_t parting, const struct ptx_stmt *s)
{
	uint32_t at = (uint32_t)(s - m->g->f->body.at), from;

	if (m->g->has_indirect || !(s->mn->flags & PTX_F_WARP_SYNC) || s->n == 0)
		return CFG_NONE;
	from = young_mask(m, parting, at, &s->opd[s->n - 1], 0);
	return from == CFG_NONE ? CFG_NONE : m->g->block_of[from];
}
