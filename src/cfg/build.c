/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Builds basic blocks, edges, the block order and natural loops. A block begins at a label, or
 * after an instruction that branches or exits. Declarations and braces belong to the block that
 * contains them. Wherever a thread exits or the function returns, an edge leads to one virtual exit
 * block. This block is the last one and has no statements. */
#include "cfg/cfg_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_leaving(const struct ptx_stmt *s)
{
	return s->kind == PTX_INSN && (s->mn->flags & (PTX_F_BRANCH | PTX_F_EXIT));
}

/* Splits the body into blocks of at least one statement each. */
static int cut(struct arena *a, struct cfg *g)
{
	const struct ptx_stmt *s = g->f->body.at;
	size_t len = g->f->body.len;
	uint32_t n = 0;
	bool start = true;

	g->block_of = ARENA_ARRAY(a, uint32_t, len + 1);
	if (!g->block_of)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++) {
		if (start || s[i].kind == PTX_LABEL)
			n++;
		g->block_of[i] = n - 1;
		start = is_leaving(&s[i]);
	}
	if (n == 0)
		n = 1; /* an empty body still has an entry block */
	g->n = n + 1;
	g->exit = n;
	g->at = ARENA_ARRAY(a, struct cfg_block, g->n);
	if (!g->at)
		return -ENOMEM;
	for (uint32_t b = 0; b < g->n; b++)
		g->at[b] = (struct cfg_block){.first = (uint32_t)len,
			.end = (uint32_t)len,
			.idom = CFG_NONE,
			.ipdom = CFG_NONE,
			.order = CFG_NONE,
			.loop_header = CFG_NONE};
	for (size_t i = len; i-- > 0;) {
		g->at[g->block_of[i]].first = (uint32_t)i;
		if (i + 1 == len || g->block_of[i + 1] != g->block_of[i])
			g->at[g->block_of[i]].end = (uint32_t)i + 1;
	}
	return 0;
}

/* The block of each label, sorted by the address of the label's symbol. */
struct place {
	const struct ptx_sym *label;
	uint32_t block;
};

static int by_label(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (uintptr_t)x->label < (uintptr_t)y->label ? -1 : x->label != y->label;
}

struct places {
	struct place *at;
	size_t n;
};

static int find_labels(const struct cfg *g, struct places *ret)
{
	const struct ptx_func *f = g->f;

	ret->at = calloc(f->body.len + 1, sizeof(*ret->at));
	if (!ret->at)
		return -ENOMEM;
	for (size_t i = 0; i < f->body.len; i++)
		if (f->body.at[i].kind == PTX_LABEL)
			ret->at[ret->n++] = (struct place){f->body.at[i].sym, g->block_of[i]};
	qsort(ret->at, ret->n, sizeof(*ret->at), by_label);
	return 0;
}

static uint32_t block_of_label(const struct places *p, const struct ptx_sym *label)
{
	struct place key = {label, 0}, *hit = bsearch(&key, p->at, p->n, sizeof(key), by_label);

	return label && hit ? hit->block : CFG_NONE;
}

/* Adds a successor to a block's list `to` unless it is there already, and returns the new length.
 * If `to` is NULL, only counts, without removing duplicates. */
static uint32_t add_unique(uint32_t *to, uint32_t n, uint32_t block)
{
	for (uint32_t i = 0; to && i < n; i++)
		if (to[i] == block)
			return n;
	if (to)
		to[n] = block;
	return n + 1;
}

static uint32_t table_targets(
	struct cfg *g, const struct places *p, const struct ptx_stmt *s, uint32_t *to)
{
	const struct ptx_sym *table =
		s->n > 1 && s->opd[1].kind == PTX_OPD_SYM ? s->opd[1].sym : NULL;
	uint32_t n = 0;

	if (table && table->targets) {
		for (uint32_t i = 0; i < table->n_targets; i++) {
			const struct ptx_opd *o = &table->targets[i];
			uint32_t b = o->kind == PTX_OPD_SYM ? block_of_label(p, o->sym) : CFG_NONE;

			if (b == CFG_NONE)
				g->has_indirect = true;
			else
				n = add_unique(to, n, b);
		}
	} else {
		g->has_indirect = true;
	}
	if (!g->has_indirect)
		return n;
	n = 0; /* every label counts as a target */
	for (size_t i = 0; i < p->n; i++)
		n = add_unique(to, n, p->at[i].block);
	return n;
}

static uint32_t successors(struct cfg *g, const struct places *p, uint32_t b, uint32_t *to)
{
	const struct cfg_block *blk = &g->at[b];
	const struct ptx_stmt *s = blk->end > blk->first ? &g->f->body.at[blk->end - 1] : NULL;
	uint32_t n = 0, target;

	if (b == g->exit)
		return 0;
	if (!s || !is_leaving(s))
		/* the last real block falls through to the exit block */
		return add_unique(to, 0, b + 1);
	if (s->mn->flags & PTX_F_EXIT) {
		n = add_unique(to, n, g->exit);
	} else if (s->mn->op == PTX_OP_brx) {
		n = table_targets(g, p, s, to);
	} else {
		target = s->n && s->opd[0].kind == PTX_OPD_SYM ? block_of_label(p, s->opd[0].sym)
							       : CFG_NONE;
		if (target == CFG_NONE)
			g->has_indirect = true;
		else
			n = add_unique(to, n, target);
	}
	if (s->guard != PTX_NO_REG) {
		g->at[b].ends_predicated = true;
		n = add_unique(to, n, b + 1);
	}
	return n;
}

