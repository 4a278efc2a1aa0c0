/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The code that surrounds the bodies of tasks in one entry (emit_task.c). */
#ifndef HEDDLE_EMIT_TASK_H
#define HEDDLE_EMIT_TASK_H

#include "pass/fuse/kernels.h"
#include "pass/task/task_shared.h"
#include "pass/task/tasks.h"

#define TASK_PARAM "hd_task" /* parameter: struct task_args */
#define TASK_OWN   "hd_own"  /* shared memory: struct task_shared */

/* task_fail.c: rewrites traps and failed assertions of kernel k so that they end only the task, and
 * not the launch with all its tasks. `own` is the symbol TASK_OWN. Must be called before
 * kernels_look. Returns -ENOTSUP if a task of the kernel cannot fail without ending other tasks. */
int pass_fail_alone(struct kernels *x, unsigned k, struct ptx_sym *own);
/* Emits code that reports how the thread failed, if it did. This code comes after the body and the
 * code of the body's barriers (rounds.c). The PTX text find_record sets %hd_r0 to the warp's entry
 * of `go`, %hd_r1 to the address of the warp's record minus N_RECORD, and %hd_r3 to the address of
 * TASK_OWN. */
void pass_put_failed(struct pass_writer *w, const char *find_record);

/* Emits the entry's body with w, the writer of the entry. The code of each kernel is inserted once
 * (ptx/graft.h) and runs one block. */
void pass_emit_tasks(struct kernels *x, struct pass_writer *w, const struct pass_pool *pool);

#endif
