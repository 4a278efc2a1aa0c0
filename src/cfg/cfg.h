/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Control flow and data flow of one function. All results are allocated in the given arena, except
 * those of cfg_spans_find. A graph describes the body as it was when the graph was built; rebuild
 * it after changing the body. */
#ifndef HEDDLE_CFG_H
#define HEDDLE_CFG_H

#include "ptx/ptx.h"

#define CFG_NONE UINT32_MAX

struct cfg_block {
	uint32_t first, end; /* the block is body statements [first, end) */
	uint32_t n_succ, n_pred;
	uint32_t *succ, *pred; /* block numbers; a return leads to block cfg->exit */
	/* immediate (post)dominator; CFG_NONE: none, or the block is unreachable */
	uint32_t idom, ipdom;
	/* Intervals in the dominator and postdominator trees: the visit number of this block, and
	 * the visit number of the last block in its subtree. */
	uint32_t dom_first, dom_last, pdom_first, pdom_last;
	uint32_t order;       /* index in reverse postorder; CFG_NONE: unreachable */
	uint32_t loop_header; /* header of the innermost natural loop; CFG_NONE: not in a loop */
	/* the last instruction is a guarded branch or exit, so control can also fall through */
	bool ends_predicated;
};

struct cfg {
	const struct ptx_func *f;
	/* number of blocks; block 0 is the entry, block n - 1 a virtual exit without statements */
	uint32_t n;
	uint32_t exit;
	struct cfg_block *at;
	uint32_t *block_of; /* for each statement: its block */
	bool has_indirect;  /* some brx has an unknown target list, so edges may be missing */
	bool irreducible;
};

int cfg_build(struct arena *a, const struct ptx_func *f, struct cfg **ret);
/* Recomputes the block order and the dominators after a caller changed succ and pred of blocks. The
 * loops are not recomputed. */
int cfg_relink(struct cfg *g);
bool cfg_dominates(const struct cfg *g, uint32_t a, uint32_t b);
bool cfg_postdominates(const struct cfg *g, uint32_t a, uint32_t b);

/* ---- liveness: one bit set per block over dense register numbers ---- */
struct cfg_liveness {
	uint32_t words;               /* 64-bit words per set */
	uint64_t *live_in, *live_out; /* one set per block, each of `words` words */
	/* peak register pressure; a 64-bit register counts as two */
	uint32_t max_live_b32, max_live_pred;
};
int cfg_liveness(struct arena *a, const struct cfg *g, struct cfg_liveness **ret);
/* Computes the same liveness, but on demand for one register and one block at a time. */
struct cfg_spans;
int cfg_spans_find(const struct cfg *g, struct cfg_spans **ret);
void cfg_spans_free(struct cfg_spans *s);
bool cfg_live_in(struct cfg_spans *s, uint32_t reg, uint32_t block);

/* ---- uniformity: which values and paths are the same for all threads of a warp or block ---- */
enum cfg_uniform {
	CFG_DIVERGENT = 0,
	CFG_WARP_UNIFORM = 1,  /* all threads of a warp have the same value */
	CFG_BLOCK_UNIFORM = 2, /* all threads of a block have the same value */
};
struct cfg_uniformity {
	/* uniformity level (enum cfg_uniform) of each register: the minimum over its definitions
	 * and the branches that control them */
	uint8_t *reg;
	uint8_t *block; /* for each block: which threads reach it together (enum cfg_uniform) */
};
/* Facts that the caller knows or assumes. */
enum cfg_assume {
	/* blocks extend only in x, so a thread's warp is tid.x / 32 (.reqntid already implies this;
	 * .maxntid does not, because it bounds only the product of the three extents) */
	CFG_BLOCKS_1D = 1,
	/* after one thread stores a value in shared memory, other threads access it only after a
	 * barrier or similar synchronization */
	CFG_NO_RACES = 2,
};
/* `but` marks blocks: for each of them, assume that all threads of a warp leave the block by the
 * same edge. NULL: no such block. */
int cfg_uniformity(struct arena *a, const struct cfg *g, unsigned assume, const bool *but,
	struct cfg_uniformity **ret);
/* Does the same as cfg_uniformity for a caller that knows more than the code shows, for example
 * about ids that are loaded from memory. given contains, for each register, the lowest level that
 * any value written to it can have. CFG_DIVERGENT means unknown. */
int cfg_uniformity_given(struct arena *a, const struct cfg *g, unsigned assume, const bool *but,
	const uint8_t *given, struct cfg_uniformity **ret);
/* Lists the blocks between a branch and the point where its paths meet again, and returns their
 * number. list and seen have g->n elements. Before the call no element of seen equals mark.
 * Afterwards the elements of the listed blocks equal mark. */
uint32_t cfg_influence(
	const struct cfg *g, uint32_t branch, uint32_t *list, uint32_t *seen, uint32_t mark);

/* ---- demand ---- */
struct cfg_demand {
	uint64_t static_shared_bytes; /* includes alignment padding and the memory of callees */
	bool dynamic_shared;
};
void cfg_demand(const struct ptx_module *m, const struct ptx_func *f, struct cfg_demand *ret);
/* ---- sizes that no driver accepts ---- */
#define CFG_CONST_LIMIT  65536 /* bytes of all constants of a module */
#define CFG_SHARED_LIMIT 49152 /* bytes of static shared memory of an entry */
/* Returns the total size of a module's constants, including unused ones. */
uint64_t cfg_const_bytes(const struct ptx_module *m);
/* Adds an error to diags for each size that ptxas refuses: constants, and static shared memory and
 * parameters of entries. Returns the number of errors. */
unsigned cfg_check_limits(const struct ptx_module *m, struct diag_list *diags);

bool cfg_blocks_1d(const struct ptx_func *f); /* true if .reqntid is N, 1, 1 */
/* Estimates the registers per thread that ptxas allocates without a limit: a multiple of 8 of at
 * least 16, and at most 255. For 374 kernels with ptxas 13.0, 62 % of the estimates are the right
 * multiple of 8, and 89 % are off by at most 8. The worst are 0.5 and 1.5 times the true count.
 * Returns -ENOMEM if out of memory. */
int cfg_registers(struct arena *a, const struct cfg *g, uint32_t *ret);

#endif
