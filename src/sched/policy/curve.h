/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Configurations of a kernel (Adaptive simultaneous multi-tenancy, section 3.5): how many of its
 * blocks may stay on each SM, and the kernel's duration with that many. Policy greedy chooses among
 * the configurations that pruning keeps; heddle profile measures and shows all of them. */
#ifndef HEDDLE_SCHED_CURVE_H
#define HEDDLE_SCHED_CURVE_H

#include "base/base.h"

/* Returns the largest count that a grid can use, at least 1. An SM holds blocks_per_sm blocks (0
 * counts as 1), and the grid has `left` unfinished blocks for n_sms SMs. */
uint32_t curve_most(uint32_t blocks_per_sm, uint64_t left, uint32_t n_sms);
/* Returns the count that a profile measures in this step, counted from 0. The first `most` steps
 * visit each count from 1 to `most` (at least 1) once: the largest, then 1, then the others in an
 * order that spreads the first few over the range. Later steps repeat this order. */
uint32_t curve_turn(uint32_t most, uint32_t step);
/* Returns the smallest count above `count` with a shorter duration than at `count`; for count 0,
 * the smallest count with any duration. ns[n] is the duration with n blocks on each SM, for n from
 * 1 to `most`, in any unit; 0: not measured. Returns 0 if there is none. */
uint32_t curve_next(const double *ns, uint32_t most, uint32_t count);
/* Prunes the curve: keeps a measured count if all smaller measured counts take longer. So durations
 * fall strictly over the counts that are kept. Sets ret_kept[n] for n from 1 to `most`. Returns how
 * many counts are kept. */
uint32_t curve_prune(const double *ns, uint32_t most, bool *ret_kept);

#endif
