/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks the order of barriers in woven forms (GoPTX, figure 9). If one warp reaches a barrier of
 * the first kernel before one of the second, and another warp does the opposite, both wait forever.
 * So the barriers must come in the same order on all paths. The order may differ only if all
 * threads of the entry meet in between. */
#include "pass/verify/verify_private.h"

#include <stdlib.h>

struct order {
	struct verify *v;
	uint8_t *seen;
	VEC(uint32_t) todo;
	/* for each kernel: whether a call may reach a barrier */
	const bool *calls_barrier;
	/* for each kernel: index of a reachable barrier of that kernel, or NONE */
	uint32_t found[CTL_MAX_MERGED];
};

static bool waits(const struct order *o, uint32_t at, unsigned *ret_k)
{
	const struct ptx_stmt *s = &o->v->r->f->body.at[at];
	struct verify_pair *p;

	if (s->kind != PTX_INSN || !(s->mn->flags & (PTX_F_BARRIER | PTX_F_CALL)))
		return false;
	p = verify_owner(o->v, at);
	if (!p || (s->mn->flags & PTX_F_CALL && !o->calls_barrier[p->k]))
		return false;
	*ret_k = p->k;
	return true;
}

/* Returns whether the statement is an added barrier, which belongs to no kernel, for all
 * threads. */
static bool is_fence(const struct order *o, uint32_t at)
{
	const struct ptx_stmt *s = &o->v->r->f->body.at[at];

	return s->kind == PTX_INSN && s->mn->flags & PTX_F_BARRIER && s->n == 1 &&
	       s->guard == PTX_NO_REG && !verify_owner(o->v, at);
}

static void add_ways(struct order *o, uint32_t block)
{
	const struct cfg *g = o->v->host;

	for (uint32_t i = 0; i < g->at[block].n_succ; i++) {
		uint32_t next = g->at[block].succ[i];

		if (o->seen[next])
			continue;
		o->seen[next] = 1;
		if (!VEC_PUSH(&o->todo, next))
			o->v->failed = true;
	}
}

static void search_stmts(struct order *o, uint32_t at, uint32_t block)
{
	const struct cfg *g = o->v->host;
	unsigned k = 0;

	for (; at < g->at[block].end; at++) {
		if (is_fence(o, at))
			return;
		if (waits(o, at, &k) && o->found[k] == NONE)
			o->found[k] = at;
	}
	add_ways(o, block);
}

/* Finds, for each kernel, a barrier that control can reach after a barrier of kernel k. */
static void search_from(struct order *o, unsigned k)
{
	const struct cfg *g = o->v->host;
	unsigned by = 0;

	for (unsigned i = 0; i < CTL_MAX_MERGED; i++)
		o->found[i] = NONE;
	for (uint32_t b = 0; b < g->n; b++)
		o->seen[b] = 0;
	for (uint32_t b = 0; b < g->n; b++)
		for (uint32_t i = g->at[b].first; i < g->at[b].end; i++)
			if (g->at[b].order != CFG_NONE && waits(o, i, &by) && by == k)
				search_stmts(o, i + 1, b);
	while (o->todo.len && !o->v->failed) {
		uint32_t b = o->todo.at[--o->todo.len];

		search_stmts(o, g->at[b].first, b);
	}
}

static bool any_barrier(const struct verify *v, unsigned k)
{
	for (size_t i = 0; i < v->pairs.len; i++) {
		const struct verify_pair *p = v->pairs.at[i];

		for (size_t s = 0; p->k == k && !p->entry && s < p->p->body.len; s++)
			if (p->p->body.at[s].kind == PTX_INSN &&
				p->p->body.at[s].mn->flags & PTX_F_BARRIER)
				return true;
	}
	return false;
}

void verify_order(struct verify *v)
{
	uint32_t behind[CTL_MAX_MERGED][CTL_MAX_MERGED];
	bool calls[CTL_MAX_MERGED] = {0};
	struct order o = {.v = v, .calls_barrier = calls, .seen = calloc(v->host->n, 1)};

	v->failed |= !o.seen;
	for (unsigned k = 0; k < v->r->n; k++)
		calls[k] = any_barrier(v, k);
	for (unsigned k = 0; k < v->r->n && !v->failed; k++) {
		search_from(&o, k);
		for (unsigned j = 0; j < v->r->n; j++)
			behind[k][j] = o.found[j];
	}
	for (unsigned k = 0; k < v->r->n && !v->failed; k++)
		for (unsigned j = 0; j < k; j++)
			if (behind[k][j] != NONE && behind[j][k] != NONE)
				verify_tell(v->pairs.at[k], PASS_RULE_BARRIERS, behind[j][k],
					v->pairs.at[k]->of[behind[j][k]],
					"`%s` comes after a barrier of kernel '%.200s' on one "
					"path, and before one on another path",
					verify_text(v->pairs.at[k], v->r->f, behind[j][k]),
					v->kernel[j].from->name);
	free(o.seen);
	VEC_FREE(&o.todo);
}
