/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A way is a strategy for running kernels together. This is its text, on the command line and in
 * stored results. */
#ifndef HEDDLE_WAY_H
#define HEDDLE_WAY_H

#include "host/merged.h"

enum dev_how {
	DEV_SEQUENTIAL, /* back to back in one stream */
	DEV_STREAMS,    /* each in a stream of its own */
	DEV_GREEN,      /* each in a green context: a stream with its own SMs, by share */
	DEV_MERGE,      /* as one launch of workers */
	DEV_VERTICAL,   /* fused: a block's threads run a block of each kernel, one after another */
	DEV_HORIZONTAL, /* fused: a block has separate warps for a block of each kernel */
	/* fused: the same threads run the interleaved instructions of two kernels */
	DEV_WEAVE,
	DEV_HOWS,
};

/* "sequential", "streams", "green", "merge", "vertical", "horizontal", "weave". */
extern const char *const dev_hows[DEV_HOWS];
/* The pass that makes the form (pass/registry.h); NULL: no form. */
extern const char *const dev_how_passes[DEV_HOWS];

/* "steal", "partition", "mixed", "apart" or "steal:shared". */
const char *dev_order_name(enum ctl_order order);
/* One of these names; those without stealing may have =N:N..., shares of n kernels (default: 1
 * each). Sets order and share. NULL, or an error text in the arena. */
const char *dev_order_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret);

/* "N", or "N:N..." for n kernels: blocks a claim. NULL, or an error text in the arena. */
const char *dev_chunk_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret);

/* "K" or "K:K...": kernels, from 1, fewer than n. NULL, or an error text in the arena. */
const char *dev_own_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret);

/* Limits of the register bound of a thread; the upper limit means no bound. */
#define DEV_REGISTERS_MIN  16u
#define DEV_REGISTERS_NONE 256u

/* Prints a whole strategy: "merge mixed=3:1 help chunk=4 total-workers=64 per-sm=2", "merge steal
 * chunk=12:1", "merge apart=1:1 own=2", "green=1:2", "weave unsliced branches registers=64". */
void dev_way_print(
	enum dev_how how, const struct dev_merging *m, unsigned n, char *buf, size_t size);
/* Parses it. "merge" alone is "merge steal", and "green" has equal shares. Fields that a strategy
 * does not have (times, count, yield_every) stay in *ret_m. NULL, or an error text in the arena. */
const char *dev_way_parse(struct arena *a, const char *text, unsigned n, enum dev_how *ret_how,
	struct dev_merging *ret_m);
/* Turns a strategy for two kernels into one for the same kernels in reverse order. */
void dev_way_mirror(struct dev_merging *m);

#endif
