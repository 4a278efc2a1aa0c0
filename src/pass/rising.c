/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds kernels whose blocks may wait for lower blocks: a loop that goes round without changing
 * anything but what it reads from memory, and leaves on what it has read.
 *
 * For each way out of each natural loop: the slice of its predicate within the loop. A register of
 * the slice that depends on itself (an induction variable, a pointer that is followed, a bound that
 * is halved) makes progress where it is written. If the slice holds a load or an atomic on global
 * or generic memory, and the loop can go round through that way out without making progress, it
 * waits. A bound loaded ahead of the loop is not in it, one loaded within is compared with
 * something that makes progress: ordinary loops are not found. */
#include "pass/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct def {
	uint32_t reg, stmt;
};

struct search {
	struct pass_facts *facts;
	const struct cfg *g;
	struct def *defs; /* sorted by register */
	size_t n_defs, cap_defs;
	uint8_t *in_loop;          /* per block */
	uint8_t *in_slice, *state; /* per register */
	uint32_t *stack;           /* registers or blocks */
	uint8_t *progress, *seen;  /* per block */
	VEC(uint32_t) slice;
	bool loads, observes;
	uint32_t stmt;
	int error;
};

static void note_def(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct search *s = user;

	if (!(role & PTX_DEF) || s->error)
		return;
	if (!vec_grow((void **)&s->defs, &s->cap_defs, s->n_defs, sizeof(*s->defs)))
		s->error = -ENOMEM;
	else
		s->defs[s->n_defs++] = (struct def){reg, s->stmt};
}

static int by_reg(const void *a, const void *b)
{
	const struct def *x = a, *y = b;

	if (x->reg != y->reg)
		return x->reg < y->reg ? -1 : 1;
	return x->stmt < y->stmt ? -1 : x->stmt != y->stmt;
}

static size_t first_def(const struct search *s, uint32_t reg)
{
	size_t lo = 0, hi = s->n_defs;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->defs[mid].reg < reg)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void add_to_slice(struct search *s, uint32_t reg)
{
	if (s->in_slice[reg] || s->error)
		return;
	s->in_slice[reg] = 1;
	if (!VEC_PUSH(&s->slice, reg))
		s->error = -ENOMEM;
}

static void add_use(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	if (role & PTX_USE)
		add_to_slice(user, reg);
}

static void note_load(struct search *s, const struct ptx_stmt *st)
{
	uint32_t flags = st->mn->flags;

	if (st->mn->op == PTX_OP_call) {
		const struct ptx_func *f = pass_call_target(st);
		const struct pass_callee *c = f ? pass_callee_of(s->facts, f) : NULL;

		if (!c || c->observes)
			s->loads = s->observes = true;
		return;
	}
	if (!(flags & (PTX_F_READS_MEM | PTX_F_ATOMIC)) ||
		(st->mn->space != PTX_GENERIC && st->mn->space != PTX_GLOBAL))
		return;
	s->loads = true;
	s->observes |= (flags & (PTX_F_VOLATILE | PTX_F_ATOMIC)) != 0;
}

static void clear_slice(struct search *s)
{
	for (size_t i = 0; i < s->slice.len; i++)
		s->in_slice[s->slice.at[i]] = 0;
	s->slice.len = 0;
	s->loads = s->observes = false;
}

/* Everything within the loop that the choice at a block's end depends on. */
static void find_slice(struct search *s, const struct ptx_stmt *branch)
{
	clear_slice(s);
	ptx_visit_regs(s->g->f, branch, add_use, s);
	for (size_t i = 0; i < s->slice.len && !s->error; i++) {
		uint32_t reg = s->slice.at[i];

		for (size_t d = first_def(s, reg); d < s->n_defs && s->defs[d].reg == reg; d++) {
			uint32_t at = s->defs[d].stmt;

			if (!s->in_loop[s->g->block_of[at]])
				continue;
			note_load(s, &s->g->f->body.at[at]);
			ptx_visit_regs(s->g->f, &s->g->f->body.at[at], add_use, s);
		}
	}
}

struct reach {
	struct search *s;
	uint32_t target, depth;
	bool hit;
};

static void follow(void *user, uint32_t reg, enum ptx_role role, const struct ptx_opd *opd)
{
	struct reach *r = user;

	if (!(role & PTX_USE))
		return;
	r->hit |= reg == r->target;
	if (!r->s->state[reg] && r->s->in_slice[reg]) {
		r->s->state[reg] = 1;
		r->s->stack[r->depth++] = reg;
	}
}

/* Whether a register's value in the loop depends on what it was before. */
static bool depends_on_itself(struct search *s, uint32_t reg)
{
	struct reach r = {s, reg, 0, false};

	for (size_t i = 0; i < s->slice.len; i++)
		s->state[s->slice.at[i]] = 0;
	s->stack[r.depth++] = reg;
	while (r.depth && !r.hit) {
		uint32_t at = s->stack[--r.depth];

		for (size_t d = first_def(s, at); d < s->n_defs && s->defs[d].reg == at; d++)
			if (s->in_loop[s->g->block_of[s->defs[d].stmt]])
				ptx_visit_regs(
					s->g->f, &s->g->f->body.at[s->defs[d].stmt], follow, &r);
	}
	return r.hit;
}

