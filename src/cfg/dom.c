/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds dominators and post-dominators with the simple algorithm of Lengauer and Tarjan. It numbers
 * blocks in depth-first order, finds each block's semidominator with path compression, and derives
 * the dominators. A block that cannot reach the end (an endless loop) has no post-dominator. */
#include "cfg/cfg_private.h"

#include <errno.h>
#include <stdlib.h>

/* All arrays except `number` are indexed by depth-first number and, except `block`, contain such
 * numbers. */
struct tree {
	const struct cfg *g;
	bool backwards;
	uint32_t n;       /* number of blocks that the walk reached */
	uint32_t *number; /* by block number; CFG_NONE: the walk did not reach the block */
	uint32_t *block, *parent, *semi, *dom;
	uint32_t *ancestor, *label; /* a forest of the processed vertices, with path compression */
	uint32_t *bucket, *next;    /* linked list of the vertices that have this semidominator */
	uint32_t *stack;
};

static uint32_t edges(const struct tree *t, uint32_t b, bool from, const uint32_t **ret)
{
	const struct cfg_block *blk = &t->g->at[b];
	bool pred = t->backwards != from;

	*ret = pred ? blk->pred : blk->succ;
	return pred ? blk->n_pred : blk->n_succ;
}

static void enter(struct tree *t, uint32_t b, uint32_t parent)
{
	uint32_t v = t->n++;

	t->number[b] = v;
	t->block[v] = b;
	t->parent[v] = parent;
	t->semi[v] = t->label[v] = v;
	t->dom[v] = t->ancestor[v] = t->bucket[v] = t->next[v] = CFG_NONE;
}

/* Numbers the blocks in depth-first order. tried[b] counts the edges of block b that were
 * followed. */
static void walk(struct tree *t, uint32_t root, uint32_t *tried)
{
	uint32_t v = 0;

	for (uint32_t b = 0; b < t->g->n; b++) {
		t->number[b] = CFG_NONE;
		tried[b] = 0;
	}
	enter(t, root, CFG_NONE);
	while (v != CFG_NONE) {
		const uint32_t *to;
		uint32_t n = edges(t, t->block[v], false, &to);

		if (tried[v] == n) {
			v = t->parent[v];
		} else if (t->number[to[tried[v]++]] == CFG_NONE) {
			enter(t, to[tried[v] - 1], v);
			v = t->n - 1;
		}
	}
}

/* Returns the vertex with the least semidominator on the path from v up to the root of its tree in
 * the forest. */
static uint32_t best_above(struct tree *t, uint32_t v)
{
	uint32_t depth = 0;

	if (t->ancestor[v] == CFG_NONE)
		return v;
	for (uint32_t x = v; t->ancestor[t->ancestor[x]] != CFG_NONE; x = t->ancestor[x])
		t->stack[depth++] = x;
	while (depth) {
		uint32_t x = t->stack[--depth], up = t->ancestor[x];

		if (t->semi[t->label[up]] < t->semi[t->label[x]])
			t->label[x] = t->label[up];
		t->ancestor[x] = t->ancestor[up];
	}
	return t->label[v];
}

static void find_dominators(struct tree *t)
{
	for (uint32_t v = t->n - 1; v > 0; v--) {
		uint32_t p = t->parent[v], n;
		const uint32_t *from;

		n = edges(t, t->block[v], true, &from);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t u = t->number[from[i]];

			if (u != CFG_NONE)
				t->semi[v] = MIN(t->semi[v], t->semi[best_above(t, u)]);
		}
		t->next[v] = t->bucket[t->semi[v]];
		t->bucket[t->semi[v]] = v;
		t->ancestor[v] = p;
		for (uint32_t x = t->bucket[p]; x != CFG_NONE; x = t->next[x]) {
			uint32_t u = best_above(t, x);

			t->dom[x] = t->semi[u] < t->semi[x] ? u : p;
		}
		t->bucket[p] = CFG_NONE;
	}
	for (uint32_t v = 1; v < t->n; v++)
		if (t->dom[v] != t->semi[v])
			t->dom[v] = t->dom[t->dom[v]];
}

/* Numbers the dominator tree in depth-first order: the subtree of a vertex has the numbers from
 * first to last. `below` is scratch space that is zero on entry. */
static void number_tree(const struct tree *t, uint32_t *first, uint32_t *last, uint32_t *below)
{
	for (uint32_t v = t->n; v-- > 0;) {
		below[v]++;
		if (v)
			below[t->dom[v]] += below[v];
	}
	for (uint32_t v = 0; v < t->n; v++) {
		uint32_t size = below[v], up = t->dom[v];

		first[v] = v ? first[up] + below[up] : 0;
		last[v] = first[v] + size - 1;
		if (v)
			below[up] += size;
		/* begins at 1 for the vertex itself; then counts the numbers given to its
		 * subtrees */
		below[v] = 1;
	}
}

/* Computes one dominator tree. A block that the walk does not reach is a tree of its own. */
static int find_tree(struct cfg *g, uint32_t root, bool backwards)
{
	size_t n = g->n;
	uint32_t *at = calloc(n * 10, sizeof(*at)), alone;
	struct tree t = {g, backwards, 0, at, at + n, at + 2 * n, at + 3 * n, at + 4 * n,
		at + 5 * n, at + 6 * n, at + 7 * n, at + 8 * n, at + 9 * n};
	uint32_t *first = t.ancestor, *last = t.label, *below = t.bucket;

	if (!at)
		return -ENOMEM;
	walk(&t, root, t.stack);
	find_dominators(&t);
	for (size_t v = 0; v < n; v++)
		below[v] = 0;
	number_tree(&t, first, last, below);
	alone = t.n;
	for (uint32_t b = 0; b < g->n; b++) {
		struct cfg_block *blk = &g->at[b];
		uint32_t v = t.number[b];
		bool reached = v != CFG_NONE;

		*(backwards ? &blk->ipdom : &blk->idom) =
			reached && v ? t.block[t.dom[v]] : CFG_NONE;
		*(backwards ? &blk->pdom_first : &blk->dom_first) = reached ? first[v] : alone;
		*(backwards ? &blk->pdom_last : &blk->dom_last) = reached ? last[v] : alone++;
	}
	free(at);
	return 0;
}

int cfg_find_dominators(struct cfg *g)
{
	int r = find_tree(g, 0, false);

	return r < 0 ? r : find_tree(g, g->exit, true);
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
	r = cfg_find_dominators(g);
	free(post.at);
	return r;
}

bool cfg_dominates(const struct cfg *g, uint32_t a, uint32_t b)
{
	if (a == CFG_NONE || b == CFG_NONE)
		return a == CFG_NONE;
	return g->at[a].dom_first <= g->at[b].dom_first && g->at[b].dom_first <= g->at[a].dom_last;
}

bool cfg_postdominates(const struct cfg *g, uint32_t a, uint32_t b)
{
	if (a == CFG_NONE || b == CFG_NONE)
		return a == CFG_NONE;
	return g->at[a].pdom_first <= g->at[b].pdom_first &&
	       g->at[b].pdom_first <= g->at[a].pdom_last;
}
