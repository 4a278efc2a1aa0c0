/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Predicts the durations of two kernels side by side on the SMs from the curves of each kernel
 * (pair.c has the formula). Measurements correct the predictions. Models of durations implement
 * pair and learn_pair of struct sched_model with these functions. */
#ifndef HEDDLE_SCHED_PAIR_H
#define HEDDLE_SCHED_PAIR_H

#include "model.h"

#define PAIR_RATIOS 1024u

/* Measurements of pairs. All zero means that nothing is known. The structure holds no
 * pointers. A new pair replaces the pair that has the same index. */
struct pair_ratios {
	struct pair_ratio {
		uint64_t kernel, beside;
		/* moving mean of the measured time of `kernel` divided by the predicted one */
		float ratio;
		uint32_t n; /* number of spells in the mean; 0: the entry is free */
	} at[PAIR_RATIOS];
};

/* Predicts the times of a pair. curve[i][n] is an SM's time in ns for a block of kernel i with n +
 * 1 blocks of the kernel on the SM; 0: not measured. Sets ret_ns[i] to the same time for both
 * kernels side by side, and returns 0. Returns -ENOENT and leaves ret_ns unchanged if fewer than
 * two counts of a kernel were measured. One count suffices if an SM holds only one block of the
 * kernel. */
int pair_ask(const struct pair_ratios *r, const struct sched_pair *p,
	const float curve[2][SCHED_PER_SM], float ret_ns[2]);
/* Learns from a measurement: this number of blocks of kernel 0 took sm_ns beside kernel 1. Returns
 * false and learns nothing if kernel 0's curve has no measurement at its present count of blocks on
 * an SM, or if pair_ask would return -ENOENT for the pair. */
bool pair_teach(struct pair_ratios *r, const struct sched_pair *p,
	const float curve[2][SCHED_PER_SM], uint64_t blocks, uint64_t sm_ns);

#endif
