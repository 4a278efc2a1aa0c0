/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels as tasks of a kernel that stays (Pagoda): how that is made. What it and hosts tell each
 * other: ctl/task.h. */
#ifndef HEDDLE_TASK_H
#define HEDDLE_TASK_H

#include "ctl/task.h"
#include "pass/pass.h"

/* A kernel as one kind of task. */
struct pass_task {
	const struct ptx_module *m; /* read only */
	const char *name;
	bool partly; /* blocks may end in a part of a warp */
	/* Filled in: */
	uint32_t arg_bytes, arg_align; /* of its parameters */
	uint32_t static_bytes;         /* of its shared memory; dynamic comes behind, 16-aligned */
	bool barriers;                 /* it needs the number of one */
	bool one_dimensional;          /* it holds for blocks of one dimension only */
	bool rising;                   /* its blocks may wait for each other */
};

/* Where a task of this kernel may fail: its trap or call of __assertfail number `site`, from 1.
 * NULL: there are fewer. */
const struct ptx_stmt *pass_task_site(const struct ptx_func *f, unsigned site);

struct pass_pool {
	uint32_t threads;   /* of the master's blocks: executors and 32 */
	uint32_t registers; /* of a thread at most; 0: as it comes */
	uint32_t per_sm;    /* blocks that an SM is to hold; 0: as it comes */
	bool wide;          /* tasks may have blocks of more warps than there are executors */
	uint32_t nap_ns;    /* between looks that find nothing; 0: as is good */
	bool stamps;        /* task_args.stamps are made; not with wide */
};

/* A new module with the entry TASK_ENTRY, that runs tasks of n (1 to TASK_KINDS) kinds. Dynamic
 * shared memory of its launch: task_args.shared_bytes. Returns 0; -ENOTSUP with ret_verdict->reason
 * (in the arena of diags) when kernel *ret_which cannot be a task; -EINVAL with diags (a bug);
 * -ENOMEM. */
int pass_tasks(struct pass_task *kinds, unsigned n, const struct pass_pool *pool,
	struct diag_list *diags, struct ptx_module **ret_m, struct pass_verdict *ret_verdict,
	unsigned *ret_which);

#endif
