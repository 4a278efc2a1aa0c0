/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the points where code from ptxas makes the lanes of a warp wait for each other. The
 * hardware has convergence barriers, and three instructions for a barrier B:
 * - BSSY B, L records in B the lanes that execute it.
 * - BSYNC B, at L, holds each lane until all lanes recorded in B have arrived there or exited.
 * - BREAK B removes from B a lane that leaves by another path.
 *
 * A lane that waits at a BSYNC does not reach a block barrier. */
#include "converge.h"

#include "cfg/cfg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The rules, derived from SASS (ptxas 13.0, sm_90; control flow graphs of
 * tests/dev/cpu/cases/converge.ptx and answer.ptx, and some fifty more):
 *
 * 1. A branch has a BSSY before it, and a BSYNC at its immediate post-dominator, where all its
 * paths meet again. Branches with the same post-dominator share the barrier. The BSSY of a loop is
 * before the loop. A spin loop on an atomic is no exception: `while (atomicCAS(l, 0, 1));` is "BSSY
 * B0, L; loop: YIELD; ATOMG.CAS; @P0 BRA loop; BSYNC B0; L:". So a lane that has the lock waits for
 * the lanes that want it. If the critical section is inside the loop, the lock works. Branches on
 * kernel parameters have a BSSY too. Apart from rule 4, branches without a BSSY never diverge: they
 * are loops on a value that all lanes load from one address.
 *
 * 2. Paths that end the thread do not count. An early return has no BSYNC: lanes that took another
 * path meet as they would without the return, and do not wait for lanes that exit after it. This
 * also holds for paths that do something before they exit: in `if (a) goto out; …; if (b) goto out;
 * …; return; out: …; return;`, the label out has the BSYNC.
 *
 * 3. The lanes of a function meet before its single RET. A call through a pointer has a BSSY before
 * it and a BSYNC after it.
 *
 * 4. If an aligned barrier (bar.sync) directly depends on a branch, ptxas assumes that the branch
 * is uniform, and it has no BSSY. A barrier without .aligned counts as aligned if it is the
 * function's only barrier that can run after a branch. If other branches meet at the same point,
 * their BSSY is at the immediate dominator of that point. So it also holds lanes that diverge at
 * the first branch.
 *
 * ptxas makes lanes wait at some other points too, but only at points where some of the paths meet.
 * It is not known when it does so, so the virtual GPU does not: code that two early exits share, the
 * end of a loop body with a `continue` and a `break`, and where the backward branch that ends a loop
 * falls through. Such a barrier has its BSSY at the nearest common dominator of the paths that meet,
 * and a BREAK on each path that bypasses it.
 *
 * Compared with the SASS of 400 random graphs of five to eight blocks: in nine of ten graphs, only
 * blocks with a BSYNC are convergence points here. The other graphs have loops with several entries
 * or without an end, or pieces of code that each end the thread. A barrier in a callee does not make
 * the call uniform.
 *
 * Not confirmed on hardware: that a BSYNC never releases lanes for another reason, including locks
 * and chains within a warp. Here it is a deadlock if some lanes of a warp are at a BSYNC and the
 * others at a block barrier. On the H200, earlier versions of answer.ptx showed all three outcomes:
 * a hang (old_barrier), wrong counts (old_count), and the right result if there was only one
 * barrier. In the SASS the barrier of a diverged warp is WARPSYNC.COLLECTIVE.ALL, which seems to
 * include all lanes with their current register contents. */

struct pair {
	uint32_t block, at;
};
typedef VEC(struct pair) pairs;

struct finder {
	const struct ptx_func *f;
	struct cfg *g;
	uint32_t *header_of; /* indexed by blocks that follow the exit block; see real_block */
	uint8_t *seen;       /* scratch, one per block */
	uint8_t *reached;
	uint32_t *stack;
	uint8_t *uniform; /* for each block: its branch is assumed to be uniform */
	uint8_t *is_meet;
	pairs parts;
	bool failed;
};

/* Returns the block where lanes really wait: for a block that stands for back edges, this is the
 * loop's header. */
static uint32_t real_block(const struct finder *w, uint32_t b)
{
	return b > w->g->exit ? w->header_of[b] : b;
}

static void add_pair(struct finder *w, pairs *to, uint32_t block, uint32_t at)
{
	struct pair p = {real_block(w, block), real_block(w, at)};

	if (!VEC_PUSH(to, p))
		w->failed = true;
}

