/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A pool without a device, for tests of the host's part only. The pool's columns lie in plain
 * memory. A caller of echo_all takes the device's place: it marks all tasks that were spawned as
 * ended. */
#ifndef HEDDLE_TESTS_RT_FAKE_POOL_H
#define HEDDLE_TESTS_RT_FAKE_POOL_H

#include "rt/pool_row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct heddle fake_handle;
static struct heddle_tasks *fake;
static struct rt_kernel fake_kernel = {.name = (char *)"empty", .n_params = 1, .host.bytes = 8};
static atomic_bool fake_stop;

static inline void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static inline CUresult fake_query(CUstream s)
{
	(void)s;
	return CUDA_ERROR_NOT_READY;
}

static inline CUresult fake_push(CUcontext c)
{
	(void)c;
	return CUDA_SUCCESS;
}

static inline CUresult fake_pop(CUcontext *c)
{
	*c = NULL;
	return CUDA_SUCCESS;
}

static inline void fake_make(unsigned columns)
{
	struct heddle_tasks *t = aligned_alloc(
		_Alignof(struct heddle_tasks), round_up(sizeof(*t), _Alignof(struct heddle_tasks)));

	must(t, "no memory");
	memset(t, 0, sizeof(*t));
	fake_handle.ready = true;
	fake_handle.d.cu.cuStreamQuery = fake_query;
	fake_handle.d.cu.cuCtxPushCurrent = fake_push;
	fake_handle.d.cu.cuCtxPopCurrent = fake_pop;
	t->h = &fake_handle;
	t->o.threads = 1024;
	t->heavy = pool_has_heavy_fence();
	t->executors = 31;
	t->n_columns = columns;
	t->more_bytes = 64;
	atomic_store(&t->usable, columns);
	atomic_store(&t->state, POOL_RUNNING);
	t->columns = aligned_alloc(128, columns * sizeof(*t->columns));
	t->of = aligned_alloc(128, columns * sizeof(*t->of));
	must(t->columns && t->of, "no memory");
	memset(t->columns, 0, columns * sizeof(*t->columns));
	memset(t->of, 0, columns * sizeof(*t->of));
	for (unsigned c = 0; c < columns; c++) {
		t->of[c].at = &t->columns[c];
		t->of[c].free = (1u << TASK_ROWS) - 1;
		t->of[c].n_free = TASK_ROWS;
	}
	t->kernel[0] = (struct pool_kernel){.kernel = &fake_kernel, .arg_bytes = 8, .arg_align = 8};
	atomic_store(&t->kernel[0].form[1], -1);
	atomic_store(&t->n_kernels, 1);
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_init(&t->failed_lock, NULL);
	pthread_mutex_init(&t->owner_lock, NULL);
	fake = t;
}

static inline void fake_free(void)
{
	free(fake->columns);
	free(fake->of);
	free(fake);
}

static inline void echo_all(void)
{
	for (unsigned c = 0; c < fake->n_columns; c++)
		for (unsigned r = 0; r < TASK_ROWS; r++) {
			struct task_column *at = &fake->columns[c];
			uint8_t in = __atomic_load_n(&at->in[r], __ATOMIC_ACQUIRE);

			if (at->out[r] != in)
				__atomic_store_n(&at->out[r], in, __ATOMIC_RELEASE);
		}
}

static inline void *fake_echo(void *user)
{
	(void)user;
	while (!atomic_load(&fake_stop))
		echo_all();
	return NULL;
}

static inline uint64_t fake_spawn(void)
{
	static const uint64_t nowhere;
	const struct heddle_task task = {.size = sizeof(task),
		.grid = {1, 1, 1},
		.block = {128, 1, 1},
		.args = &nowhere,
		.args_bytes = sizeof(nowhere)};
	uint64_t id;

	if (heddle_tasks_spawn(fake, &task, &id) < 0)
		must(false, heddle_tasks_error(fake));
	return id;
}

#endif
