/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches of the guard form: which counts of blocks they can have, and when their count
 * changes. */
#ifndef HEDDLE_SCHED_GUARD_H
#define HEDDLE_SCHED_GUARD_H

#include "quota.h"

struct sched;
struct sched_launch;

/* The part of struct sched_launch for the guard form. */
struct sched_guard {
	bool is;         /* it has the guard form (struct sched_launch_info: unranked), */
	uint32_t counts; /* with these counts */
	/* its count has changed, and blocks of the old count have not all left; */
	bool resizing;
	uint64_t resized_at; /* finished blocks at that time */
};

/* Reduces the quotas to those that the launch can have: one count on all SMs where it has some. */
void sched_guard_fit(const struct sched_launch *l, struct quota *io);
bool sched_guard_is_even(const struct quota *q); /* all SMs with a quota have the same one */
/* Applies sched_guard_fit to next_allowed. The launch keeps its present count while blocks of
 * the last change are still leaving. */
void sched_guard_place(struct sched *s, struct sched_launch *l, uint64_t now_ns);
/* sched_guard_told: call it just before next_allowed becomes allowed. sched_guard_drained: all
 * blocks have left. */
void sched_guard_told(struct sched_launch *l);
void sched_guard_drained(struct sched *s, uint64_t now_ns, struct sched_launch *l);

#endif
