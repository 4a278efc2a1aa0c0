/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Control flow and data flow of one function. All results live in the given arena. A graph
 * describes the body as it was when built; rebuild it after a change. */
#ifndef HEDDLE_CFG_H
#define HEDDLE_CFG_H

#include "ptx/ptx.h"

#define CFG_NONE UINT32_MAX

struct cfg_block {
	uint32_t first, end; /* statements [first, end) of the body */
	uint32_t n_succ, n_pred;
	uint32_t *succ, *pred; /* block numbers; the function's end is block cfg->exit */
	uint32_t idom, ipdom;  /* CFG_NONE: none, or not reachable */
	/* Intervals in the dominator and postdominator trees: the visit number of the block, and
	 * that of the last block below it. */
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
	bool has_indirect;  /* some brx has an unknown target list: edges are missing */
	bool irreducible;
};

int cfg_build(struct arena *a, const struct ptx_func *f, struct cfg **ret);
/* Recomputes order and dominators after succ and pred of blocks changed; loops stay as found. */
int cfg_relink(struct cfg *g);
bool cfg_dominates(const struct cfg *g, uint32_t a, uint32_t b);
bool cfg_postdominates(const struct cfg *g, uint32_t a, uint32_t b);

/* ---- liveness: one bit set per block over dense register numbers ---- */
struct cfg_liveness {
	uint32_t words;                       /* 64-bit words a set */
	uint64_t *live_in, *live_out;         /* n sets of `words` words each */
	uint32_t max_live_b32, max_live_pred; /* peak demand; 64-bit registers count twice */
};
int cfg_liveness(struct arena *a, const struct cfg *g, struct cfg_liveness **ret);
/* The same, computed on demand for single registers and blocks. */
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
	uint8_t *reg;   /* per register: meet over its definitions and their control dependence */
	uint8_t *block; /* per block: whether the threads that reach it do so together */
};
/* Facts that the caller knows or assumes. */
enum cfg_assume {
	CFG_BLOCKS_1D = 1, /* blocks have only an x extent, so that warps are tid.x / 32 (.reqntid
			      says so by itself; .maxntid bounds only the product) */
	/* a value that one thread stores in shared memory is accessed by others only after a
	 * barrier or similar synchronization */
	CFG_NO_RACES = 2,
};
/* but: at the end of each block marked here, a warp's threads are assumed to take one edge; the
 * others are ignored. NULL: none. */
int cfg_uniformity(struct arena *a, const struct cfg *g, unsigned assume, const bool *but,
	struct cfg_uniformity **ret);
/* The same if the caller knows more about registers than the code shows (ids that are loaded from
 * memory). given holds, for each register, the least level of its values, wherever they are
 * written; CFG_DIVERGENT: unknown. */
int cfg_uniformity_given(struct arena *a, const struct cfg *g, unsigned assume, const bool *but,
	const uint8_t *given, struct cfg_uniformity **ret);
/* Lists the blocks from a branch up to the point where its paths meet again, and returns their
 * number. list and seen have g->n elements. No element of seen may equal mark; afterwards those of
 * the listed blocks do. */
uint32_t cfg_influence(
	const struct cfg *g, uint32_t branch, uint32_t *list, uint32_t *seen, uint32_t mark);

/* ---- demand ---- */
struct cfg_demand {
	uint64_t static_shared_bytes; /* with alignment, callees included */
	bool dynamic_shared;
};
void cfg_demand(const struct ptx_module *m, const struct ptx_func *f, struct cfg_demand *ret);
bool cfg_blocks_1d(const struct ptx_func *f); /* .reqntid N, 1, 1 */
/* Estimates the registers per thread that ptxas allocates without a limit: a multiple of 8 from 16
 * to 255. For 374 kernels with ptxas 13.0, 62 % of the estimates are in the right multiple of 8,
 * and 89 % at most 8 away; the worst are 0.5 and 1.5 times the true count. -ENOMEM. */
int cfg_registers(struct arena *a, const struct cfg *g, uint32_t *ret);

/* Prints the graph, one line per block and per register that is not block-uniform; u and l may be
 * NULL. */
struct cfg_uniformity;
void cfg_dump(const struct cfg *g, const struct cfg_uniformity *u, const struct cfg_liveness *l,
	struct strbuf *out);

#endif
