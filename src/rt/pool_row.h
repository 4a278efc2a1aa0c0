/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Rows of a pool's columns (pool.h), and the ids of what is in them. */
#ifndef HEDDLE_RT_POOL_ROW_H
#define HEDDLE_RT_POOL_ROW_H

#include "rt/pool.h"

/* An id is a generation of a row. */
#define POOL_ROW_BITS    5
#define POOL_COLUMN_BITS 12
_Static_assert(POOL_MAX_COLUMNS == 1 << POOL_COLUMN_BITS && TASK_ROWS < 1 << POOL_ROW_BITS, "ids");

static inline uint64_t pool_id(
	const struct heddle_tasks *t, const struct pool_column *c, unsigned row, uint64_t gen)
{
	return gen << (POOL_COLUMN_BITS + POOL_ROW_BITS) | (uint64_t)(c - t->of) << POOL_ROW_BITS |
	       row;
}
#define POOL_INNER (1ull << 63)
/* NULL: there is no such row. */
static inline struct pool_column *pool_of_id(
	const struct heddle_tasks *t, uint64_t id, unsigned *ret_row, uint64_t *ret_gen)
{
	uint64_t column = id >> POOL_ROW_BITS & (POOL_MAX_COLUMNS - 1);

	*ret_row = id & ((1u << POOL_ROW_BITS) - 1);
	*ret_gen = id >> (POOL_COLUMN_BITS + POOL_ROW_BITS);
	return *ret_row < TASK_ROWS && column < t->n_columns ? &t->of[column] : NULL;
}
static inline uint64_t pool_why(const struct pool_column *c, unsigned row)
{
	return __atomic_load_n(&c->at->why[row], __ATOMIC_RELAXED);
}
static inline uint32_t pool_in(const struct pool_column *c, unsigned row)
{
	return __atomic_load_n(&c->at->in[row], __ATOMIC_RELAXED);
}
static inline uint32_t pool_out(const struct pool_column *c, unsigned row)
{
	return __atomic_load_n(&c->at->out[row], __ATOMIC_ACQUIRE);
}

#endif
