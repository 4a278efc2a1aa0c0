/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds exit paths: paths from code that may still reach a barrier implemented as a round
 * (rounds.c) to code that cannot. virtual/emit_tails.c says how they are emitted and why. */
#include "pass/analysis/callees.h"
#include "pass/analysis/find.h"
#include "pass/analysis/parting.h"

#include <errno.h>

#define STATEMENTS_MAX 8192 /* limit for all tails of a kernel together */

struct search {
	struct pass_facts *facts;
	const struct cfg *g;
	/* by basic block: holds: whether the block contains a barrier; ahead: whether code after
	 * the block may reach a barrier */
	uint8_t *holds, *ahead;
	uint32_t *depth; /* for each statement: number of braces that are open there */
	uint32_t *stack; /* worklist of blocks */
};

static bool meets_barrier(const struct search *c, const struct ptx_stmt *s)
{
	const struct pass_callee *callee;

	if (s->kind != PTX_INSN)
		return false;
	if (s->mn->flags & PTX_F_BARRIER)
		return true;
	if (s->mn->op != PTX_OP_call)
		return false;
	callee = pass_called(c->facts, s);
	return !callee || callee->barriers;
}

static void find_barriers(struct search *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->g->f->body.len; i++)
		if (meets_barrier(c, &c->g->f->body.at[i]))
			c->holds[c->g->block_of[i]] = 1;
	for (uint32_t b = 0; b < c->g->n; b++)
		if (c->holds[b])
			c->stack[n++] = b;
	while (n) {
		const struct cfg_block *blk = &c->g->at[c->stack[--n]];

		for (uint32_t i = 0; i < blk->n_pred; i++) {
			uint32_t from = blk->pred[i];

			if (!c->ahead[from] && !c->holds[from])
				c->stack[n++] = from;
			c->ahead[from] = 1;
		}
	}
}

static bool is_tail(const struct search *c, uint32_t b)
{
	return !c->holds[b] && !c->ahead[b];
}

/* Marks in `in` the basic blocks of the exit path that begins with block `to`. `in` must be all 0.
 * Returns the path's number of statements. */
static uint32_t mark_tail(struct search *c, uint32_t to, uint8_t *in)
{
	const struct cfg *g = c->g;
	uint32_t n = 0, left = 0;

	in[to] = 1;
	c->stack[left++] = to;
	while (left) {
		const struct cfg_block *blk = &g->at[c->stack[--left]];

		n += blk->end - blk->first;
		for (uint32_t i = 0; i < blk->n_succ; i++)
			if (!in[blk->succ[i]]) {
				in[blk->succ[i]] = 1;
				c->stack[left++] = blk->succ[i];
			}
	}
	in[g->exit] = 0;
	return n;
}

/* Returns whether the path can be duplicated. The path must not begin inside a scope ({ … } in
 * PTX), because no jump can lead into a scope. */
static bool can_be_copied(const struct search *c, uint32_t to, const uint8_t *in)
{
	const struct cfg *g = c->g;

	if (to != g->exit && c->depth[g->at[to].first])
		return false;
	for (uint32_t b = 0; b < g->n; b++)
		for (uint32_t i = g->at[b].first; in[b] && i < g->at[b].end; i++)
			if (pass_stands_once(&g->f->body.at[i]))
				return false;
	return true;
}

static int add_tail(struct search *c, uint32_t b, uint32_t to, bool falls, uint32_t *n)
{
	struct pass_facts *facts = c->facts;
	uint32_t at = c->g->at[b].end - 1;
	struct pass_tail t = {.at = at, .to = to, .falls = falls};

	if (facts->tails.len == PASS_MAX_TAILS && pass_has(facts, PASS_NO_TAILS))
		return 0; /* the kernel is already rejected, so another path changes nothing */
	t.in = arena_zalloc(&facts->arena, c->g->n);
	if (!t.in)
		return -ENOMEM;
	*n += mark_tail(c, to, t.in);
	if (!can_be_copied(c, to, t.in))
		pass_note(facts, PASS_NO_TAILS, &c->g->f->body.at[at],
			"the code after a path that skips barriers cannot be duplicated");
	if (facts->tails.len == PASS_MAX_TAILS || *n > STATEMENTS_MAX)
		pass_note(facts, PASS_NO_TAILS, &c->g->f->body.at[at],
			"too many paths skip barriers");
	return facts->tails.len < PASS_MAX_TAILS && !VEC_PUSH(&facts->tails, t) ? -ENOMEM : 0;
}

static int search_block(struct search *c, uint32_t b, uint32_t *n)
{
	const struct cfg_block *blk = &c->g->at[b];
	const struct ptx_stmt *s = blk->end > blk->first ? &c->g->f->body.at[blk->end - 1] : NULL;

	if (!c->ahead[b] || blk->n_succ < 2 || !s || s->kind != PTX_INSN)
		return 0;
	if (s->mn->op == PTX_OP_brx) {
		for (uint32_t i = 0; i < blk->n_succ; i++)
			if (is_tail(c, blk->succ[i]))
				pass_note(c->facts, PASS_NO_TAILS, s,
					"one target of an indexed branch skips barriers");
		return 0;
	}
	if (s->guard == PTX_NO_REG)
		return 0;
	/* first the branch target, then the fall-through block */
	for (uint32_t i = 0; i < blk->n_succ; i++)
		if (is_tail(c, blk->succ[i]))
			return add_tail(c, b, blk->succ[i], i > 0, n);
	return 0;
}

int pass_find_tails(struct pass_facts *facts)
{
	const struct cfg *g = facts->g;
	struct search c = {.facts = facts, .g = g};
	uint32_t n = 0, depth = 0;
	int r = 0;

	if (facts->barriers == PASS_BAR_NONE)
		return 0;
	c.holds = arena_zalloc(&facts->arena, g->n);
	c.ahead = arena_zalloc(&facts->arena, g->n);
	c.depth = ARENA_ARRAY(&facts->arena, uint32_t, g->f->body.len + 1);
	c.stack = ARENA_ARRAY(&facts->arena, uint32_t, g->n);
	if (!c.holds || !c.ahead || !c.depth || !c.stack)
		return -ENOMEM;
	for (size_t i = 0; i < g->f->body.len; i++) {
		c.depth[i] = depth;
		depth += g->f->body.at[i].kind == PTX_OPEN;
		depth -= g->f->body.at[i].kind == PTX_CLOSE;
	}
	find_barriers(&c);
	for (uint32_t b = 0; r == 0 && b < g->n; b++)
		if (g->at[b].order != CFG_NONE)
			r = search_block(&c, b, &n);
	return r;
}