/* Marks the blocks that make progress; a guarded write may not happen. Returns whether any does. */
static bool mark_progress(struct search *s)
{
	bool any = false;

	memset(s->progress, 0, s->g->n);
	for (size_t i = 0; i < s->slice.len; i++) {
		uint32_t reg = s->slice.at[i];

		if (!depends_on_itself(s, reg))
			continue;
		for (size_t d = first_def(s, reg); d < s->n_defs && s->defs[d].reg == reg; d++) {
			uint32_t at = s->defs[d].stmt;

			if (!s->in_loop[s->g->block_of[at]] ||
				s->g->f->body.at[at].guard != PTX_NO_REG)
				continue;
			s->progress[s->g->block_of[at]] = 1;
			any = true;
		}
	}
	return any;
}

/* Whether control can come back to a block within the loop without making progress. */
static bool goes_round(struct search *s, uint32_t block)
{
	uint32_t depth = 0;

	if (s->progress[block])
		return false;
	memset(s->seen, 0, s->g->n);
	s->stack[depth++] = block;
	while (depth) {
		const struct cfg_block *b = &s->g->at[s->stack[--depth]];

		for (uint32_t i = 0; i < b->n_succ; i++) {
			uint32_t to = b->succ[i];

			if (to == block)
				return true;
			if (s->in_loop[to] && !s->progress[to] && !s->seen[to]) {
				s->seen[to] = 1;
				s->stack[depth++] = to;
			}
		}
	}
	return false;
}

static const struct ptx_stmt *way_out(const struct search *s, uint32_t b)
{
	const struct cfg_block *blk = &s->g->at[b];

	if (!s->in_loop[b] || blk->n_succ < 2)
		return NULL;
	for (uint32_t i = 0; i < blk->n_succ; i++)
		if (!s->in_loop[blk->succ[i]])
			return &s->g->f->body.at[blk->end - 1];
	return NULL;
}

/* Another way out is sure to be taken at last. */
static bool is_bounded(struct search *s)
{
	for (uint32_t b = 0; b < s->g->n && !s->error; b++) {
		const struct ptx_stmt *branch = way_out(s, b);

		if (!branch)
			continue;
		find_slice(s, branch);
		if (!s->loads && mark_progress(s))
			return true;
	}
	return false;
}

static bool loop_waits(struct search *s)
{
	bool plain = false;

	for (uint32_t b = 0; b < s->g->n && !s->error; b++) {
		const struct ptx_stmt *branch = way_out(s, b);

		if (!branch)
			continue;
		find_slice(s, branch);
		if (!s->loads)
			continue;
		mark_progress(s);
		if (!goes_round(s, b))
			continue;
		if (s->observes)
			return true;
		plain = true;
	}
	return plain && !is_bounded(s);
}

/* The natural loop of a header; false when the block is none. */
static bool find_loop(struct search *s, uint32_t header)
{
	const struct cfg *g = s->g;
	uint32_t depth = 0;

	if (g->at[header].order == CFG_NONE)
		return false;
	memset(s->in_loop, 0, g->n);
	for (uint32_t i = 0; i < g->at[header].n_pred; i++) {
		uint32_t latch = g->at[header].pred[i];

		if (g->at[latch].order == CFG_NONE || !cfg_dominates(g, header, latch))
			continue;
		s->in_loop[header] = 1;
		if (!s->in_loop[latch]) {
			s->in_loop[latch] = 1;
			s->stack[depth++] = latch;
		}
	}
	while (depth) {
		const struct cfg_block *b = &g->at[s->stack[--depth]];

		for (uint32_t i = 0; i < b->n_pred; i++)
			if (!s->in_loop[b->pred[i]] && g->at[b->pred[i]].order != CFG_NONE) {
				s->in_loop[b->pred[i]] = 1;
				s->stack[depth++] = b->pred[i];
			}
	}
	return s->in_loop[header];
}

static int search_func(struct pass_facts *facts, const struct cfg *g, bool observes)
{
	struct search s = {.facts = facts, .g = g};
	size_t regs = g->f->regs.len;
	bool found = g->irreducible && observes;

	s.in_loop = calloc(g->n, 1);
	s.progress = calloc(g->n, 1);
	s.seen = calloc(g->n, 1);
	s.in_slice = calloc(regs + 1, 1);
	s.state = calloc(regs + 1, 1);
	s.stack = calloc(MAX((size_t)g->n, regs) + 1, sizeof(*s.stack));
	if (!s.in_loop || !s.progress || !s.seen || !s.in_slice || !s.state || !s.stack)
		s.error = -ENOMEM;
	for (s.stmt = 0; s.stmt < g->f->body.len && !s.error; s.stmt++)
		ptx_visit_regs(g->f, &g->f->body.at[s.stmt], note_def, &s);
	if (s.n_defs)
		qsort(s.defs, s.n_defs, sizeof(*s.defs), by_reg);
	for (uint32_t b = 0; b < g->n && !found && !s.error; b++)
		found = find_loop(&s, b) && loop_waits(&s);
	facts->rising_order |= found;
	VEC_FREE(&s.slice);
	free(s.defs);
	free(s.in_loop);
	free(s.progress);
	free(s.seen);
	free(s.in_slice);
	free(s.state);
	free(s.stack);
	return s.error;
}

int pass_find_rising(struct pass_facts *facts)
{
	int r = search_func(facts, facts->g, facts->callees.at[0].observes);

	for (size_t i = 1; r == 0 && i < facts->callees.len; i++) {
		struct cfg *g;

		r = cfg_build(&facts->arena, facts->callees.at[i].f, &g);
		if (r == 0)
			r = search_func(facts, g, facts->callees.at[i].observes);
	}
	return r;
}
