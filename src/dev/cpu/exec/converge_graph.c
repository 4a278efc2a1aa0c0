/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Builds the graph in which converge.c finds meeting points: the control flow of a function without
 * paths that only end the thread, and without cycles. All back edges of a loop lead to an extra
 * block instead of the loop's header. From that block an edge leads to every exit of the loop. So
 * lanes that repeat the loop can leave it by any exit, but do not reach another block of the
 * current iteration. */
#include "converge.h"

#include "cfg/cfg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct edge {
	uint32_t from, to;
};

struct maker {
	struct cfg *g;
	uint8_t *seen; /* scratch, one per block */
	uint32_t *stack;
	VEC(struct edge) dropped;
};

/* ---- blocks that end a thread ---- */

/* Returns true if leaving the function at this block ends the thread. */
static bool ends_thread(const struct cfg *g, uint32_t b)
{
	const struct cfg_block *blk = &g->at[b];
	const struct ptx_stmt *s = blk->end > blk->first ? &g->f->body.at[blk->end - 1] : NULL;

	if (g->f->is_entry)
		return true;
	return s && s->kind == PTX_INSN && s->mn->flags & PTX_F_EXIT && s->mn->op != PTX_OP_ret;
}

bool vgpu_only_ends(const struct cfg *g, uint32_t b)
{
	const struct cfg_block *blk = &g->at[b];

	if (b >= g->exit)
		return b == g->exit && g->f->is_entry;
	if (!ends_thread(g, b) || blk->n_succ != 1 || blk->succ[0] != g->exit)
		return false;
	for (uint32_t i = blk->first; i + 1 < blk->end; i++)
		if (g->f->body.at[i].kind == PTX_INSN)
			return false;
	return true;
}

static void remove_from(uint32_t *at, uint32_t *n, uint32_t value)
{
	for (uint32_t i = 0; i < *n; i++) {
		if (at[i] != value)
			continue;
		at[i] = at[--*n];
		return;
	}
}

static uint32_t push_unseen(struct maker *w, const uint32_t *at, uint32_t n, uint32_t depth)
{
	for (uint32_t i = 0; i < n; i++) {
		if (w->seen[at[i]])
			continue;
		w->seen[at[i]] = 1;
		w->stack[depth++] = at[i];
	}
	return depth;
}

/* Restores the dropped exit edges of blocks that cannot reach the end without them. */
static void restore_exits(struct maker *w)
{
	struct cfg *g = w->g;
	uint32_t depth = 0;

	memset(w->seen, 0, g->n);
	w->seen[g->exit] = 1;
	w->stack[depth++] = g->exit;
	while (depth) {
		const struct cfg_block *b = &g->at[w->stack[--depth]];

		depth = push_unseen(w, b->pred, b->n_pred, depth);
	}
	for (size_t i = 0; i < w->dropped.len; i++) {
		uint32_t from = w->dropped.at[i].from, to = w->dropped.at[i].to;

		if (w->seen[from])
			continue;
		g->at[from].succ[g->at[from].n_succ++] = to;
		g->at[to].pred[g->at[to].n_pred++] = from;
	}
}

static bool drop_from(struct maker *w, uint32_t b)
{
	struct cfg *g = w->g;
	uint32_t stay = 0;

	for (uint32_t i = 0; i < g->at[b].n_succ; i++)
		stay += !w->seen[g->at[b].succ[i]];
	for (uint32_t i = g->at[b].n_succ; i-- > 0;) {
		uint32_t s = g->at[b].succ[i];
		bool drop = s == g->exit ? ends_thread(g, b) && (stay || !g->f->is_entry)
					 : w->seen[s] && stay;

		if (!drop)
			continue;
		remove_from(g->at[b].succ, &g->at[b].n_succ, s);
		remove_from(g->at[s].pred, &g->at[s].n_pred, b);
		if (!VEC_PUSH(&w->dropped, (struct edge){b, s}))
			return false;
	}
	return true;
}

/* Drops edges to blocks that only end the thread. A kernel's last exits stay, because otherwise the
 * graph would have no end, and post-dominators would not exist. */
static int drop_exits(struct maker *w)
{
	struct cfg *g = w->g;

	for (uint32_t b = 0; b < g->exit; b++)
		w->seen[b] = vgpu_only_ends(g, b);
	w->seen[g->exit] = 1;
	for (uint32_t b = 0; b < g->exit; b++)
		if (!drop_from(w, b))
			return -ENOMEM;
	if (g->f->is_entry)
		restore_exits(w);
	return cfg_relink(g);
}

/* ---- loops ---- */

static bool goes_back(const struct cfg *g, uint32_t from, uint32_t header)
{
	return g->at[from].order != CFG_NONE && cfg_dominates(g, header, from);
}

/* Marks the blocks of the loop with this header. Returns false if no back edge leads to the
 * block. */
