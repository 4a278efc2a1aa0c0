/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs one block of each of several kernels in a block of one launch: the part that all kinds of
 * fusion share. */
#ifndef HEDDLE_FUSE_H
#define HEDDLE_FUSE_H

#include "pass/fuse/guests.h"

struct fuse_way {
	/* Called before kernel k is analyzed: sets which threads are its own and where its shared
	 * memory begins. */
	int (*begin)(struct guests *x, unsigned k);
	/* Called after all are analyzed: sets exits and barriers, and checks with guests_fit that
	 * each body is legal there. */
	int (*place)(struct guests *x, const struct pass_guest *from);
	void (*write)(struct guests *x, struct pass_writer *w);
};
struct fuse_call {
	const struct fuse_way *way;
	void *user;             /* guests.user, for the functions above */
	uint32_t threads;       /* of the entry's blocks */
	uint32_t max_registers; /* register limit for ptxas; 0: none */
};
/* The other parameters are those of pass_fuse_* (merge.h). */
int pass_fuse(const struct fuse_call *call, const struct pass_guest *from, unsigned n,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_merged *ret,
	struct pass_verdict *ret_verdict, unsigned *ret_which, struct pass_record *record);

/* Emits kernel k's block with the launch's block number, if there is one. All of its threads come
 * here. */
void fuse_put(struct guests *x, struct pass_writer *w, unsigned k);
/* Places kernel k so that its exited threads stay, or else so that they really exit. -ENOTSUP, with
 * the reason against the first, if neither is legal. */
int fuse_fit(struct guests *x, unsigned k, const struct pass_guest *from);
/* Sends the threads from number `from` on, which are whole warps, to the label `label` followed by
 * `number`. */
void fuse_skip(struct pass_writer *w, uint32_t from, const char *label, unsigned number);

#endif
