/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes kernels tasks of a persistent kernel (Pagoda). ctl/task.h is the interface between the
 * persistent kernel and hosts. */
#ifndef HEDDLE_PASS_TASKS_H
#define HEDDLE_PASS_TASKS_H

#include "ctl/task.h"
#include "pass/pass.h"

/* A kernel as one kind of task. */
struct pass_task {
	const struct ptx_module *m; /* read only */
	const char *name;
	bool partly; /* blocks may end in a part of a warp */
	/* Filled in: */
	uint32_t arg_bytes, arg_align; /* of its parameters */
	uint32_t static_bytes;         /* static shared memory; dynamic follows, 16-aligned */
	bool barriers;                 /* it needs the number of one */
	bool one_dimensional;          /* only blocks of one dimension are correct */
	bool rising;                   /* its blocks may wait for each other */
};

/* Returns the statement at which a task of this kernel may fail: the kernel's trap or call of
 * __assertfail number `site`, counted from 1. NULL: the kernel has fewer. */
const struct ptx_stmt *pass_task_site(const struct ptx_func *f, unsigned site);

struct pass_pool {
	uint32_t threads;   /* of the master's blocks: executors plus 32 */
	uint32_t registers; /* of a thread at most; 0: as it comes */
	uint32_t per_sm;    /* desired blocks per SM; 0: no demand */
	bool wide;          /* a task's blocks may have more warps than there are executors */
	uint32_t nap_ns;    /* pause between polls without result; 0: default */
	bool stamps;        /* fill task_args.stamps; not with wide */
};

/* Makes a new module with the entry TASK_ENTRY, which runs tasks of n kinds (1 to TASK_KINDS). A
 * launch of the entry needs task_args.shared_bytes of dynamic shared memory. Returns 0; -ENOTSUP
 * with ret_verdict->reason (in the arena of diags) if kernel *ret_which cannot be a task; -EINVAL
 * with diags (a bug); -ENOMEM. */
int pass_tasks(struct pass_task *kinds, unsigned n, const struct pass_pool *pool,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_verdict *ret_verdict,
	unsigned *ret_which);

#endif
