/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Emits the scheduler (emit_schedule.c) for emit_task.c. */
#ifndef HEDDLE_EMIT_SCHEDULE_H
#define HEDDLE_EMIT_SCHEDULE_H

#include "pass/task/emit_task.h"

/* Declares all registers that the master kernel uses. */
void task_put_registers(struct pass_writer *w);
void task_put_setup(struct pass_writer *w);
/* Emits the scheduler's loop, up to the exit of its warp. */
void task_put_scheduler(struct pass_writer *w, const struct pass_pool *pool);
/* Emits a store of the time, for pools with stamps. guard: "" or a predicate and a space; row: the
 * register with the row's number; which: the offset in struct task_stamps. */
void task_put_stamp(struct pass_writer *w, const char *guard, const char *row, size_t which);

#endif
