/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Two kernels' instructions in one flow (GoPTX, section III). A guest's body, as it was rewritten
 * for its place, becomes a flow: runs of instructions that are woven, and branches between them.
 * The product of two flows is written as code of the host (weave_product.c).
 *
 * Whoever comes to code of both kernels comes there in whole warps: a branch that the lanes of a
 * warp may take apart is asked by votes, and where they do part, its kernel runs alone up to where
 * its ways meet again. So nothing that lanes do together gets a way that it did not have. */
#ifndef HEDDLE_WEAVE_H
#define HEDDLE_WEAVE_H

#include "pass/fuse/guests.h"

enum weave_kind {
	WEAVE_RUN,    /* units, then next[0] */
	WEAVE_BRANCH, /* a branch under a guard: next[0] if it is taken, else next[1] */
	WEAVE_IF, /* a branch past one block: its units, if it is not taken, and next[0] in any case
		   */
	WEAVE_TABLE, /* brx */
	WEAVE_TRAP,  /* ends the grid, under a guard or not; next[0] if there is one */
	WEAVE_END,   /* of the kernel */
};

/* Statements [first, end) of the body that stay together and in order. */
struct weave_unit {
	uint32_t first, end;
	uint32_t latency; /* cycles */
	bool sync;        /* waits for other warps of the block */
};

struct weave_node {
	enum weave_kind kind;
	uint32_t from,
		end;    /* units; of a branch, what belongs to it; of an if, those of the block */
	uint32_t block; /* of the graph; of a branch, which ends it */
	uint32_t next[2];
	/* Of branches: */
	uint32_t meet; /* node where its ways meet again */
	bool uniform;  /* whole warps take it */
	bool alone;    /* its ways are not woven, up to where they meet */
	bool likely;   /* it is taken more often than not, as far as one can tell */
	uint8_t into;  /* if: which way leads into its block */
	bool sync;     /* it waits for other warps of the block, or its ways do and are one step */
	bool sync_ahead; /* something from here on does */
};

/* How far weaving goes; each step leaves more to vertical fusion. */
enum weave_reach {
	WEAVE_SLICED,   /* all of it */
	WEAVE_UNSLICED, /* blocks as they are */
	WEAVE_STRAIGHT, /* sliced, but in loops ways of branches that lanes may take apart: not */
	WEAVE_UNIFORM,  /* ways of branches that lanes may take apart: not woven */
	WEAVE_CHAIN,    /* no ways of branches: each is one step, so the product is a chain */
	WEAVE_REACHES,
};

struct weave_flow {
	struct guest *g;
	unsigned k; /* the guest's number */
	struct cfg *cfg;
	struct cfg_uniformity *u;
	/* By instruction of the plain kernel: itself, and whether it is a branch that whole warps
	 * take. */
	const struct ptx_stmt **plain;
	uint8_t *whole;
	VEC(struct weave_unit) units;
	VEC(struct weave_node) nodes;
	uint32_t *run; /* by block: the first of its units, and the first behind the last block's */
	uint32_t *tail; /* by block: the first unit that is part of how it ends */
	uint32_t *node; /* by block: where it begins */
	uint32_t start, end;
	uint64_t latency; /* of all blocks */
	uint8_t *woven;   /* by statement: it stands among the other's somewhere */
};

/* weave_latency.c */
uint32_t weave_latency(const struct ptx_stmt *s);

/* weave_flow.c: graph and units of guest k, whose body is rewritten. -ENOTSUP: ret_why says what of
 * it cannot be woven; it is then finished, too, by the arena that it is in. */
int weave_flow_find(struct arena *a, struct guests *x, unsigned k, const struct pass_guest *from,
	struct weave_flow *ret, struct pass_verdict *ret_why);
/* Its nodes. threshold: cycles of a run at most, 0: any; apart: runs end ahead of what waits. */
int weave_flow_nodes(struct weave_flow *f, enum weave_reach reach, uint64_t threshold, bool apart);
void weave_flow_finish(struct weave_flow *f);
/* Equation 1 of GoPTX: cycles of a block of both, on the average. */
uint64_t weave_threshold(const struct weave_flow f[2]);
bool weave_has_sync(const struct weave_flow *f);
/* What statement `at` of the body stands for, in the kernel as it came; NULL: nothing of it. */
const struct ptx_stmt *weave_plain(const struct weave_flow *f, uint32_t at);
/* From a run without units to the first node that has something to do. */
uint32_t weave_settle(const struct weave_flow *f, uint32_t node);

/* weave_product.c: appends the product to w, w->f the host. -E2BIG: it is too large. */
int weave_product(struct guests *x, struct pass_writer *w, struct weave_flow f[2],
	const struct pass_weave_options *o, struct pass_woven *ret);

#endif
