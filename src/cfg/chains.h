/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reaching definitions. PTX is not strictly in SSA form: code can write one register in several
 * places, and a guarded write can keep the old value. */
#ifndef HEDDLE_CFG_CHAINS_H
#define HEDDLE_CFG_CHAINS_H

#include "cfg/cfg.h"

struct cfg_site {
	uint32_t reg, stmt;
};

struct cfg_chains {
	/* Each pair of register and statement appears once, sorted by register, then by statement.
	 * An operand that is both read and written is in both lists. A guard is a read. */
	uint32_t n_defs, n_uses;
	struct cfg_site *def, *use;
	/* The sites of register r have the indices [r] up to but not including [r + 1]. */
	uint32_t *defs_of_reg, *uses_of_reg;
	/* The graph of values. Its nodes are the definitions, then the uses (use i is node n_defs +
	 * i), then the merges. A definition's node is the value that it writes. A merge is one of
	 * several possible values. After a guarded definition these are the value written and the
	 * value before. At the beginning of a block they are the values from its predecessors, if
	 * these differ. The first merge has no inputs: it is the value at the function's entry.
	 *
	 * Node i is an input of the nodes to[to_of[i]] up to but not including to[to_of[i + 1]], of
	 * a merge perhaps more than once. A use has one input, a definition none. If a path leads
	 * from node i to node n_defs + k, definition i can reach use k.
	 *
	 * The number of links is one per use, at most two per guarded definition, and one per edge
	 * into a merge's block. */
	uint32_t n_nodes;
	uint32_t *to_of, *to;
	/* For each node: the only definition that can reach it, CFG_NONE if none can, or
	 * CFG_SEVERAL. In each case the value at the function's entry can also reach it. */
	uint32_t *only;
};
#define CFG_SEVERAL (CFG_NONE - 1)
/* Computes the chains and allocates them in the arena. Unreachable blocks also have sites
 * (definitions and uses) and nodes, and these nodes can reach others. Time is linear in the length
 * of live ranges plus the number of blocks and edges. Returns -ENOMEM, or -E2BIG for 2^32 - 1 links
 * or more. */
int cfg_chains(struct arena *a, const struct cfg *g, struct cfg_chains **ret);
/* Return the index of a site, or CFG_NONE if there is no such site. */
uint32_t cfg_find_def(const struct cfg_chains *c, uint32_t reg, uint32_t stmt);
uint32_t cfg_find_use(const struct cfg_chains *c, uint32_t reg, uint32_t stmt);

#endif
