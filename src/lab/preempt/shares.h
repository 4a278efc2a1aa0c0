/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shares of programs that launch endlessly (FLEP, section 6.3.3), computed from the end times of
 * their rounds. A program's progress is its rounds per second beside the other programs, divided by
 * its rounds per second alone. Its share is its progress divided by the sum of all programs'
 * progress. The lost throughput is 1 minus that sum. The functions do no I/O. */
#ifndef HEDDLE_SHARES_H
#define HEDDLE_SHARES_H

#include "base/base.h"

#define SHARES_MAX 3 /* maximum number of programs */

struct shares_input {
	unsigned n; /* number of programs */
	unsigned weight[SHARES_MAX];
	double alone_per_s[SHARES_MAX]; /* rounds per second when the program runs alone; above 0 */
	/* windows + 1 numbers: the rounds that were finished when the first window began, and at
	 * the end of each window (shares_cut) */
	const double *finished[SHARES_MAX];
	uint64_t window_ns; /* length of each window; there are no gaps between windows */
	unsigned windows;
};

struct shares {
	double share[SHARES_MAX]; /* medians over the windows, as in all fields below; 0 to 1 */
	double progress[SHARES_MAX];
	/* 1 - sum of progress; negative if programs' work overlaps */
	double lost;
	/* maximum minus minimum; -1 if there is only one window */
	double share_spread, lost_spread;
	/* largest difference between a program's share and the share that its weight entitles it
	 * to, in percentage points */
	double deviation;
};

/* Returns the number of rounds that the program had finished at time at_ns, plus the elapsed
 * fraction of its current round. During the first round, and after the end of the last, there is no
 * such fraction: only finished rounds count. */
double shares_rounds(const uint64_t *done_ns, unsigned n, uint64_t at_ns);
/* Writes the rounds that were finished at the beginning of the first window and at the end of each
 * window: windows + 1 numbers. */
void shares_cut(const uint64_t *done_ns, unsigned n, uint64_t from_ns, uint64_t window_ns,
	unsigned windows, double *ret_finished);
/* Returns the median, over the windows, of the rounds per second. Returns 0 if there are no rounds
 * or memory runs out. */
double shares_rate(const double *finished, uint64_t window_ns, unsigned windows);
/* Returns the share to which program i is entitled by its weight, 0 to 1. */
double shares_wanted(const unsigned *weight, unsigned n, unsigned i);
/* Returns the largest difference between a program's share (0 to 1) and the share that its weight
 * entitles it to, in percentage points. */
double shares_deviation(const double *share, const unsigned *weight, unsigned n);
/* Computes *ret. Returns 0, -ENOMEM, or -ENODATA if no program progressed in some window. */
int shares_sum_up(const struct shares_input *in, struct shares *ret);

#endif
