/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The rows of a pool's columns (pool.h), and the ids of the tasks in them. */
#ifndef HEDDLE_RT_POOL_ROW_H
#define HEDDLE_RT_POOL_ROW_H

#include "rt/pool.h"

/* The host's record of a column. */
struct pool_column {
	_Alignas(128) struct task_column *at;
	uint8_t *more;
	/* a thread has taken the column; guards the fields below (pool_place.c) */
	_Atomic bool taken;
	bool any_failed; /* a task of this column has failed before */
	uint32_t free;   /* mask of rows known to be free */
	uint32_t n_free;
	uint32_t named; /* mask of the rows whose `then` is not 0 */
	struct pool_row {
		_Atomic uint64_t gen;
		/* If the task was split and this is not its last part, the id of the next part;
		 * else 0. The bit POOL_INNER means that this is not the task's first part. */
		_Atomic uint64_t then;
		_Atomic unsigned form; /* index of the form in the module */
	} row[TASK_ROWS];
	/* number of the last launch that got this column; 0 after that launch has ended; guarded by
	 * the pool's lock */
	uint32_t launch;
};

/* The id of a task identifies one generation of a row. */
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
/* Returns the column of a task's id, or NULL if there is no such row. */
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
static inline uint8_t pool_in(const struct pool_column *c, unsigned row)
{
	return __atomic_load_n(&c->at->in[row], __ATOMIC_RELAXED);
}
static inline uint8_t pool_out(const struct pool_column *c, unsigned row)
{
	return __atomic_load_n(&c->at->out[row], __ATOMIC_ACQUIRE);
}

static inline bool pool_has_waiting(const struct pool_column *c)
{
	for (unsigned r = 0; r < TASK_ROWS; r++)
		if (pool_in(c, r) != pool_out(c, r))
			return true;
	return false;
}

/* Call this between storing a row's byte of `in` and reading the pool's state. */
static inline void pool_light_fence(const struct heddle_tasks *t)
{
	if (t->heavy)
		atomic_signal_fence(memory_order_seq_cst);
	else
		atomic_thread_fence(memory_order_seq_cst);
}

/* pool_shape.c: checks a task, and encodes it for the device, without its parameters. Returns
 * -EINVAL, -E2BIG or -ENOTSUP, with the error text set, if the task cannot run. If the task needs a
 * new form of its kernel, also returns the errors of building it. */
struct pool_asked {
	uint64_t head[POOL_HEAD]; /* the first words of struct task_desc */
	/* number of rows that the task needs; if several, usually in different columns */
	uint32_t parts;
};
int pool_ask(struct heddle_tasks *t, struct pool_kernel *k, const struct heddle_task *task,
	struct pool_asked *ret);

/* pool_place.c: takes a column with a free row. The column belongs to the calling thread until the
 * thread returns it. */
struct pool_place {
	struct pool_column *c;
	bool own; /* true: this thread owns the whole pool */
};
int pool_claim(struct heddle_tasks *t, struct pool_place *ret);
void pool_unclaim(struct heddle_tasks *t, const struct pool_place *p);
/* Checks in all columns which tasks have ended. */
void pool_harvest(struct heddle_tasks *t);

#endif
