/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Interleaves the instructions of two kernels (GoPTX, section III). A kernel's rewritten body
 * becomes a flow graph: straight runs of instructions, which are woven, and branches between them.
 * weave_product.c writes the product of two flows as code of the host.
 *
 * Only whole warps execute code of both kernels. At a branch where lanes of a warp may diverge,
 * votes find out whether they do. A diverged warp runs the branch's kernel alone up to the
 * reconvergence point. So operations that involve several lanes keep their control flow. */
#ifndef HEDDLE_WEAVE_H
#define HEDDLE_WEAVE_H

#include "pass/fuse/guests.h"

enum weave_kind {
	WEAVE_RUN,    /* units, then next[0] */
	WEAVE_BRANCH, /* a guarded branch: next[0] if taken, else next[1] */
	WEAVE_IF,     /* a branch around one block: its units unless skipped, then next[0] */
	WEAVE_TABLE,  /* brx */
	WEAVE_TRAP,   /* ends the grid, guarded or not; next[0] if there is one */
	WEAVE_END,    /* of the kernel */
};

/* Statements [first, end) of the body that stay adjacent and in order. */
struct weave_unit {
	uint32_t first, end;
	uint32_t latency; /* cycles */
	bool sync;        /* waits for other warps of the block */
};

struct weave_node {
	enum weave_kind kind;
	uint32_t from, end; /* units; of a branch: its own; of an if: those of the block */
	uint32_t block;     /* block of the graph; of a branch: the block that it ends */
	uint32_t next[2];
	/* For branches: */
	uint32_t meet;   /* node of the reconvergence point */
	bool uniform;    /* uniform within warps */
	bool alone;      /* its sides are not woven, up to the reconvergence point */
	bool likely;     /* predicted taken */
	uint8_t into;    /* of an if: the edge that leads to its block */
	bool sync;       /* waits for other warps of the block; or its sides do, if run alone */
	bool sync_ahead; /* some node reachable from here waits for other warps */
};

/* How much is woven. Each step leaves more to vertical fusion. */
enum weave_reach {
	WEAVE_SLICED,   /* all of it */
	WEAVE_UNSLICED, /* everything, blocks not sliced */
	WEAVE_STRAIGHT, /* sliced; sides of divergent branches in loops run alone */
	WEAVE_UNIFORM,  /* sides of divergent branches run alone */
	WEAVE_CHAIN,    /* sides of all branches run alone: the product is a chain */
	WEAVE_REACHES,
};

struct weave_flow {
	struct guest *g;
	unsigned k; /* the guest's number */
	struct cfg *cfg;
	struct cfg_uniformity *u;
	/* Per instruction of the plain kernel: its statement, and whether it is a warp-uniform
	 * branch. */
	const struct ptx_stmt **plain;
	uint8_t *whole;
	VEC(struct weave_unit) units;
	VEC(struct weave_node) nodes;
	uint32_t *run;  /* per block: index of its first unit; last entry: number of units */
	uint32_t *tail; /* per block: first unit that belongs to its terminating branch */
	uint32_t *node; /* per block: its first node */
	uint32_t start, end;
	uint64_t latency; /* sum over all blocks */
	uint8_t *woven;   /* per statement: it is woven with the other kernel somewhere */
};

/* weave_latency.c */
uint32_t weave_latency(const struct ptx_stmt *s);

/* weave_flow.c: builds graph and units of kernel k, whose body has been rewritten. -ENOTSUP:
 * ret_why says why it cannot be woven. The memory belongs to the arena. */
int weave_flow_find(struct arena *a, struct guests *x, unsigned k, const struct pass_guest *from,
	struct weave_flow *ret, struct pass_verdict *ret_why);
/* Builds the nodes. threshold: limit of a run in cycles, 0: none; apart: runs end before waiting
 * units. */
int weave_flow_nodes(struct weave_flow *f, enum weave_reach reach, uint64_t threshold, bool apart);
void weave_flow_finish(struct weave_flow *f);
/* Equation 1 of GoPTX: average cycles per block, over both kernels. */
uint64_t weave_threshold(const struct weave_flow f[2]);
bool weave_has_sync(const struct weave_flow *f);
/* Returns the original kernel's statement that statement `at` of the body implements; NULL:
 * none. */
const struct ptx_stmt *weave_plain(const struct weave_flow *f, uint32_t at);
/* Follows runs without units to the first node with work. */
uint32_t weave_settle(const struct weave_flow *f, uint32_t node);

/* weave_product.c: appends the product to w; w->f is the host. -E2BIG: the product is too large. */
int weave_product(struct guests *x, struct pass_writer *w, struct weave_flow f[2],
	const struct pass_weave_options *o, struct pass_woven *ret);

#endif
