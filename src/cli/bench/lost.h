/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The loss by preemption (FLEP, sections 6.1 and 6.4), from measured rounds of a pair of programs,
 * by the time until both are through, preempted wholly or in part. The overhead is relative to the
 * pair without heddle (as in the paper). The loss is relative to the same forms never preempted,
 * for each preemption. Pure: numbers in, numbers out. */
#ifndef HEDDLE_LOST_H
#define HEDDLE_LOST_H

#include "base/base.h"

enum { LOST_ORIGINAL, LOST_KEPT, LOST_TEMPORAL, LOST_SPATIAL, LOST_FORMS };

struct lost_samples {
	double *ns; /* until both were through, a round each */
	unsigned n, preemptions;
};

struct lost_pair {
	unsigned low, high; /* which programs */
	struct lost_samples of[LOST_FORMS];
};

struct lost {
	/* Means over the pairs that were preempted in both ways: overhead relative to the
	 * original's time; microseconds a preemption; and the 95 % confidence interval of the
	 * latter. */
	double overhead[LOST_FORMS], us[LOST_FORMS], us_low[LOST_FORMS], us_high[LOST_FORMS];
	double reduction, reduction_low, reduction_high; /* 1 - spatial / temporal, of us */
	double overhead_reduction;                       /* of overhead */
	unsigned pairs, rounds, preemptions[LOST_FORMS];
};

/* Over the pairs of one low-priority program; low < 0: all. Returns their number. */
unsigned lost_mean(const struct lost_pair *pairs, unsigned n, int low,
	double ret_overhead[LOST_FORMS], double ret_us[LOST_FORMS]);
/* Of the same pairs, the number whose rounds differ by more than `most` of their median, in any
 * form, or which have one round. From ten rounds on, the tenth at either end is left out: the host
 * sometimes delays a round, which does not affect medians. */
unsigned lost_noisy(const struct lost_pair *pairs, unsigned n, int low, double most);
/* 0, -ENOMEM. The same samples give the same intervals. */
int lost_sum_up(const struct lost_pair *pairs, unsigned n, struct lost *ret);

#endif
