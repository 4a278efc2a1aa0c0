/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds member masks that contain no exited lane. There are two kinds.
 *
 * First, masks from `activemask`. It yields only lanes that execute it together, hence no lane that
 * exited before. The same holds for every subset of such a mask: its `and` with any value, its
 * lanes in a ballot, its lanes that match. But a register keeps its mask, and lanes may exit after
 * the activemask. So if lanes diverge at a branch, a mask is safe only if it was computed after the
 * divergence: every path from the branch to the operation passes the activemask and then each step
 * that derives the mask. In a worker, lanes that finish a block of the grid wait at the block's end
 * for the other lanes of their warp (facts->gathers), so they do not get into the masks of the next
 * block early.
 *
 * Second, a ballot right before a branch, of the predicate under which lanes do not exit. This
 * ballot contains exactly the lanes that stay, so it is always safe. */
#include "pass/analysis/masks.h"

#include <errno.h>
#include <string.h>

#define STEPS_MAX 8 /* maximum number of copies between an activemask and its use as a mask */

struct pass_masks {
	const struct cfg *g;
	uint32_t *def; /* by register: its defining statement; CFG_NONE if it has none or several */
	uint32_t at;   /* index of the statement that is being visited */
	/* for walks over blocks; each incoming edge pushes a block at most once */
	uint32_t *stack, *seen, mark;
};

const struct ptx_opd *pass_mask_of(const struct ptx_stmt *s)
{
	switch (s->mn->op) {
	case PTX_OP_bar_warp:
	case PTX_OP_elect:
	case PTX_OP_match:
	case PTX_OP_redux:
	case PTX_OP_shfl:
	case PTX_OP_vote:
		/* Old code has shuffles and votes without a mask, in which the active lanes take
		 * part. */
		return s->n && ptx_has_mod(s->mn, "sync") ? &s->opd[s->n - 1] : NULL;
	default:
		return NULL;
	}
}

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

/* Returns whether every path from the end of basic block `from` to statement `stmt` passes
 * statement `through`. */
static bool passes_through(struct pass_masks *m, uint32_t from, uint32_t stmt, uint32_t through)
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

/* Returns the index of the activemask statement that the mask comes from, or CFG_NONE. */
static uint32_t find_young_mask(struct pass_masks *m, uint32_t parting, uint32_t stmt,
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
			from = find_young_mask(m, parting, def, &s->opd[i], steps + 1);
		break;
	case PTX_OP_match:
	case PTX_OP_vote:
		if (s->mn->op == PTX_OP_match || ptx_has_mod(s->mn, "ballot"))
			from = find_young_mask(m, parting, def, &s->opd[s->n - 1], steps + 1);
		break;
	default:
		break;
	}
	return from != CFG_NONE && passes_through(m, parting, stmt, def) ? from : CFG_NONE;
}

uint32_t pass_young_mask(struct pass_masks *m, uint32_t parting, const struct ptx_stmt *s)
{
	uint32_t at = (uint32_t)(s - m->g->f->body.at), from;
	const struct ptx_opd *mask = pass_mask_of(s);

	if (m->g->has_indirect || !mask)
		return CFG_NONE;
	from = find_young_mask(m, parting, at, mask, 0);
	return from == CFG_NONE ? CFG_NONE : m->g->block_of[from];
}

/* ---- masks that contain only the lanes that do not exit ---- */

struct search {
	uint32_t reg;
	bool found;
};

static void note_if_def(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct search *x = user;

	x->found |= (role & PTX_DEF) && reg == x->reg;
}

/* Returns the last statement of a basic block before `before` that writes a register; CFG_NONE:
 * there is none. */
static uint32_t find_last_write(const struct pass_masks *m, uint32_t reg, uint32_t before)
{
	const struct ptx_func *f = m->g->f;
	uint32_t first = m->g->at[m->g->block_of[before]].first;
	struct search x = {.reg = reg};

	for (uint32_t i = before; i > first; i--) {
		ptx_visit_regs(f, &f->body.at[i - 1], note_if_def, &x);
		if (x.found)
			return i - 1;
	}
	return CFG_NONE;
}

/* Returns the integer comparison that is true exactly when cmp is false. */
static enum ptx_cmp opposite(enum ptx_cmp cmp)
{
	static const enum ptx_cmp of[][2] = {{PTX_EQ, PTX_NE}, {PTX_LT, PTX_GE}, {PTX_LE, PTX_GT},
		{PTX_LO, PTX_HS}, {PTX_LS, PTX_HI}};

	for (size_t i = 0; i < ARRAY_LEN(of); i++)
		for (unsigned k = 0; k < 2; k++)
			if (of[i][k] == cmp)
				return of[i][1 - k];
	return PTX_CMP_NONE;
}

static bool same_operand(const struct pass_masks *m, const struct ptx_opd *a, uint32_t at_a,
	const struct ptx_opd *b, uint32_t at_b)
{
	if (a->kind != b->kind || a->negated != b->negated || a->selector != b->selector)
		return false;
	if (a->kind == PTX_OPD_REG)
		return a->reg == b->reg &&
		       find_last_write(m, a->reg, at_a) == find_last_write(m, b->reg, at_b);
	return a->kind == PTX_OPD_IMM && a->has_value && b->has_value && a->value == b->value;
}

