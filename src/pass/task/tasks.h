/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes kernels tasks of a persistent kernel (Pagoda). ctl/task.h is the interface between the
 * persistent kernel and hosts. */
#ifndef HEDDLE_PASS_TASKS_H
#define HEDDLE_PASS_TASKS_H

#include "ctl/task.h"
#include "pass/pass.h"

/* A kernel whose blocks tasks run: one kind of task. */
struct pass_task {
	const struct ptx_module *m; /* not modified */
	const char *name;
	bool partly; /* the last warp of a block may be incomplete */
	/* Filled in by the pass: */
	uint32_t arg_bytes, arg_align; /* size and alignment of the parameters */
	/* size of static shared memory; dynamic memory follows, 16-byte aligned */
	uint32_t static_bytes;
	bool barriers;        /* blocks need a barrier number */
	bool one_dimensional; /* the kernel is correct only for one-dimensional blocks */
	bool rising;          /* the kernel's blocks may wait for each other */
};

/* Returns the statement at which a task of this kernel may fail: the kernel's trap or call of
 * __assertfail number `site`, counted from 1. NULL: the kernel has fewer. */
const struct ptx_stmt *pass_task_site(const struct ptx_func *f, unsigned site);

struct pass_pool {
	uint32_t threads;   /* threads per block of the master kernel: all executors plus 32 */
	uint32_t registers; /* register limit per thread; 0: none */
	uint32_t per_sm;    /* desired number of master blocks per SM; 0: any */
	bool wide;          /* a task's block may have one warp more than there are executors */
	uint32_t nap_ns;    /* pause between unsuccessful polls; 0: default */
	bool stamps;        /* record times in task_args.stamps; cannot be combined with `wide` */
};

/* Makes a new module with the entry TASK_ENTRY, which runs tasks of n kinds (1 to TASK_KINDS). A
 * launch of the entry needs task_args.shared_bytes of dynamic shared memory. Returns 0; -ENOTSUP
 * with ret_verdict->reason (in the arena of diags) if kernel *ret_which cannot be a task; -EINVAL
 * with diags (a bug); -ENOMEM. */
int pass_tasks(struct pass_task *kinds, unsigned n, const struct pass_pool *pool,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_verdict *ret_verdict,
	unsigned *ret_which);

#endif