/* ---- finding where all paths meet ---- */

/* Counts, for each block, from how many of the start blocks a path leads to it within one iteration
 * of each loop. Counts stop at 2. */
static void count_ways(struct finder *w, const uint32_t *start, uint32_t n)
{
	const struct cfg *g = w->g;

	memset(w->reached, 0, g->n);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t depth = 0;

		memset(w->seen, 0, g->n);
		if (start[k] < g->exit) {
			w->seen[start[k]] = 1;
			w->stack[depth++] = start[k];
		}
		while (depth) {
			const struct cfg_block *b = &g->at[w->stack[--depth]];

			w->reached[b - g->at] += w->reached[b - g->at] < 2;
			for (uint32_t i = 0; i < b->n_succ; i++) {
				uint32_t s = b->succ[i];

				if (s >= g->exit || w->seen[s])
					continue;
				w->seen[s] = 1;
				w->stack[depth++] = s;
			}
		}
	}
}

/* Returns the block where the paths of the branch meet, not counting paths that end the thread.
 * Returns CFG_NONE if there is no such block or more than one. Used for branches of which some path
 * ends the thread, so that no block is on all paths. */
static uint32_t meet_before_exit(struct finder *w, uint32_t branch)
{
	const struct cfg *g = w->g;
	uint32_t entry = CFG_NONE;

	count_ways(w, g->at[branch].succ, g->at[branch].n_succ);
	for (uint32_t b = 0; b < g->n; b++) {
		bool enters = false;

		if (w->reached[b] < 2)
			continue;
		for (uint32_t i = 0; i < g->at[b].n_pred; i++) {
			uint32_t p = g->at[b].pred[i];

			enters |= p == branch || w->reached[p] == 1;
		}
		if (!enters)
			continue;
		if (entry != CFG_NONE)
			return CFG_NONE;
		entry = b;
	}
	return entry;
}

static bool may_diverge(const struct finder *w, uint32_t b)
{
	return w->g->at[b].n_succ > 1 && w->g->at[b].order != CFG_NONE;
}

static void find_postdoms(struct finder *w)
{
	const struct cfg *g = w->g;

	for (uint32_t b = 0; b < g->exit; b++) {
		uint32_t at = g->at[b].ipdom;

		if (!may_diverge(w, b) || w->uniform[b])
			continue;
		if (at == g->exit && w->f->is_entry)
			at = meet_before_exit(w, b);
		if (at == CFG_NONE || vgpu_only_ends(w->g, at))
			continue;
		add_pair(w, &w->parts, b, at);
		w->is_meet[at] = 1;
	}
	/* Rule 4: adds the branches that are assumed uniform to a later meeting point, for lanes
	 * that diverge at them anyway. */
	for (uint32_t b = 0; b < g->exit; b++) {
		uint32_t at = w->uniform[b] ? g->at[b].ipdom : CFG_NONE;

		while (at != CFG_NONE && !w->is_meet[at])
			at = g->at[at].ipdom;
		if (at != CFG_NONE && cfg_dominates(g, g->at[at].idom, b))
			add_pair(w, &w->parts, b, at);
	}
}

/* ---- finding branches that are assumed uniform ---- */

/* Returns 0 if the block contains no block barrier, 1 for a barrier that diverged lanes can
 * execute, 2 for an aligned barrier. */
static int barrier_kind(const struct finder *w, uint32_t b)
{
	int kind = 0;

	for (uint32_t i = w->g->at[b].first; i < w->g->at[b].end; i++) {
		const struct ptx_stmt *s = &w->f->body.at[i];

		if (s->kind != PTX_INSN || (s->mn->op != PTX_OP_bar && s->mn->op != PTX_OP_barrier))
			continue;
		if (s->mn->op == PTX_OP_bar || ptx_has_mod(s->mn, "aligned"))
			return 2;
		kind = 1;
	}
	return kind;
}

static uint32_t barriers_in(const struct finder *w, uint32_t b)
{
	uint32_t n = 0;

	for (uint32_t i = w->g->at[b].first; i < w->g->at[b].end; i++)
		n += w->f->body.at[i].kind == PTX_INSN && w->f->body.at[i].mn->op == PTX_OP_barrier;
	return n;
}

