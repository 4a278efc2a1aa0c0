/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches of the guard form: which counts of blocks per SM they can have, and when their count may
 * change. */
#ifndef HEDDLE_SCHED_GUARD_H
#define HEDDLE_SCHED_GUARD_H

#include "quota.h"

struct sched;
struct sched_launch;

/* The guard form's state in struct sched_launch. */
struct sched_guard {
	bool is;         /* the launch has the guard form (struct sched_launch_info: unranked) */
	uint32_t counts; /* guard form: the counts it can have */
	/* true if the count has changed, and some blocks from before the change are still there */
	bool resizing;
	uint64_t resized_at; /* number of finished blocks when the count changed */
};

/* Replaces the quotas by possible ones: one count for all SMs where the launch may have blocks. The
 * smallest quota above 0 determines the count. The count is the largest possible one up to this
 * quota, or else the smallest possible one. There is no bound if the quota admits all blocks that
 * fit, or if no counts are known. */
void sched_guard_fit(const struct sched_launch *l, struct quota *io);
bool sched_guard_is_even(const struct quota *q); /* true if all nonzero quotas are equal */
/* Applies sched_guard_fit to next_allowed. The launch keeps its present count while blocks from
 * before the last change are still there. */
void sched_guard_place(struct sched *s, struct sched_launch *l, uint64_t now_ns);
/* sched_guard_told must be called just before next_allowed becomes allowed. sched_guard_drained
 * must be called when all blocks of the launch have left; it returns true if they have left because
 * the count changed. */
void sched_guard_told(struct sched_launch *l);
bool sched_guard_drained(struct sched *s, struct sched_launch *l);

#endif
