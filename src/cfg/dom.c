/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Dominators and post-dominators, by the iteration of Cooper, Harvey and Kennedy over a postorder.
 * Blocks from which the end cannot be reached (endless loops) have no post-dominator. */
#include "cfg/cfg_private.h"

#include <errno.h>
#include <stdlib.h>

struct tree {
	const uint32_t *number; /* postorder number of a block */
	uint32_t *parent;       /* the root is its own parent while the tree grows */
};

static uint32_t meet(const struct tree *t, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (t->number[a] < t->number[b])
			a = t->parent[a];
		while (t->number[b] < t->number[a])
			b = t->parent[b];
	}
	return a;
}

static bool refine(
	const struct cfg *g, const struct cfg_order *post, struct tree *t, bool backwards)
{
	bool changed = false;

	for (uint32_t i = post->n - 1; i-- > 0;) {
		uint32_t b = post->at[i], best = CFG_NONE;
		const struct cfg_block *blk = &g->at[b];
		uint32_t n = backwards ? blk->n_succ : blk->n_pred;
		const uint32_t *from = backwards ? blk->succ : blk->pred;

		for (uint32_t k = 0; k < n; k++)
			if (t->parent[from[k]] != CFG_NONE)
				best = best == CFG_NONE ? from[k] : meet(t, best, from[k]);
		if (t->parent[b] != best) {
			t->parent[b] = best;
			changed = true;
		}
	}
	return changed;
}

/* The root's parent is CFG_NONE in the result. */
static int grow(const struct cfg *g, const struct cfg_order *post, bool backwards, uint32_t *parent)
{
	uint32_t *number = calloc(g->n, sizeof(*number));
	uint32_t root = post->at[post->n - 1];
	struct tree t = {number, parent};

	if (!number)
		return -ENOMEM;
	for (uint32_t b = 0; b < g->n; b++)
		parent[b] = CFG_NONE;
	for (uint32_t i = 0; i < post->n; i++)
		number[post->at[i]] = i;
	parent[root] = root;
	while (refine(g, post, &t, backwards))
		;
	parent[root] = CFG_NONE;
	free(number);
	return 0;
}

int cfg_find_dominators(struct cfg *g, const struct cfg_order *post)
{
	uint32_t *parent = calloc(g->n, sizeof(*parent));
	struct cfg_order back = {0};
	int r = parent ? grow(g, post, false, parent) : -ENOMEM;

	for (uint32_t b = 0; r == 0 && b < g->n; b++)
		g->at[b].idom = parent[b];
	if (r == 0)
		r = cfg_walk(g, g->exit, true, &back);
	if (r == 0)
		r = grow(g, &back, true, parent);
	for (uint32_t b = 0; r == 0 && b < g->n; b++)
		g->at[b].ipdom = parent[b];
	free(back.at);
	free(parent);
	return r;
}

int cfg_relink(struct cfg *g)
{
	struct cfg_order post;
	int r = cfg_walk(g, 0, false, &post);

	if (r)
		return r;
	for (uint32_t b = 0; b < g->n; b++)
		g->at[b].order = CFG_NONE;
	for (uint32_t i = 0; i < post.n; i++)
		g->at[post.at[i]].order = post.n - 1 - i;
	r = cfg_find_dominators(g, &post);
	free(post.at);
	return r;
}

bool cfg_dominates(const struct cfg *g, uint32_t a, uint32_t b)
{
	while (b != a && b != CFG_NONE)
		b = g->at[b].idom;
	return b == a;
}

bool cfg_postdominates(const struct cfg *g, uint32_t a, uint32_t b)
{
	while (b != a && b != CFG_NONE)
		b = g->at[b].ipdom;
	return b == a;
}
