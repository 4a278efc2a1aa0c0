/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches of the guard form: which counts of blocks they can have, and when they change. */
#ifndef HEDDLE_SCHED_GUARD_H
#define HEDDLE_SCHED_GUARD_H

#include "quota.h"

struct sched;
struct sched_launch;

/* Of a launch. */
struct sched_guard {
	bool is;             /* it is one; struct sched_launch_info, unranked and */
	uint32_t counts;     /* counts */
	bool resizing;       /* its blocks have not all left because its count was changed; */
	uint64_t resized_at; /* so many blocks had finished then */
};

/* Quotas as the launch can have them: one count on all SMs where it has some. */
void sched_guard_fit(const struct sched_launch *l, struct quota *io);
bool sched_guard_is_even(const struct quota *q); /* they have one count already */
/* Does so with next_allowed, which keeps its count while the launch leaves for the last change. */
void sched_guard_place(struct sched *s, struct sched_launch *l, uint64_t now_ns);
/* next_allowed is about to become what it has; and its blocks have left. */
void sched_guard_told(struct sched_launch *l);
void sched_guard_drained(struct sched *s, uint64_t now_ns, struct sched_launch *l);

#endif
