/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reaching definitions. PTX is not strictly SSA: a register may be written in several places, and a
 * guarded write may leave the old value. */
#ifndef HEDDLE_CFG_CHAINS_H
#define HEDDLE_CFG_CHAINS_H

#include "cfg/cfg.h"

struct cfg_site {
	uint32_t reg, stmt;
};

struct cfg_chains {
	/* Each site once, sorted by register, then statement. An operand that is read and written
	 * is in both lists. A guard is a read. */
	uint32_t n_defs, n_uses;
	struct cfg_site *def, *use;
	/* The sites of register r are [r] to before [r + 1]. */
	uint32_t *defs_of_reg, *uses_of_reg;
	/* A graph of values. Its nodes are numbered: the definitions, the uses (use i is node
	 * n_defs + i), the merges. A definition's node is the value that it writes. A merge is one
	 * of several values: after a guarded definition, the value written or the one before it;
	 * at the beginning of a block, one of its predecessors' values, if these differ. The first
	 * merge has no inputs: it is the value at the function's entry.
	 * Node i is an input of the nodes to[to_of[i]] to before to[to_of[i + 1]] (of a merge
	 * perhaps more than once). A use has one input, a definition none. Definition i may reach
	 * use k if a path leads from i to n_defs + k.
	 * Links: one a use, at most two a guarded definition, one an edge into a merge's block. */
	uint32_t n_nodes;
	uint32_t *to_of, *to;
	/* Per node: the only definition that may reach it; CFG_NONE: no definition does, only the
	 * value at entry; CFG_SEVERAL. The value at entry may reach it in each case. */
	uint32_t *only;
};
#define CFG_SEVERAL (CFG_NONE - 1)
/* Allocates everything in the arena. Unreachable blocks have sites and nodes, too, which may reach
 * others. Time is linear in the length of live ranges, in blocks and edges. -ENOMEM, -E2BIG: more
 * than 2^32 links. */
int cfg_chains(struct arena *a, const struct cfg *g, struct cfg_chains **ret);
/* The index of a site; CFG_NONE: none. */
uint32_t cfg_find_def(const struct cfg_chains *c, uint32_t reg, uint32_t stmt);
uint32_t cfg_find_use(const struct cfg_chains *c, uint32_t reg, uint32_t stmt);

#endif
