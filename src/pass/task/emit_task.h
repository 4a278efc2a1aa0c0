/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What stands around the bodies of tasks in one entry (emit_task.c). */
#ifndef HEDDLE_EMIT_TASK_H
#define HEDDLE_EMIT_TASK_H

#include "pass/fuse/guests.h"
#include "pass/task/task.h"
#include "pass/task/task_shared.h"

#define TASK_PARAM "hd_task" /* struct task_args */
#define TASK_OWN   "hd_own"  /* struct task_shared */

/* task_fail.c: guest k's traps and failed assertions end its task alone; own: TASK_OWN. Ahead of
 * guests_look. -ENOTSUP: it cannot be so. */
int pass_fail_alone(struct guests *x, unsigned k, struct ptx_sym *own);
/* Behind the body and its rounds: how the thread failed, if it did. find_record: %hd_r0 the warp's
 * word, %hd_r1 its record less N_RECORD, %hd_r3 TASK_OWN. */
void pass_put_failed(struct pass_writer *w, const char *find_record);

/* The entry's body: w is the host's, a guest's one piece runs one block of it. */
void pass_emit_tasks(struct guests *x, struct pass_writer *w, const struct pass_pool *pool);

#endif
