/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Predicts how long two kernels take side by side on the SMs, from their curves (pair.c has the
 * formula), and corrects the prediction by what was measured. Models of durations use it for
 * struct sched_model's pair and learn_pair. */
#ifndef HEDDLE_SCHED_PAIR_H
#define HEDDLE_SCHED_PAIR_H

#include "model.h"

#define PAIR_RATIOS 1024u

/* All zero: nothing learnt. Plain data. A pair replaces another one that has the same place. */
struct pair_ratios {
	struct pair_ratio {
		uint64_t kernel, beside;
		float ratio; /* measured time of `kernel` by the predicted one, a moving mean */
		uint32_t n;  /* spells learnt; 0: the place is free */
	} at[PAIR_RATIOS];
};

/* curve[i][n]: an SM's time for a block of kernel i with n + 1 blocks on it, ns; 0: not measured.
 * Sets ret_ns[i], likewise, for both kernels side by side. 0; -ENOENT: fewer than two counts of a
 * kernel were measured (fewer than one, if an SM holds one block of it); nothing is set then. */
int pair_ask(const struct pair_ratios *r, const struct sched_pair *p,
	const float curve[2][SCHED_PER_SM], float ret_ns[2]);
/* So many blocks of kernel 0 took sm_ns beside kernel 1. False: its curve has no measurement at
 * this count, or pair_ask would not know the pair; nothing was learnt. */
bool pair_teach(struct pair_ratios *r, const struct sched_pair *p,
	const float curve[2][SCHED_PER_SM], uint64_t blocks, uint64_t sm_ns);

#endif
