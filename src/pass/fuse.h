/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* One block of each of several kernels in a block of one launch: what both ways of fusing share. */
#ifndef HEDDLE_FUSE_H
#define HEDDLE_FUSE_H

#include "pass/guests.h"

/* The parameters of pass_fuse_*; x is zeroed, but for what way sets in set. */
typedef int fuse_way_fn(struct guests *x, struct pass_merged *ret);
struct fuse_way {
	fuse_way_fn *place; /* once all guests are looked at: barriers; x->threads is known */
	void (*write)(struct guests *x, struct pass_writer *w);
	/* Ahead of looking: where guest k's threads and shared memory begin. */
	void (*begin)(struct guests *x, unsigned k);
};
int pass_fuse(const struct fuse_way *way, struct guests *x, const struct pass_guest *from,
	struct pass_merged *ret);
/* Guest k's code: its ids from the block's number, and its body; $hd_out behind it. */
void fuse_put(struct guests *x, struct pass_writer *w, unsigned k);
/* Warps that guest k does not have go on at `label`. */
void fuse_skip(struct guests *x, struct pass_writer *w, unsigned k, const char *label);

#endif
