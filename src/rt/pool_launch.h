/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The launches of a pool that are on the GPU now. */
#ifndef HEDDLE_RT_POOL_LAUNCH_H
#define HEDDLE_RT_POOL_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "dev/cu.h"

#define POOL_LAUNCHES 6 /* maximum number of launches of one pool on the GPU at once */

struct heddle_tasks;

/* A launch on the GPU, or a free entry of the table. */
struct pool_launch {
	_Atomic uint32_t number; /* 0: the entry is free */
	CUstream stream;
	CUdeviceptr ticket, list_at;
	uint32_t *list;  /* pinned: the columns that this launch starts */
	uint64_t due_ns; /* when to ask its columns to leave; UINT64_MAX: never */
	bool asked;      /* its columns were asked to leave, at asked_ns */
	uint64_t asked_ns;
	unsigned refused; /* how often a column has not left in time */
};

/* Call these with the pool's lock. */
CUresult pool_bring(struct heddle_tasks *t, uint64_t now); /* launches all columns that are away */
/* Checks all launches, and notes which have ended. */
CUresult pool_query(struct heddle_tasks *t);
/* The same check without the lock; notes nothing. */
CUresult pool_find_fault(struct heddle_tasks *t);
unsigned pool_count_launches(const struct heddle_tasks *t); /* launches on the GPU */
unsigned pool_count_away(const struct heddle_tasks *t);     /* columns that no launch has */
unsigned pool_count_columns(
	const struct heddle_tasks *t, const struct pool_launch *l); /* columns that are not away */
/* Ask the columns of a launch to leave, or to stay. */
void pool_ask_leave(struct heddle_tasks *t, struct pool_launch *l, uint64_t now);
void pool_ask_stay(struct heddle_tasks *t, struct pool_launch *l, uint64_t now);

#endif
