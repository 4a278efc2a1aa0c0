/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Ways of running kernels together, as words: of the command line, and of what is remembered. */
#ifndef HEDDLE_WAY_H
#define HEDDLE_WAY_H

#include "host/merged.h"

enum dev_how {
	DEV_SEQUENTIAL, /* back to back in one stream */
	DEV_STREAMS,    /* each in a stream of its own */
	DEV_GREEN,      /* each in a green context: a stream with SMs of its own, by share */
	DEV_MERGE,      /* as one launch of workers */
	DEV_VERTICAL,   /* fused: a block's threads run a block of one kernel after another's */
	DEV_HORIZONTAL, /* fused: a block has warps for a block of each */
	DEV_WEAVE,      /* fused: the instructions of two kernels by turns, by the same threads */
	DEV_HOWS,
};

/* "sequential", "streams", "green", "merge", "vertical", "horizontal", "weave". */
extern const char *const dev_hows[DEV_HOWS];
/* The pass that makes it (pass/registry.h); NULL: none is needed. */
extern const char *const dev_how_passes[DEV_HOWS];

/* "steal", "partition", "mixed", "apart" or "steal:shared". */
const char *dev_order_name(enum ctl_order order);
/* One of these, but for those that steal with =N:N... for n shares or without (each 1). Sets order
 * and share. NULL, or what is wrong with it, in the arena. */
const char *dev_order_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret);

/* "N", or "N:N..." for n kernels: blocks claimed at a time. NULL, or what is wrong, in the arena.
 */
const char *dev_chunk_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret);

/* "K" or "K:K...": kernels, from 1, fewer than n. NULL, or what is wrong, in the arena. */
const char *dev_own_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret);

/* A bound on a thread's registers, from this to that; the latter is none. */
#define DEV_REGISTERS_MIN  16u
#define DEV_REGISTERS_NONE 256u

/* All of a way: "merge mixed=3:1 help chunk=4 total-workers=64 per-sm=2", "merge steal chunk=12:1",
 * "merge apart=1:1 own=2", "green=1:2", "weave unsliced branches registers=64". */
void dev_way_print(
	enum dev_how how, const struct dev_merging *m, unsigned n, char *buf, size_t size);
/* The other direction. "merge" alone is "merge steal", and "green" has equal shares. What a way
 * does not say (times, count, yield_every) stays in *ret_m. NULL, or what is wrong, in the arena.
 */
const char *dev_way_parse(struct arena *a, const char *text, unsigned n, enum dev_how *ret_how,
	struct dev_merging *ret_m);
/* Makes a way of two kernels a way of the same kernels in the other order. */
void dev_way_mirror(struct dev_merging *m);

#endif