static uint32_t push_succ(struct finder *w, uint32_t b, uint32_t depth)
{
	for (uint32_t i = 0; i < w->g->at[b].n_succ; i++) {
		uint32_t s = real_block(w, w->g->at[b].succ[i]);

		if (w->seen[s])
			continue;
		w->seen[s] = 1;
		w->stack[depth++] = s;
	}
	return depth;
}

/* Marks in `seen` the blocks that can run after a branch where lanes may diverge. */
static void mark_after_branches(struct finder *w)
{
	uint32_t depth = 0;

	memset(w->seen, 0, w->g->n);
	for (uint32_t b = 0; b < w->g->exit; b++)
		if (may_diverge(w, b))
			depth = push_succ(w, b, depth);
	while (depth) {
		depth--;
		depth = push_succ(w, w->stack[depth], depth);
	}
}

/* Marks as uniform the branches on which the barrier in this block directly depends. */
static void take_uniform(struct finder *w, uint32_t barrier)
{
	const struct cfg *g = w->g;

	for (uint32_t b = 0; b < g->exit; b++) {
		bool some = false, all = true;

		if (!may_diverge(w, b))
			continue;
		for (uint32_t i = 0; i < g->at[b].n_succ; i++) {
			bool leads = cfg_postdominates(g, barrier, real_block(w, g->at[b].succ[i]));

			some |= leads;
			all &= leads;
		}
		w->uniform[b] |= some && !all;
	}
}

static void find_uniform(struct finder *w)
{
	const struct cfg *g = w->g;
	uint32_t single = CFG_NONE, n = 0;

	mark_after_branches(w);
	for (uint32_t b = 0; b < g->exit; b++) {
		int kind = g->at[b].order == CFG_NONE ? 0 : barrier_kind(w, b);

		if (kind == 2) {
			take_uniform(w, b);
		} else if (kind == 1 && w->seen[b]) {
			single = b;
			n += barriers_in(w, b);
		}
	}
	if (n == 1)
		take_uniform(w, single);
}

/* ---- lists ---- */

static int by_block(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->at < y->at ? -1 : x->at != y->at;
}

static bool make_lists(struct arena *a, pairs *from, uint32_t n, struct converge_lists *ret)
{
	uint32_t len = 0;

	ret->first = ARENA_ARRAY(a, uint32_t, n + 1);
	ret->at = ARENA_ARRAY(a, uint32_t, from->len + 1);
	if (!ret->first || !ret->at)
		return false;
	if (from->len)
		qsort(from->at, from->len, sizeof(*from->at), by_block);
	for (uint32_t b = 0, i = 0; b < n; b++) {
		ret->first[b] = len;
		for (; i < from->len && from->at[i].block == b; i++)
			if (len == ret->first[b] || ret->at[len - 1] != from->at[i].at)
				ret->at[len++] = from->at[i].at;
	}
	ret->first[n] = len;
	return true;
}

static int fill_lists(struct arena *a, struct finder *w, struct converge *ret)
{
	uint32_t n = w->g->exit + 1;

	ret->n = n;
	ret->meets = arena_zalloc(a, n);
	if (!ret->meets || !make_lists(a, &w->parts, n, &ret->parts))
		return -ENOMEM;
	for (uint32_t i = 0; i < ret->parts.first[n]; i++)
		ret->meets[ret->parts.at[i]] = 1;
	return 0;
}

int vgpu_find_converge(struct arena *a, const struct ptx_func *f, struct converge *ret)
{
	struct finder w = {.f = f};
	int r = vgpu_converge_graph(a, f, &w.g, &w.header_of);

	if (r)
		return r;
	w.uniform = arena_zalloc(a, w.g->n);
	w.is_meet = arena_zalloc(a, w.g->n);
	if (!w.uniform || !w.is_meet)
		return -ENOMEM;
	w.seen = calloc(w.g->n, 1);
	w.reached = calloc(w.g->n, 1);
	w.stack = calloc(w.g->n, sizeof(*w.stack));
	r = w.seen && w.reached && w.stack ? 0 : -ENOMEM;
	if (!r) {
		find_uniform(&w);
		find_postdoms(&w);
		r = w.failed ? -ENOMEM : fill_lists(a, &w, ret);
	}
	VEC_FREE(&w.parts);
	free(w.stack);
	free(w.reached);
	free(w.seen);
	return r;
}
