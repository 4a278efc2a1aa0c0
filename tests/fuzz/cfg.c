/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Any bytes as PTX: the graph of every function that parses without error is consistent. Blocks
 * follow each other without gaps; an edge is in the lists of both its blocks; dominators fulfil
 * their definition; the blocks that a branch influences nest; and the registers live after a block
 * are those that its successors need, by each function that computes them. */
#include "print_graph.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_BYTES (64u << 20)
#define FEW_BLOCKS  96
#define FEW_REGS    256
#define MAX_BLOCKS  256 /* limit for checks of pairs */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static bool has(const uint32_t *list, uint32_t n, uint32_t what)
{
	for (uint32_t i = 0; i < n; i++)
		if (list[i] == what)
			return true;
	return false;
}

static void check_graph(const struct cfg *g)
{
	uint32_t at = 0;

	require(g->n >= 1 && g->exit == g->n - 1);
	for (uint32_t b = 0; b < g->n; b++) {
		const struct cfg_block *k = &g->at[b];

		require(k->first == at && k->end >= k->first);
		at = k->end;
		for (uint32_t s = k->first; s < k->end; s++)
			require(g->block_of[s] == b);
		for (uint32_t i = 0; i < k->n_succ; i++) {
			require(k->succ[i] < g->n);
			require(has(g->at[k->succ[i]].pred, g->at[k->succ[i]].n_pred, b));
		}
		require(k->idom == CFG_NONE || cfg_dominates(g, k->idom, b));
		require(k->ipdom == CFG_NONE || cfg_postdominates(g, k->ipdom, b));
	}
	require(at == g->f->body.len);
}

static void check_liveness(const struct cfg *g, const struct cfg_liveness *l)
{
	for (uint32_t b = 0; b < g->n; b++) {
		/* Unreachable blocks have no liveness. */
		for (uint32_t w = 0; w < l->words && g->at[b].order != CFG_NONE; w++) {
			uint64_t want = 0;

			for (uint32_t i = 0; i < g->at[b].n_succ; i++)
				want |= l->live_in[g->at[b].succ[i] * l->words + w];
			require(l->live_out[b * l->words + w] == want);
		}
	}
}

/* Marks the blocks that are reachable from a block without passing through `without`. */
static void reach(const struct cfg *g, uint32_t from, uint32_t without, bool backwards, bool *seen)
{
	uint32_t stack[FEW_BLOCKS], depth = 0;

	memset(seen, 0, g->n * sizeof(*seen));
	if (from == without)
		return;
	seen[from] = true;
	stack[depth++] = from;
	while (depth) {
		const struct cfg_block *k = &g->at[stack[--depth]];
		uint32_t n = backwards ? k->n_pred : k->n_succ;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t to = (backwards ? k->pred : k->succ)[i];

			if (to != without && !seen[to]) {
				seen[to] = true;
				stack[depth++] = to;
			}
		}
	}
}

/* By definition: without the dominator, the dominated block is not reachable. */
static void check_dominators(const struct cfg *g, bool backwards)
{
	uint32_t root = backwards ? g->exit : 0;
	bool all[FEW_BLOCKS], seen[FEW_BLOCKS];

	reach(g, root, CFG_NONE, backwards, all);
	for (uint32_t a = 0; a < g->n; a++) {
		reach(g, root, a, backwards, seen);
		for (uint32_t b = 0; b < g->n; b++) {
			uint32_t up = backwards ? g->at[b].ipdom : g->at[b].idom;
			bool says = backwards ? cfg_postdominates(g, a, b) : cfg_dominates(g, a, b);
			bool is = a == b || (all[a] && all[b] && !seen[b]);

			require(says == is);
			require(up != CFG_NONE || b == root || !all[b]);
			require(!is || a == b ||
				(backwards ? cfg_postdominates(g, a, up)
					   : cfg_dominates(g, a, up)));
		}
	}
}

/* If a branch influences a block, it also influences the blocks that this block influences. */
static void check_influence(const struct cfg *g)
{
	uint32_t outer[FEW_BLOCKS], inner[FEW_BLOCKS], seen[FEW_BLOCKS] = {0},
						       mine[FEW_BLOCKS] = {0};
	uint32_t mark = 0;

	for (uint32_t b = 0; b < g->n; b++) {
		uint32_t n = cfg_influence(g, b, outer, seen, b + 1);

		for (uint32_t i = 0; i < n; i++) {
			uint32_t within = cfg_influence(g, outer[i], inner, mine, ++mark);

			for (uint32_t k = 0; k < within; k++)
				require(seen[inner[k]] == b + 1);
		}
	}
}

static void check_spans(const struct cfg *g, const struct cfg_liveness *l)
{
	struct cfg_spans *s;

	if (cfg_spans_find(g, &s) < 0)
		return;
	for (uint32_t b = 0; b < g->n; b++) {
		for (uint32_t reg = 0; reg < g->f->regs.len && g->at[b].order != CFG_NONE; reg++)
			require(cfg_live_in(s, reg, b) ==
				(l->live_in[(size_t)b * l->words + reg / 64] >> reg % 64 & 1));
	}
	cfg_spans_free(s);
}

static void look_at(const struct ptx_func *f)
{
	struct cfg_liveness *l;
	struct cfg_uniformity *u;
	struct strbuf out = {0};
	struct arena a;
	struct cfg *g;

	arena_init(&a, LIMIT_BYTES);
	if (cfg_build(&a, f, &g) == 0 && g->n <= MAX_BLOCKS) {
		check_graph(g);
		if (g->n <= FEW_BLOCKS) {
			check_dominators(g, false);
			check_dominators(g, true);
			check_influence(g);
		}
		if (cfg_liveness(&a, g, &l) == 0 && cfg_uniformity(&a, g, 0, NULL, &u) == 0) {
			check_liveness(g, l);
			if (g->n <= FEW_BLOCKS && f->regs.len <= FEW_REGS)
				check_spans(g, l);
			print_graph(g, u, l, &out);
		}
	}
	strbuf_finish(&out);
	arena_finish(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct diag_list d;
	struct ptx_module *m;
	struct arena a;

	arena_init(&a, LIMIT_BYTES);
	diag_init(&d, &a, "fuzz", (const char *)data, len);
	if (ptx_parse((const char *)data, len, LIMIT_BYTES, &d, &m) == 0) {
		for (size_t i = 0; !d.errors && i < m->items.len; i++) {
			struct cfg_demand demand;

			if (m->items.at[i].kind != PTX_ITEM_FUNC || !m->items.at[i].func->has_body)
				continue;
			look_at(m->items.at[i].func);
			cfg_demand(m, m->items.at[i].func, &demand);
		}
		ptx_module_free(m);
	}
	arena_finish(&a);
	return 0;
}
