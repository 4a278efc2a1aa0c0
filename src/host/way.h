/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A way is a strategy for running kernels together. Here is the text form of a strategy, which is
 * used on the command line and in stored results. */
#ifndef HEDDLE_WAY_H
#define HEDDLE_WAY_H

#include "host/merged.h"

enum dev_how {
	DEV_SEQUENTIAL, /* back to back in one stream */
	DEV_STREAMS,    /* each in a stream of its own */
	DEV_GREEN,      /* each kernel in a green context: a stream with its own SMs, by share */
	DEV_MERGE,      /* as one launch of workers */
	/* Fused: the threads of a block execute a block of each kernel, one kernel after
	 * another. */
	DEV_VERTICAL,
	DEV_HORIZONTAL, /* Fused: each block has separate warps for a block of each kernel. */
	/* Fused: the same threads execute the instructions of two kernels, interleaved. */
	DEV_WEAVE,
	DEV_HOWS,
};

/* The names of the strategies: "sequential", "streams", "green", "merge", "vertical", "horizontal",
 * "weave". */
extern const char *const dev_hows[DEV_HOWS];
/* The pass that makes each strategy's form (pass/registry.h); NULL if the strategy has no form. */
extern const char *const dev_how_passes[DEV_HOWS];

/* "steal", "partition", "mixed", "apart" or "steal:shared". */
const char *dev_order_name(enum ctl_order order);
/* Parses the order of a merged launch: one of the names in this list. An order without stealing can
 * have "=N:N...", the shares of the n kernels (default: 1 each). Sets order and share. Returns
 * NULL, or an error message in the arena. */
const char *dev_order_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret);

/* Parses the blocks per claim: "N", or "N:N..." for n kernels. Returns NULL, or an error message in
 * the arena. */
const char *dev_chunk_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret);

/* Parses the kernels that get a launch of their own: "K" or "K:K...", numbered from 1, fewer than
 * n. Returns NULL, or an error message in the arena. */
const char *dev_own_parse(struct arena *a, const char *text, unsigned n, struct dev_merging *ret);

/* Limits for the largest number of registers of a thread. DEV_REGISTERS_NONE means no limit. */
#define DEV_REGISTERS_MIN  16u
#define DEV_REGISTERS_NONE 256u

/* Prints a whole strategy. Examples: "merge mixed=3:1 help chunk=4 total-workers=64 per-sm=2",
 * "merge steal chunk=12:1", "merge apart=1:1 own=2", "green=1:2", "weave unsliced branches
 * registers=64". */
void dev_way_print(
	enum dev_how how, const struct dev_merging *m, unsigned n, char *buf, size_t size);
/* Parses a whole strategy. "merge" alone means "merge steal", and "green" alone means equal shares.
 * The fields times, count and yield_every of *ret_m, which no strategy text can set, stay
 * unchanged; all other fields are set. Returns NULL, or an error message in the arena. */
const char *dev_way_parse(struct arena *a, const char *text, unsigned n, enum dev_how *ret_how,
	struct dev_merging *ret_m);
/* Turns a strategy for two kernels into the one for the same kernels in reverse order. */
void dev_way_mirror(struct dev_merging *m);

#endif
