/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shares of programs that launch without end (FLEP, section 6.3.3), from the end times of their
 * rounds. A program's progress is its rounds per second beside others over its rounds per second
 * alone. Its share is its part of the sum of all progress. The lost throughput is 1 minus that sum.
 * Pure: numbers in, numbers out. */
#ifndef HEDDLE_SHARES_H
#define HEDDLE_SHARES_H

#include "base/base.h"

#define SHARES_MAX 3 /* programs */

struct shares_input {
	unsigned n; /* programs */
	unsigned weight[SHARES_MAX];
	double alone_per_s[SHARES_MAX];      /* rounds a second; above 0 */
	const uint64_t *done_ns[SHARES_MAX]; /* of each round, in order */
	unsigned rounds[SHARES_MAX];
	uint64_t from_ns, window_ns; /* the first window; the others follow without a gap */
	unsigned windows;
};

struct shares {
	double share[SHARES_MAX]; /* medians of the windows, as all below; 0 to 1 */
	double progress[SHARES_MAX];
	double lost;                      /* 1 - sum of progress; below 0 where work overlaps */
	double share_spread, lost_spread; /* maximum minus minimum; -1: one window */
	/* largest difference of a share from its weight's, in percentage points */
	double deviation;
};

/* Rounds finished at at_ns, plus the elapsed part of the current one. Before the end of the first
 * round and after the last, only whole rounds count. */
double shares_rounds(const uint64_t *done_ns, unsigned n, uint64_t at_ns);
/* Rounds a second: the median of the windows, each of window_ns, from from_ns. 0: none, or out of
 * memory. */
double shares_rate(const uint64_t *done_ns, unsigned n, uint64_t from_ns, uint64_t window_ns,
	unsigned windows);
/* The share to which the weight of program i entitles it, 0 to 1. */
double shares_wanted(const unsigned *weight, unsigned n, unsigned i);
/* The largest difference of a share (0 to 1) from its weight's, in percentage points. */
double shares_deviation(const double *share, const unsigned *weight, unsigned n);
/* 0; -ENOMEM; -ENODATA: in some window no program progressed. */
int shares_sum_up(const struct shares_input *in, struct shares *ret);

#endif
