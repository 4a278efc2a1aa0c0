/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Control flow and data flow of one function. Everything lives in the arena given. A graph
 * describes the body as it was when built: build it anew after a change. */
#ifndef HEDDLE_CFG_H
#define HEDDLE_CFG_H

#include "ptx/ptx.h"

#define CFG_NONE UINT32_MAX

struct cfg_block {
	uint32_t first, end; /* statements [first, end) of the body */
	uint32_t n_succ, n_pred;
	uint32_t *succ, *pred; /* block numbers; the function's end is block cfg->exit */
	uint32_t idom, ipdom;  /* CFG_NONE: none, or not reachable */
	/* In the trees of these: when a walk enters the block, and the last block below it. */
	uint32_t dom_first, dom_last, pdom_first, pdom_last;
	uint32_t order;       /* reverse postorder; CFG_NONE: unreachable */
	uint32_t loop_header; /* innermost natural loop's header; CFG_NONE: in none */
	bool ends_predicated; /* last instruction is a guarded branch or exit: falls through too */
};

struct cfg {
	const struct ptx_func *f;
	uint32_t n; /* blocks; 0 is the entry, n - 1 a virtual exit without statements */
	uint32_t exit;
	struct cfg_block *at;
	uint32_t *block_of; /* for each statement */
	bool has_indirect;  /* brx without a target list that could be found: edges are missing */
	bool irreducible;
};

int cfg_build(struct arena *a, const struct ptx_func *f, struct cfg **ret);
/* After succ and pred of blocks were changed: their order and dominators anew; loops stay as found.
 */
int cfg_relink(struct cfg *g);
bool cfg_dominates(const struct cfg *g, uint32_t a, uint32_t b);
bool cfg_postdominates(const struct cfg *g, uint32_t a, uint32_t b);

/* ---- liveness: bit sets over dense register numbers, one per block ---- */
struct cfg_liveness {
	uint32_t words;                       /* 64-bit words a set */
	uint64_t *live_in, *live_out;         /* n * words */
	uint32_t max_live_b32, max_live_pred; /* peak demand; 64-bit registers count twice */
};
int cfg_liveness(struct arena *a, const struct cfg *g, struct cfg_liveness **ret);
/* The same for single registers and blocks. */
struct cfg_spans;
int cfg_spans_find(const struct cfg *g, struct cfg_spans **ret);
void cfg_spans_free(struct cfg_spans *s);
bool cfg_live_in(struct cfg_spans *s, uint32_t reg, uint32_t block);

/* ---- uniformity: does a value, or control, differ between threads? ---- */
enum cfg_uniform {
	CFG_DIVERGENT = 0,
	CFG_WARP_UNIFORM = 1,  /* same in all threads of a warp */
	CFG_BLOCK_UNIFORM = 2, /* same in all threads of a block */
};
struct cfg_uniformity {
	uint8_t *reg; /* for each register: meet over its definitions and the control they are under
		       */
	uint8_t *block; /* for each block: threads that reach it do so all together, or some may not
			 */
};
/* What the caller knows, or takes upon itself. */
enum cfg_assume {
	CFG_BLOCKS_1D = 1, /* blocks have only an x extent, so that warps are tid.x / 32 (.reqntid
			      says so by itself; .maxntid bounds only the product) */
	CFG_NO_RACES = 2,  /* what one thread stores in shared memory no other touches but behind a
			      barrier or the like */
};
/* but: of a warp's threads at the end of a block that is set here only those are looked at that go
 * one way; or NULL. */
int cfg_uniformity(struct arena *a, const struct cfg *g, unsigned assume, const bool *but,
	struct cfg_uniformity **ret);
/* The same where the caller knows of registers what the code does not show (ids that now come from
 * memory): given has, for each register, the level that its values have at least, whatever writes
 * them and wherever; CFG_DIVERGENT: nothing is known. */
int cfg_uniformity_given(struct arena *a, const struct cfg *g, unsigned assume, const bool *but,
	const uint8_t *given, struct cfg_uniformity **ret);
/* Lists the blocks from a branch up to where its ways meet again, and returns their number; list
 * and seen hold g->n, and no element of seen is mark yet: those of the list are afterwards. */
uint32_t cfg_influence(
	const struct cfg *g, uint32_t branch, uint32_t *list, uint32_t *seen, uint32_t mark);

/* ---- demand ---- */
struct cfg_demand {
	uint64_t static_shared_bytes; /* with alignment, callees included */
	bool dynamic_shared;
};
void cfg_demand(const struct ptx_module *m, const struct ptx_func *f, struct cfg_demand *ret);
bool cfg_blocks_1d(const struct ptx_func *f); /* .reqntid N, 1, 1 */
/* An estimate of the registers that ptxas gives a thread, without bounds: a multiple of 8 from 16
 * on, 255 at most. Of 374 kernels with ptxas 13.0, 62 % have this multiple of 8, 89 % one at most 8
 * away; the worst estimates are 0.5 and 1.5 times the count. -ENOMEM. */
int cfg_registers(struct arena *a, const struct cfg *g, uint32_t *ret);

/* The graph as text, one line a block and one a register that is not the same in a whole block;
 * u and l may be NULL. */
struct cfg_uniformity;
void cfg_dump(const struct cfg *g, const struct cfg_uniformity *u, const struct cfg_liveness *l,
	struct strbuf *out);

#endif
