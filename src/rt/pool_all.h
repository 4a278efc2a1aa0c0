/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The list of all pools of the process (pool_all.c). rt_pools_hold and rt_pools_release are in
 * rt.h. */
#ifndef HEDDLE_RT_POOL_ALL_H
#define HEDDLE_RT_POOL_ALL_H

#include "rt/pool.h"

#define ENDING_NS 10000000000u /* timeout for running tasks to end */

void pools_enlist(struct heddle_tasks *t);
void pools_delist(struct heddle_tasks *t);
bool pools_are_held(void);
bool pools_one_waits(const struct heddle_tasks *but); /* call it with the lock of `but` */
/* Like rt_pools_hold, but sets no error text. */
int pools_hold(void);
/* Returns 0, or -EINVAL with the error text set if t is NULL or belongs to the parent process. */
int pool_check(const struct heddle_tasks *t);

#endif
