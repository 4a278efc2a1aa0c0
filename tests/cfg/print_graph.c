/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prints a graph as text. The format is stable: one line per block, then
 * lines for registers and for the whole graph. A block's name is its number, followed by the source
 * line of its first statement. */
#include "print_graph.h"

static const char *const level_names[] = {"divergent", "warp", "block"};

static void put_block(struct strbuf *out, const char *what, uint32_t b)
{
	if (b == CFG_NONE)
		strbuf_printf(out, " %s -", what);
	else
		strbuf_printf(out, " %s b%u", what, b);
}

static void dump_block(
	const struct cfg *g, const struct cfg_uniformity *u, uint32_t b, struct strbuf *out)
{
	const struct cfg_block *blk = &g->at[b];

	strbuf_printf(out, "b%u", b);
	if (b == g->exit)
		strbuf_puts(out, " end");
	else if (blk->first < blk->end)
		strbuf_printf(out, " line %u", g->f->body.at[blk->first].line);
	strbuf_puts(out, " ->");
	for (uint32_t i = 0; i < blk->n_succ; i++)
		strbuf_printf(out, " b%u", blk->succ[i]);
	if (blk->order == CFG_NONE)
		strbuf_puts(out, " unreachable");
	put_block(out, "idom", blk->idom);
	put_block(out, "ipdom", blk->ipdom);
	if (blk->loop_header != CFG_NONE)
		strbuf_printf(out, " loop b%u", blk->loop_header);
	if (u)
		strbuf_printf(out, " %s", level_names[u->block[b]]);
	strbuf_puts(out, "\n");
}

void print_graph(const struct cfg *g, const struct cfg_uniformity *u, const struct cfg_liveness *l,
	struct strbuf *out)
{
	char name[128];

	for (uint32_t b = 0; b < g->n; b++)
		dump_block(g, u, b, out);
	for (uint32_t r = 0; u && r < g->f->regs.len; r++)
		if (u->reg[r] != CFG_BLOCK_UNIFORM)
			strbuf_printf(out, "%s %s\n", ptx_reg_name(g->f, r, name, sizeof(name)),
				level_names[u->reg[r]]);
	if (l)
		strbuf_printf(out, "live %u b32, %u pred\n", l->max_live_b32, l->max_live_pred);
	if (g->irreducible)
		strbuf_puts(out, "irreducible\n");
	if (g->has_indirect)
		strbuf_puts(out, "indirect\n");
}
