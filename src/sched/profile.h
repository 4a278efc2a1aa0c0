/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What past launches taught: how long a kernel of a shape runs, and what preempting it costs.
 * Bounded tables; the longest unused entry of a small set makes room. */
#ifndef HEDDLE_SCHED_PROFILE_H
#define HEDDLE_SCHED_PROFILE_H

#include "base/base.h"

#define PROFILE_SETS 1024u
#define PROFILE_WAYS 8u
#define PROFILE_SAMPLES                                                           \
	50u /* the paper's number of runs that a preemption's cost is the mean of \
	     */

struct profile_shape {
	uint64_t key, used;
	uint64_t mean_ns; /* of the whole launch; a shape's key 0 with mean 0 is free */
	uint32_t n;
};

struct profile_cost {
	uint64_t key, used, sum_ns;
	uint32_t n, next;
	uint32_t ns[PROFILE_SAMPLES];
};

struct profile {
	uint64_t clock;
	struct profile_shape shapes[PROFILE_SETS][PROFILE_WAYS];
	struct profile_cost costs[PROFILE_SETS / 8][PROFILE_WAYS];
};

/* SCHED_UNKNOWN when neither this shape nor another grid of the kernel has been seen. */
uint64_t profile_predict(
	struct profile *p, uint64_t kernel, uint64_t total, uint32_t threads, uint32_t shared);
void profile_learn(struct profile *p, uint64_t kernel, uint64_t total, uint32_t threads,
	uint32_t shared, uint64_t ran_ns);
uint64_t profile_cost_of(struct profile *p, uint64_t kernel, uint64_t otherwise);
void profile_learn_cost(struct profile *p, uint64_t kernel, uint64_t cost_ns);

#endif
