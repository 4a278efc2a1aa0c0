/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The launches of a pool that are on the GPU. */
#ifndef HEDDLE_RT_POOL_LAUNCH_H
#define HEDDLE_RT_POOL_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "dev/cu.h"

#define POOL_LAUNCHES 6 /* of one pool, on the GPU at once */

struct heddle_tasks;

/* A launch that is on the GPU, or a place for one. */
struct pool_launch {
	_Atomic uint32_t number; /* 0: none is there */
	CUstream stream;
	CUdeviceptr ticket, list_at;
	uint32_t *list;  /* columns that it brings; pinned */
	uint64_t due_ns; /* when its columns are asked to leave; UINT64_MAX: never */
	bool asked;      /* they have been asked, at: */
	uint64_t asked_ns;
	unsigned refused; /* how often one of them did not leave in time */
};

/* With the lock: */
CUresult pool_bring(struct heddle_tasks *t, uint64_t now);  /* all columns that are away */
CUresult pool_query(struct heddle_tasks *t);                /* of all launches; notes their ends */
CUresult pool_find_fault(struct heddle_tasks *t);           /* the same without the lock or notes */
unsigned pool_count_launches(const struct heddle_tasks *t); /* that are on the GPU */
unsigned pool_count_away(const struct heddle_tasks *t);     /* columns */
unsigned pool_count_columns(
	const struct heddle_tasks *t, const struct pool_launch *l); /* not away */
/* Has the columns of a launch leave, or stay. */
void pool_ask_leave(struct heddle_tasks *t, struct pool_launch *l, uint64_t now);
void pool_ask_stay(struct heddle_tasks *t, struct pool_launch *l, uint64_t now);

#endif
