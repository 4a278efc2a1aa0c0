/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What stands around the bodies of tasks in one entry (emit_task.c). */
#ifndef HEDDLE_EMIT_TASK_H
#define HEDDLE_EMIT_TASK_H

#include "pass/guests.h"
#include "pass/task.h"

#define TASK_PARAM "hd_task" /* struct task_args */
#define TASK_OWN   "hd_own"  /* struct task_shared */

/* The entry's body: w is the host's, a guest's one piece runs one block of it. */
void pass_emit_tasks(struct guests *x, struct pass_writer *w);

#endif
