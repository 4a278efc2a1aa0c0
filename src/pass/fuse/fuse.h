/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The code that all kinds of fusion share. A block of a fused launch runs at most one block of each
 * of several kernels. */
#ifndef HEDDLE_FUSE_H
#define HEDDLE_FUSE_H

#include "pass/fuse/kernels.h"

struct fuse_way {
	/* Called before kernel k is analyzed. Sets which threads of the block run the kernel, and
	 * where its shared memory begins. */
	int (*begin)(struct kernels *x, unsigned k);
	/* Called after all kernels are analyzed. Sets exits and barriers, and checks with
	 * kernels_fit that each body works at its place. */
	int (*place)(struct kernels *x, const struct pass_kernel *from);
	void (*write)(struct kernels *x, struct pass_writer *w);
};
struct fuse_call {
	const struct fuse_way *way;
	void *user;             /* kernels.user, for the functions in `way` */
	uint32_t threads;       /* threads per block of the entry */
	uint32_t max_registers; /* register limit that ptxas gets; 0: none */
};
/* For the other parameters, see pass_fuse_* in merge.h. */
int pass_fuse(const struct fuse_call *call, const struct pass_kernel *from, unsigned n,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_merged *ret,
	struct pass_verdict *ret_verdict, unsigned *ret_which, struct pass_record *record);

/* Emits code that runs one block of kernel k, the one whose number is the launch's block number. If
 * the kernel's grid has fewer blocks than that, the code does nothing. All threads of the kernel
 * must reach this code. */
void fuse_put(struct kernels *x, struct pass_writer *w, unsigned k);
/* Decides how the threads of kernel k exit: if possible they stay in the block and execute later
 * barriers (rounds.c), otherwise they really exit. Returns -ENOTSUP if neither is possible, with
 * the reason why the threads cannot stay. */
int fuse_fit(struct kernels *x, unsigned k, const struct pass_kernel *from);
/* Emits a jump of the threads from number `from` on, which are whole warps, to the label that
 * consists of `label` and `number`. */
void fuse_skip(struct pass_writer *w, uint32_t from, const char *label, unsigned number);

#endif
