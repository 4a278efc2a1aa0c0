/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* For test cases with tasks: loads the kernels of one PTX text by name, allocates memory for them,
 * and makes a pool. Include it after the definitions of `ptx`, `names` and `data`. */
#ifndef HEDDLE_TESTS_RT_OPENED_POOL_H
#define HEDDLE_TESTS_RT_OPENED_POOL_H

#include "heddle/task.h"
#include "opened.h"

#include <stdlib.h>

static struct heddle_tasks *t;

static void ok(int r)
{
	if (r < 0)
		fail_msg("%d: %s", r, heddle_tasks_error(t));
}

static int open_it(void **state)
{
	int r = heddle_open(getenv("DEVICE") ? getenv("DEVICE") : "cpu", &h);

	for (unsigned i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++)
		r = heddle_load(h, names[i], ptx, sizeof(ptx) - 1, names[i]);
	if (r == 0)
		r = heddle_alloc(h, sizeof(data), &at);
	return opened(r);
}

/* Makes a pool with the first n kernels; sets their memory to 0. */
static void make_pool(struct heddle_tasks_options o, unsigned *ret_number, unsigned n)
{
	o.size = sizeof(o);
	if (heddle_tasks_create(h, &o, &t) < 0)
		fail_msg("%s", heddle_error(h));
	for (unsigned i = 0; i < n; i++)
		ok(heddle_tasks_add(t, names[i], &ret_number[i]));
	memset(data, 0, sizeof(data));
	assert_int_equal(heddle_write(h, at, data, sizeof(data)), 0);
}

/* Spawns a task of kernel `number`. Its parameters are the address of 32-bit word `to` of the
 * test's memory, and the numbers a and b. Returns the task's id. */
static inline uint64_t spawn_of(
	unsigned number, unsigned blocks, unsigned threads, unsigned to, unsigned a, unsigned b)
{
	uint64_t p = at + 4ul * to, id = 0;
	void *params[] = {&p, &a, &b};
	struct heddle_task task = {.size = sizeof(task),
		.kernel = number,
		.grid = {blocks, 1, 1},
		.block = {threads, 1, 1},
		.params = params};

	ok(heddle_tasks_spawn(t, &task, &id));
	return id;
}

#endif