/* Returns whether s is an unguarded comparison of integers that is not combined with another
 * predicate. */
static bool is_comparison(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && s->mn->op == PTX_OP_setp && s->guard == PTX_NO_REG &&
	       s->n == 3 && s->opd[0].kind == PTX_OPD_REG && s->mn->n_types == 1 &&
	       opposite(s->mn->cmp) != PTX_CMP_NONE && s->mn->type[0] >= PTX_U8 &&
	       s->mn->type[0] <= PTX_B64;
}

/* Compares two predicates, each with its value before a statement of the same basic block. Returns
 * 1 if they are equal, -1 if one is the negation of the other, 0 if unknown. */
static int compare_predicates(
	const struct pass_masks *m, uint32_t p, uint32_t at_p, uint32_t q, uint32_t at_q)
{
	uint32_t dp = find_last_write(m, p, at_p), dq = find_last_write(m, q, at_q);
	const struct ptx_stmt *a, *b;

	if (p == q && dp == dq)
		return 1;
	if (dp == CFG_NONE || dq == CFG_NONE)
		return 0;
	a = &m->g->f->body.at[dp];
	b = &m->g->f->body.at[dq];
	if (!is_comparison(a) || !is_comparison(b) || a->mn->type[0] != b->mn->type[0] ||
		!same_operand(m, &a->opd[1], dp, &b->opd[1], dq) ||
		!same_operand(m, &a->opd[2], dp, &b->opd[2], dq))
		return 0;
	if (a->mn->cmp == b->mn->cmp)
		return 1;
	return opposite(a->mn->cmp) == b->mn->cmp ? -1 : 0;
}

/* Compares a mask with the lanes that take a branch. The mask must be a ballot in the branch's
 * basic block, or a subset of one. Returns 1 if it contains only lanes that go to the branch's
 * target, -1 if it contains only lanes that fall through, 0 if unknown. */
static int find_ballot_side(
	struct pass_masks *m, uint32_t branch, const struct ptx_opd *mask, unsigned steps)
{
	const struct ptx_stmt *br = &m->g->f->body.at[branch], *s;
	int those = 0;
	uint32_t def;

	if (steps == STEPS_MAX || mask->kind != PTX_OPD_REG || mask->selector || mask->negated)
		return 0;
	def = m->def[mask->reg];
	if (def == CFG_NONE || m->g->block_of[def] != m->g->block_of[branch] || def > branch)
		return 0;
	s = &m->g->f->body.at[def];
	if (s->kind != PTX_INSN || s->guard != PTX_NO_REG)
		return 0;
	if (s->mn->op == PTX_OP_mov || s->mn->op == PTX_OP_and) {
		for (unsigned i = 1; i < s->n && !those; i++)
			those = find_ballot_side(m, branch, &s->opd[i], steps + 1);
		return those;
	}
	if (s->mn->op != PTX_OP_vote || !ptx_has_mod(s->mn, "ballot") || s->n != 3 ||
		s->opd[1].kind != PTX_OPD_REG)
		return 0;
	those = compare_predicates(m, s->opd[1].reg, def, br->guard, branch);
	return (s->opd[1].negated != 0) == (br->guard_negated != 0) ? those : -those;
}

static bool holds_only_stayers(struct pass_masks *m, uint32_t parting, const struct ptx_stmt *s,
	const struct ptx_opd *mask)
{
	const struct cfg *g = m->g;
	const struct cfg_block *b = &g->at[parting];
	uint32_t to = g->block_of[s - g->f->body.at], past[2] = {parting, CFG_NONE}, next, stay;
	const struct ptx_stmt *br;
	int those;

	if (g->has_indirect || b->n_succ != 2 || to == parting)
		return false;
	br = &g->f->body.at[b->end - 1];
	if (br->kind != PTX_INSN || br->mn->op != PTX_OP_bra || br->guard == PTX_NO_REG)
		return false;
	next = b->end < g->f->body.len ? g->block_of[b->end] : g->exit;
	if (b->succ[0] == b->succ[1] || (b->succ[0] != next && b->succ[1] != next))
		return false;
	those = find_ballot_side(m, b->end - 1, mask, 0);
	if (!those)
		return false;
	stay = (b->succ[1] == next) == (those < 0);
	return pass_way_leads(m, b->succ[stay], to, past) &&
	       !pass_way_leads(m, b->succ[!stay], to, past);
}

uint32_t pass_mask_of_stayers(struct pass_masks *m, const struct ptx_stmt *s)
{
	const struct ptx_opd *mask = pass_mask_of(s);
	uint32_t b;

	if (!mask || mask->kind != PTX_OPD_REG || m->def[mask->reg] == CFG_NONE)
		return CFG_NONE;
	b = m->g->block_of[m->def[mask->reg]];
	return holds_only_stayers(m, b, s, mask) ? b : CFG_NONE;
}
