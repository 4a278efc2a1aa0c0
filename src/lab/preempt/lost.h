/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The loss by preemption (FLEP, sections 6.1 and 6.4), computed from measured rounds of pairs of
 * programs. The time of a round ends when both programs are done. The functions do no I/O.
 * - A pair is measured in four forms: without heddle, with heddle but never preempted, preempted on
 *   all SMs, and preempted on some SMs.
 * - The overhead is relative to the pair without heddle, as in the paper.
 * - The loss for each preemption is relative to the pair with heddle but never preempted. */
#ifndef HEDDLE_LOST_H
#define HEDDLE_LOST_H

#include "base/base.h"

enum { LOST_ORIGINAL, LOST_KEPT, LOST_TEMPORAL, LOST_SPATIAL, LOST_FORMS };

struct lost_samples {
	double *ns; /* the duration of each round, until both programs were done */
	unsigned n, preemptions;
};

struct lost_pair {
	unsigned low, high; /* indices of the programs */
	struct lost_samples of[LOST_FORMS];
};

struct lost {
	/* Means over those pairs that were preempted both on all SMs (temporal) and on some SMs
	 * (spatial).
	 * - overhead: relative to the pair's time without heddle
	 * - us: loss of each preemption in us
	 * - us_low, us_high: bounds of the 95 % confidence interval of us */
	double overhead[LOST_FORMS], us[LOST_FORMS], us_low[LOST_FORMS], us_high[LOST_FORMS];
	/* 1 - spatial / temporal, computed from us */
	double reduction, reduction_low, reduction_high;
	/* 1 - spatial / temporal, computed from overhead */
	double overhead_reduction;
	unsigned pairs, rounds, preemptions[LOST_FORMS];
};

/* Computes mean overhead and loss over the pairs with low-priority program `low`; over all pairs if
 * low < 0. Returns the number of pairs. */
unsigned lost_mean(const struct lost_pair *pairs, unsigned n, int low,
	double ret_overhead[LOST_FORMS], double ret_us[LOST_FORMS]);
/* Returns how many pairs with low-priority program `low` (all if low < 0) are noisy. A pair is
 * noisy if its rounds in any form differ by more than `most` of their median, or if there is only
 * one round. With ten or more rounds, the fastest and the slowest tenth do not count, because the
 * host sometimes delays a round, which does not affect medians. */
unsigned lost_noisy(const struct lost_pair *pairs, unsigned n, int low, double most);
/* Computes *ret; equal samples give equal intervals. Returns 0 or -ENOMEM. */
int lost_sum_up(const struct lost_pair *pairs, unsigned n, struct lost *ret);

#endif
