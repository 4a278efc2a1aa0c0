/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* One block of each of several kernels in a block of one launch: what all ways of fusing share. */
#ifndef HEDDLE_FUSE_H
#define HEDDLE_FUSE_H

#include "pass/fuse/guests.h"

struct fuse_way {
	/* Ahead of looking at guest k: which threads are its own, where its shared memory begins.
	 */
	int (*begin)(struct guests *x, unsigned k);
	/* Once all are looked at: ways out and barriers, and whether all of them are right there
	 * (guests_fit). */
	int (*place)(struct guests *x, const struct pass_guest *from);
	void (*write)(struct guests *x, struct pass_writer *w);
};
struct fuse_call {
	const struct fuse_way *way;
	void *user;             /* the way's: guests.user */
	uint32_t threads;       /* of the entry's blocks */
	uint32_t max_registers; /* a bound for the assembler; 0: none */
};
/* The rest is pass_fuse_*'s (merge.h). */
int pass_fuse(const struct fuse_call *call, const struct pass_guest *from, unsigned n,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_merged *ret,
	struct pass_verdict *ret_verdict, unsigned *ret_which, struct pass_record *record);

/* Guest k's block of the launch's block's number, if it has one. All of its threads come here. */
void fuse_put(struct guests *x, struct pass_writer *w, unsigned k);
/* Guest k where its threads stay behind it, or else where they leave: -ENOTSUP with why they must
 * leave, if that cannot be either. */
int fuse_fit(struct guests *x, unsigned k, const struct pass_guest *from);
/* Threads from `from` on, which are whole warps, go on at `label` and a number. */
void fuse_skip(struct pass_writer *w, uint32_t from, const char *label, unsigned number);

#endif
