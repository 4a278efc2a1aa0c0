/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Any bytes as PTX: the graph of every function that is read without error holds together. Blocks
 * follow each other without gaps, edges are known at both ends, dominators dominate, and what is
 * live behind a block is what its successors want. */
#include "cfg/cfg.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_BYTES (64u << 20)
#define MAX_BLOCKS  256 /* for what looks at pairs */

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
		/* Of what cannot be reached nothing is said. */
		for (uint32_t w = 0; w < l->words && g->at[b].order != CFG_NONE; w++) {
			uint64_t want = 0;

			for (uint32_t i = 0; i < g->at[b].n_succ; i++)
				want |= l->live_in[g->at[b].succ[i] * l->words + w];
			require(l->live_out[b * l->words + w] == want);
		}
	}
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
		if (cfg_liveness(&a, g, &l) == 0 && cfg_uniformity(&a, g, false, &u) == 0) {
			check_liveness(g, l);
			cfg_dump(g, u, l, &out);
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
