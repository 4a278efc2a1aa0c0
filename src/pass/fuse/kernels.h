/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Puts the bodies of several kernels into one entry; merging and fusion share this code. The entry
 * that gets their code is called the host. The steps are: import, analyze (kernels_look), lay out
 * shared memory, add parameters, rewrite each kernel within its own function, and copy the result
 * into the entry (a graft, ptx/graft.h). */
#ifndef HEDDLE_PASS_KERNELS_H
#define HEDDLE_PASS_KERNELS_H

#include <stdarg.h>

#include "pass/merge.h"
#include "pass/worker/worker.h"
#include "ptx/graft.h"

#define KERNELS_MAX_PIECES 8
#define KERNELS_MAX_EXITS  8
#define KERNELS_MAX        32

struct kernel {
	/* the kernel's function in the new module, until kernels_seal drops it */
	struct ptx_func *f;
	struct pass_facts facts;
	bool found; /* pass_facts_finish must be called for `facts` */
	struct pass_place at;
	/* PTX operands: block size, and size of dynamic shared memory */
	char size[3][16], dynamic[16];
	uint32_t block[3];
	uint32_t threads; /* threads per block, rounded up to a multiple of 32 */
	VEC(struct pass_move) moves;
	/* shared_bytes: offset at which all of the kernel's shared memory ends */
	uint32_t shared_at, shared_bytes, dynamic_bytes;
	size_t n_params; /* number of the original kernel's parameters */
	uint32_t own_bytes;
	/* the parameter struct ctl_args: its symbol in the kernel's own function, and in the
	 * entry */
	struct ptx_sym *own_args, *args;
	/* parameters of the entry that replace the kernel's parameters */
	VEC(struct ptx_sym *) params;
	/* index of the first statement of each piece of the rewritten body */
	size_t from[KERNELS_MAX_PIECES + 1];
	/* labels that the pieces jump to: in the kernel's own function, and in the entry */
	struct ptx_sym *exits[KERNELS_MAX_EXITS], *to[KERNELS_MAX_EXITS];
	struct ptx_graft *graft;
	uint32_t added;            /* number of instructions added at the body's beginning */
	pass_numbers numbers;      /* origins of the body's statements, if they are recorded */
	char slot[48], ticket[48]; /* names in the entry of the kernel's %hd_s and %hd_t */
};

struct kernels {
	struct ptx_module *m;
	struct ptx_func *host;
	struct ptx_sym *pool; /* array that holds the shared memory of all kernels */
	struct diag_list *diags;
	struct pass_record *record; /* or NULL */
	unsigned n, which;          /* which: number of the kernel that an error refers to */
	struct pass_verdict verdict;
	unsigned last;    /* vertical fusion: number of the kernel that runs last */
	bool as_is;       /* every kernel's block has the shape of the entry's block */
	uint32_t threads; /* threads per block of the entry */
	uint32_t pool_align;
	uint32_t per_sm;        /* desired number of the entry's blocks per SM; 0: any */
	unsigned barrier;       /* number of the barrier that all threads of the entry use */
	uint32_t max_registers; /* register limit per thread of the entry; 0: none */
	void *user;             /* data of the particular kind of fusion (fuse.h) */
	struct kernel of[KERNELS_MAX];
};

uint32_t pass_threads(const uint32_t block[3]);

/* Imports the kernels into a new module. The caller must have set x->n, diags, as_is and threads.
 * Returns 0; -ENOTSUP if kernel x->which is rejected, with the reason in x->verdict or in diags;
 * another negative errno with diags. */
int kernels_import(struct kernels *x, const struct pass_kernel *from, const char *entry);
/* Must be called if the rewritten code reads parameters in a form that ptxas does not see as
 * constants. In the original kernel, such a parameter can be the reason why ptxas contracts a
 * multiplication and an addition. This function replaces the two by one instruction in each kernel
 * (contract.h). */
int kernels_settle(struct kernels *x);
/* Finds the facts of kernel k (body.h), lays out its shared memory, and fills in the fields of its
 * place (struct pass_place) that merging and fusion treat alike: ids, thread counts, shared memory.
 * The caller must have set x->threads and, if they are not 0, shared_at and at.first_thread.
 * Returns -ENOTSUP if the kernel was written for a GPU older than sm_70. */
int kernels_look(struct kernels *x, unsigned k, const struct pass_kernel *from);
/* Checks that the body works at its place (virtual.h), including the block's shape. Returns
 * -ENOTSUP with the reason and its position in the original kernel. */
int kernels_fit(struct kernels *x, unsigned k, const struct pass_kernel *from);
int kernels_refuse(struct kernels *x, unsigned k, const char *fmt, ...) HD_PRINTF(3, 4);
/* Formats the reason for a rejection into *ret, with the text in the arena. Returns -ENOTSUP or
 * -ENOMEM. */
int pass_refuse(struct arena *a, struct pass_verdict *ret, const char *fmt, va_list ap);
/* Chooses a barrier number for all threads of the entry's block. If the kernels' block sizes
 * differ, chooses a second number, for barriers of only one kernel's threads. Returns -ENOTSUP if
 * no number is free. */
int kernels_barrier(struct kernels *x);
void kernels_put_barrier(struct kernels *x, struct pass_writer *w);
/* Adds all kernels' parameters to the entry, with struct ctl_args before those of each kernel, and
 * then the parameter `last` (NULL: none). Returns -ENOTSUP if they exceed the limit of a launch. */
int kernels_params(struct kernels *x, const char *last, struct pass_merged *ret);
/* For a rewritten kernel that stands alone: adds to the entry the kernel's own parameters
 * unchanged, and then struct ctl_args. */
int kernels_harness_params(struct kernels *x);
/* Adds struct ctl_args as a parameter of the kernel's own function, so that code there can use
 * it. */
int kernels_own_args(struct kernels *x, unsigned k);
/* Begins the kernel's code: adds its struct ctl_args, and declares the registers and shared words
 * for barriers that not all threads reach (rounds.c). */
int kernels_begin(struct kernels *x, unsigned k, struct pass_writer *w);
/* Emits the body as a block with the ids %hd_x, %hd_y and %hd_z. Unless exits are real, the label
 * that exits lead to follows. */
void kernels_put_body(struct kernels *x, unsigned k, struct pass_writer *w);
/* Initializes the shared words of rounds.c, before any thread reaches a barrier of the kernel. */
void kernels_rounds_ready(const struct kernel *g, struct pass_writer *w);
/* Emits labels for the exits of the code pieces. The labels are the last statements of w and are
 * not copied to the entry. */
void kernels_put_exits(
	struct kernel *g, struct pass_writer *w, const char *const *names, unsigned n);
/* Makes w the body of the kernel's function, prepares copying it into the entry, and frees w. In
 * the entry, label to[i] replaces label exits[i]. */
int kernels_graft(struct kernels *x, unsigned k, struct pass_writer *w, unsigned n_exits);
/* Records that the next statement implements the instruction `number` of kernel k, or none
 * (PASS_OURS). */
void kernels_note(struct kernels *x, struct pass_writer *w, unsigned k, uint32_t number);
void kernels_put_piece(struct kernels *x, struct pass_writer *w, unsigned k, unsigned piece);
/* Completes the module: removes the kernels' functions, gives the entry its body and bounds, and
 * validates the module. */
int kernels_seal(struct kernels *x, struct pass_writer *w, const uint32_t block[3]);
/* Frees everything except the module. If r is not 0, frees the module, too. Stores the reason of
 * -ENOTSUP in ret_verdict. */
void kernels_finish(struct kernels *x, int r, struct pass_verdict *ret_verdict);

#endif
