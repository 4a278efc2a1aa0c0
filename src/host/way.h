/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Ways of running kernels together (in streams, merged, fused ...), and the text of a way with its
 * options, which is used on the command line and in stored results. */
#ifndef HEDDLE_HOST_WAY_H
#define HEDDLE_HOST_WAY_H

#include "host/merged.h"

enum host_way {
	HOST_WAY_SEQUENTIAL, /* one kernel after another in one stream */
	HOST_WAY_STREAMS,    /* each kernel in its own stream */
	HOST_WAY_GREEN, /* each kernel in a green context: a stream with its own SMs, by share */
	HOST_WAY_MERGE, /* one launch of workers */
	/* Fused: the threads of a block execute a block of each kernel, one kernel after
	 * another. */
	HOST_WAY_VERTICAL,
	HOST_WAY_HORIZONTAL, /* Fused: each block has separate warps for a block of each kernel. */
	/* Fused: the same threads execute the instructions of two kernels, interleaved. */
	HOST_WAY_WEAVE,
	HOST_WAYS,
};

/* The names of the ways: "sequential", "streams", "green", "merge", "vertical", "horizontal",
 * "weave". */
extern const char *const host_way_names[HOST_WAYS];
/* The pass that makes each way's form (pass/registry.h); NULL if the way has no form. */
extern const char *const host_way_passes[HOST_WAYS];

/* Returns "steal", "partition", "mixed", "apart" or "steal:shared". */
const char *host_order_name(enum ctl_order order);
/* Parses the order of a merged launch: one of the names in this list. An order without stealing can
 * have "=N:N...", the shares of the n kernels (default: 1 each). Sets order and share. Returns
 * NULL, or an error message in the arena. */
const char *host_order_parse(
	struct arena *a, const char *text, unsigned n, struct host_merging *ret);

/* Parses the blocks per claim: "N", or "N:N..." for n kernels. Returns NULL, or an error message in
 * the arena. */
const char *host_chunk_parse(
	struct arena *a, const char *text, unsigned n, struct host_merging *ret);

/* Parses the kernels that get a launch of their own: "K" or "K:K...", numbered from 1, fewer than
 * n. Returns NULL, or an error message in the arena. */
const char *host_own_parse(struct arena *a, const char *text, unsigned n, struct host_merging *ret);

/* Limits for the largest number of registers of a thread. HOST_REGISTERS_NONE means no limit. */
#define HOST_REGISTERS_MIN  16u
#define HOST_REGISTERS_NONE 256u

/* Prints a way with its options. Examples: "merge mixed=3:1 help chunk=4 total-workers=64 per-sm=2",
 * "merge steal chunk=12:1", "merge apart=1:1 own=2", "green=1:2", "weave unsliced branches
 * registers=64". */
void host_way_print(
	enum host_way way, const struct host_merging *m, unsigned n, char *buf, size_t size);
/* Parses a way with its options. "merge" alone means "merge steal", and "green" alone means equal shares.
 * The fields times, count and yield_every of *ret_m, which no text can set, stay
 * unchanged; all other fields are set. Returns NULL, or an error message in the arena. */
const char *host_way_parse(struct arena *a, const char *text, unsigned n, enum host_way *ret_way,
	struct host_merging *ret_m);
/* Turns a way of running two kernels into the one for the same kernels in reverse order. */
void host_way_mirror(struct host_merging *m);

#endif