static int link_blocks(struct arena *a, struct cfg *g, const struct places *p)
{
	uint32_t *fill = ARENA_ARRAY(a, uint32_t, g->n);

	if (!fill)
		return -ENOMEM;
	for (uint32_t b = 0; b < g->n; b++) {
		uint32_t n = successors(g, p, b, NULL);

		g->at[b].succ = ARENA_ARRAY(a, uint32_t, n + 1);
		if (!g->at[b].succ)
			return -ENOMEM;
		g->at[b].n_succ = successors(g, p, b, g->at[b].succ);
		for (uint32_t i = 0; i < g->at[b].n_succ; i++)
			g->at[g->at[b].succ[i]].n_pred++;
	}
	for (uint32_t b = 0; b < g->n; b++) {
		g->at[b].pred = ARENA_ARRAY(a, uint32_t, g->at[b].n_pred + 1);
		if (!g->at[b].pred)
			return -ENOMEM;
	}
	for (uint32_t b = 0; b < g->n; b++)
		for (uint32_t i = 0; i < g->at[b].n_succ; i++) {
			uint32_t s = g->at[b].succ[i];

			g->at[s].pred[fill[s]++] = b;
		}
	return 0;
}

/* Walks the graph depth first, without recursion because a body can have any number of blocks. *ret
 * lists the blocks that the walk reached in postorder. */
int cfg_walk(const struct cfg *g, uint32_t start, bool backwards, struct cfg_order *ret)
{
	struct frame {
		uint32_t block, next;
	} *stack = calloc(g->n, sizeof(*stack));
	uint8_t *seen = calloc(g->n, 1);
	uint32_t *post = calloc(g->n, sizeof(*post));
	uint32_t depth = 0, n = 0;

	if (!stack || !seen || !post) {
		free(stack);
		free(seen);
		free(post);
		return -ENOMEM;
	}
	stack[depth++].block = start;
	seen[start] = 1;
	while (depth) {
		struct frame *fr = &stack[depth - 1];
		const struct cfg_block *b = &g->at[fr->block];
		uint32_t n_next = backwards ? b->n_pred : b->n_succ;
		uint32_t next;

		if (fr->next == n_next) {
			post[n++] = fr->block;
			depth--;
			continue;
		}
		next = (backwards ? b->pred : b->succ)[fr->next++];
		if (!seen[next]) {
			seen[next] = 1;
			stack[depth++] = (struct frame){next, 0};
		}
	}
	free(stack);
	free(seen);
	*ret = (struct cfg_order){post, n};
	return 0;
}

/* Returns the header of the outermost loop found so far that contains the block, or the block
 * itself if there is none. outer[] links each block to the header of a loop around it. The function
 * shortens these chains of links as it follows them, so that later calls take fewer steps. */
static uint32_t outermost(uint32_t *outer, uint32_t block)
{
	while (outer[block] != block) {
		outer[block] = outer[outer[block]];
		block = outer[block];
	}
	return block;
}

/* Marks the blocks of a loop by walking back from the latch (the block with the back edge) to the
 * header. A loop that was found earlier counts as one block, its header. */
static void mark_loop(
	struct cfg *g, uint32_t header, uint32_t latch, uint32_t *stack, uint32_t *outer)
{
	uint32_t depth = 0;

	g->at[header].loop_header = header;
	stack[depth++] = latch;
	while (depth) {
		uint32_t at = outermost(outer, stack[--depth]);
		struct cfg_block *b = &g->at[at];

		if (at == header)
			continue;
		outer[at] = header;
		if (b->loop_header == CFG_NONE)
			b->loop_header = header;
		for (uint32_t i = 0; i < b->n_pred; i++)
			if (g->at[b->pred[i]].order != CFG_NONE)
				stack[depth++] = b->pred[i];
	}
}

/* Finds natural loops. Postorder visits the headers of inner loops before those of outer loops. A
 * block that is already marked keeps its mark, so the mark is that of its innermost loop. */
static int find_loops(struct cfg *g, const struct cfg_order *post)
{
	uint32_t edges = 1;
	uint32_t *stack, *outer = calloc(g->n, sizeof(*outer));

	for (uint32_t b = 0; b < g->n; b++)
		edges += g->at[b].n_pred;
	stack = calloc(edges, sizeof(*stack));
	if (!stack || !outer) {
		free(stack);
		free(outer);
		return -ENOMEM;
	}
	for (uint32_t b = 0; b < g->n; b++)
		outer[b] = b;
	for (uint32_t i = 0; i < post->n; i++) {
		uint32_t h = post->at[i];

		for (uint32_t k = 0; k < g->at[h].n_pred; k++) {
			uint32_t latch = g->at[h].pred[k];

			if (g->at[latch].order == CFG_NONE || g->at[latch].order < g->at[h].order)
				continue;
			if (cfg_dominates(g, h, latch))
				mark_loop(g, h, latch, stack, outer);
			else
				g->irreducible = true;
		}
	}
	free(stack);
	free(outer);
	return 0;
}

int cfg_build(struct arena *a, const struct ptx_func *f, struct cfg **ret)
{
	struct cfg *g = ARENA_NEW(a, struct cfg);
	struct cfg_order post = {0};
	struct places labels = {0};
	int r;

	if (!g)
		return -ENOMEM;
	g->f = f;
	r = cut(a, g);
	if (r == 0)
		r = find_labels(g, &labels);
	if (r == 0)
		r = link_blocks(a, g, &labels);
	if (r == 0)
		r = cfg_walk(g, 0, false, &post);
	if (r == 0) {
		for (uint32_t i = 0; i < post.n; i++)
			g->at[post.at[i]].order = post.n - 1 - i;
		r = cfg_find_dominators(g);
	}
	if (r == 0)
		r = find_loops(g, &post);
	free(labels.at);
	free(post.at);
	if (r == 0)
		*ret = g;
	return r;
}
