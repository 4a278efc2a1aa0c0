/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Estimates how long unmanaged launches take, by kernel and grid. The estimates are learnt from the
 * total time of batches of launches that ran one after another. Not thread-safe. */
#ifndef HEDDLE_SHIM_COST_H
#define HEDDLE_SHIM_COST_H

#include <stdint.h>

#define COST_BATCH 8u /* maximum number of launches in a batch */

struct cost_batch {
	uint64_t what[COST_BATCH]; /* each identifies a kernel with its grid, or a graph; never 0 */
	uint32_t n;
	uint32_t us; /* sum of their cost_of */
};

/* Returns the estimated time in us, at least 1. If it is not known, returns unknown_us. */
uint32_t cost_of(uint64_t what, uint32_t unknown_us);
/* Corrects the estimates from a batch that took took_us in total. All estimates of the batch change
 * by the same factor, also if several launches are of one kind. If all launches of the batch are of one kind, their estimate approaches the
 * measured time within a few batches. */
void cost_learn(const struct cost_batch *b, uint32_t unknown_us, double took_us);
void cost_forget(void);

#endif