static bool mark_loop(struct maker *w, uint32_t header)
{
	const struct cfg *g = w->g;
	uint32_t depth = 0;
	bool any = false;

	memset(w->seen, 0, g->n);
	w->seen[header] = 1;
	for (uint32_t i = 0; i < g->at[header].n_pred; i++) {
		uint32_t p = g->at[header].pred[i];

		if (!goes_back(g, p, header))
			continue;
		any = true;
		depth = push_unseen(w, &p, 1, depth);
	}
	while (depth) {
		const struct cfg_block *b = &g->at[w->stack[--depth]];

		for (uint32_t i = 0; i < b->n_pred; i++)
			if (g->at[b->pred[i]].order != CFG_NONE)
				depth = push_unseen(w, &b->pred[i], 1, depth);
	}
	return any;
}

/* Makes the exits of the marked loop the successors of `latch`. */
static int exits_of(struct maker *w, struct arena *a, struct cfg_block *latch)
{
	const struct cfg *g = w->g;
	uint32_t n = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t b = 0; b < g->exit; b++)
			for (uint32_t i = 0; w->seen[b] == 1 && i < g->at[b].n_succ; i++) {
				uint32_t s = g->at[b].succ[i];

				if (w->seen[s] == 1 || (pass && w->seen[s] == 2))
					continue;
				if (pass) {
					w->seen[s] = 2;
					latch->succ[latch->n_succ++] = s;
				}
				n++;
			}
		if (!pass)
			latch->succ = ARENA_ARRAY(a, uint32_t, n + 1);
		if (!latch->succ)
			return -ENOMEM;
	}
	return 0;
}

static void redirect_back_edge(struct cfg *g, uint32_t from, uint32_t header, uint32_t latch)
{
	for (uint32_t i = 0; i < g->at[from].n_succ; i++)
		if (g->at[from].succ[i] == header)
			g->at[from].succ[i] = latch;
}

static int count_preds(struct arena *a, struct cfg *g)
{
	for (uint32_t b = 0; b < g->n; b++)
		g->at[b].n_pred = 0;
	for (uint32_t b = 0; b < g->n; b++)
		for (uint32_t i = 0; i < g->at[b].n_succ; i++)
			g->at[g->at[b].succ[i]].n_pred++;
	for (uint32_t b = 0; b < g->n; b++) {
		g->at[b].pred = ARENA_ARRAY(a, uint32_t, g->at[b].n_pred + 1);
		if (!g->at[b].pred)
			return -ENOMEM;
		g->at[b].n_pred = 0;
	}
	for (uint32_t b = 0; b < g->n; b++)
		for (uint32_t i = 0; i < g->at[b].n_succ; i++) {
			struct cfg_block *s = &g->at[g->at[b].succ[i]];

			s->pred[s->n_pred++] = b;
		}
	return 0;
}

/* Adds a block for the back edges of each loop. header_of maps each added block to its loop's
 * header. */
static int open_loops(struct maker *w, struct arena *a, uint32_t *header_of)
{
	struct cfg *g = w->g, t = *g;
	int r = 0;

	t.at = ARENA_ARRAY(a, struct cfg_block, g->n * 2);
	if (!t.at)
		return -ENOMEM;
	for (uint32_t h = 0; h < g->exit && !r; h++) {
		if (g->at[h].order == CFG_NONE || !mark_loop(w, h))
			continue;
		t.at[t.n] = (struct cfg_block){
			.first = (uint32_t)g->f->body.len, .end = (uint32_t)g->f->body.len};
		header_of[t.n] = h;
		r = exits_of(w, a, &t.at[t.n]);
		t.n++;
	}
	if (r)
		return r;
	memcpy(t.at, g->at, g->n * sizeof(*t.at));
	/* Redirects the back edges of the loop itself, and those of inner loops to its header. */
	for (uint32_t k = g->n; k < t.n; k++)
		for (uint32_t b = 0; b < t.n; b++)
			if (goes_back(g, b < g->n ? b : header_of[b], header_of[k]) && b != k)
				redirect_back_edge(&t, b, header_of[k], k);
	r = count_preds(a, &t);
	*g = t;
	return r ? r : cfg_relink(g);
}

int vgpu_converge_graph(
	struct arena *a, const struct ptx_func *f, struct cfg **ret, uint32_t **ret_header_of)
{
	struct maker w = {0};
	int r = cfg_build(a, f, &w.g);

	if (r)
		return r;
	*ret = w.g;
	*ret_header_of = ARENA_ARRAY(a, uint32_t, w.g->n * 2);
	w.seen = calloc(w.g->n, 1);
	w.stack = calloc(w.g->n, sizeof(*w.stack));
	r = w.seen && w.stack && *ret_header_of ? drop_exits(&w) : -ENOMEM;
	if (!r)
		r = open_loops(&w, a, *ret_header_of);
	VEC_FREE(&w.dropped);
	free(w.stack);
	free(w.seen);
	return r;
}
