/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Interleaves the instructions of two kernels (GoPTX, section III). A kernel's rewritten body
 * becomes a flow graph: straight runs of instructions, which are woven, and branches between them.
 * weave_product.c writes the product of the two flow graphs as code of the common entry.
 *
 * Only whole warps execute code of both kernels. At a branch where lanes of a warp may diverge,
 * votes find out whether they do. A diverged warp runs only the branch's kernel up to the
 * reconvergence point. So an operation that involves several lanes is executed by the same lanes
 * together as in the original kernel. */
#ifndef HEDDLE_WEAVE_H
#define HEDDLE_WEAVE_H

#include "pass/fuse/kernels.h"

enum weave_kind {
	WEAVE_RUN,    /* runs its units, then continues at next[0] */
	WEAVE_BRANCH, /* a guarded branch: next[0] if it is taken, otherwise next[1] */
	/* a branch around one basic block. If the branch is not taken, the units (statements that
	 * stay together) of that basic block run; either way, control then continues at next[0]. */
	WEAVE_IF,
	WEAVE_TABLE, /* brx */
	WEAVE_TRAP,  /* may end the grid; next[0] if the trap is guarded */
	WEAVE_END,   /* end of the kernel */
};

/* Statements [first, end) of the body that stay adjacent and in order. */
struct weave_unit {
	uint32_t first, end;
	uint32_t latency; /* in cycles */
	bool sync;        /* waits for other warps of its block */
};

struct weave_node {
	enum weave_kind kind;
	/* range of the node's units; for WEAVE_IF, units of the skipped block */
	uint32_t from, end;
	uint32_t block; /* basic block; for a branch, the block that the branch ends */
	uint32_t next[2];
	/* Only for branches: */
	uint32_t meet; /* node where the branch's paths reconverge */
	bool uniform;  /* all lanes of a warp take the same side */
	bool alone;    /* the sides up to `meet` are not woven */
	bool likely;   /* the branch is predicted taken */
	uint8_t into;  /* WEAVE_IF: index in next of the edge to the skipped block */
	/* True if the node waits for other warps of the block. If the node is a branch whose sides
	 * run alone (without code of the other kernel): true if one of these sides waits for other
	 * warps. */
	bool sync;
	bool sync_ahead; /* a node reachable from here waits for other warps */
};

/* How much of the two kernels is woven. Later values weave less, so that the product of the two
 * flow graphs (weave_product.c) gets smaller. */
enum weave_reach {
	WEAVE_SLICED,   /* everything is woven */
	WEAVE_UNSLICED, /* everything is woven, but basic blocks are not sliced */
	WEAVE_STRAIGHT, /* as WEAVE_SLICED, but sides of divergent branches in loops run alone */
	WEAVE_UNIFORM,  /* sides of all divergent branches run alone */
	WEAVE_CHAIN,    /* sides of all branches run alone, so the product is a chain */
	WEAVE_REACHES,
};

struct weave_flow {
	struct kernel *g;
	unsigned k; /* number of the kernel: 0 or 1 */
	struct cfg *cfg;
	struct cfg_uniformity *u;
	/* By instruction of the original kernel: plain: its statement; whole: whether it is a
	 * warp-uniform branch. */
	const struct ptx_stmt **plain;
	uint8_t *whole;
	VEC(struct weave_unit) units;
	VEC(struct weave_node) nodes;
	/* by basic block: index of its first unit (statements that stay together); the last element
	 * is the number of all units */
	uint32_t *run;
	uint32_t *tail; /* by basic block: the first unit that belongs to the branch at its end */
	uint32_t *node; /* for each basic block: its first node */
	uint32_t start, end;
	uint64_t latency; /* sum over all blocks */
	/* for each statement: whether it is woven with the other kernel anywhere */
	uint8_t *woven;
};

/* weave_latency.c */
uint32_t weave_latency(const struct ptx_stmt *s);

/* weave_flow.c: builds graph and units of kernel k, whose body has been rewritten. Returns -ENOTSUP
 * if the kernel cannot be woven; *ret_why says why. The memory belongs to the arena. */
int weave_flow_find(struct arena *a, struct kernels *x, unsigned k, const struct pass_kernel *from,
	struct weave_flow *ret, struct pass_verdict *ret_why);
/* Builds the nodes. Each basic block is cut into runs:
 * - threshold: a run ends before the unit with which it would exceed this many cycles. A unit
 *   counts at most SLICE_UNIT cycles here. A run has at least one unit. 0: no limit
 * - sync_alone: a run also ends between a unit that waits for other warps and one that does not */
int weave_flow_nodes(
	struct weave_flow *f, enum weave_reach reach, uint64_t threshold, bool sync_alone);
void weave_flow_finish(struct weave_flow *f);
/* Returns the average number of cycles per basic block over both kernels (equation 1 of GoPTX),
 * rounded up. */
uint64_t weave_threshold(const struct weave_flow f[2]);
bool weave_has_sync(const struct weave_flow *f);
/* Returns the original kernel's statement that statement `at` of the body implements, or NULL. */
const struct ptx_stmt *weave_plain(const struct weave_flow *f, uint32_t at);
/* Skips runs without units, and returns the first node with work. */
uint32_t weave_settle(const struct weave_flow *f, uint32_t node);

/* weave_product.c: appends the product of both flow graphs to w. w->f is the entry that gets the
 * code. Returns -E2BIG if the product is too large. */
int weave_product(struct kernels *x, struct pass_writer *w, struct weave_flow f[2],
	const struct pass_weave_options *o, struct pass_woven *ret);

#endif
