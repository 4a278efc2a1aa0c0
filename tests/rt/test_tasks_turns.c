/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests that a busy pool leaves the GPU from time to time, so that the program's kernels and driver
 * calls make progress. Its columns then return one by one, even if a long task keeps other columns
 * on the GPU. */
#include "unit.h"

#include "rt/pool_row.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LONG     20000000000u /* ns: only a hang takes this long */
#define SOME     1000000000u
#define LIFETIME 5u /* ms */
#define LONGS    7

#include "put_await.h"

static struct heddle_tasks_state look(void)
{
	struct heddle_tasks_state s = {.size = sizeof(s)};

	ok(heddle_tasks_look(t, &s));
	return s;
}

static void nap(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	nanosleep(&pause, NULL);
}

/* ---- a thread that spawns continually ---- */
static pthread_t thread;
static atomic_bool stop;
static unsigned n_spawned; /* number of tasks that the thread has spawned */

static void *spawn_on(void *user)
{
	uint64_t to = at;
	unsigned one = 1;
	void *params[] = {&to, &one, &one};
	struct heddle_task task = {.size = sizeof(task),
		.kernel = number[PUT],
		.grid = {1, 1, 1},
		.block = {64, 1, 1},
		.params = params};

	while (!stop && heddle_tasks_spawn(user, &task, NULL) == 0)
		n_spawned++;
	return NULL;
}

static void begin_spawner(struct heddle_tasks *pool)
{
	stop = false;
	n_spawned = 0;
	assert_int_equal(pthread_create(&thread, NULL, spawn_on, pool), 0);
}

static void end_spawner(void)
{
	stop = true;
	pthread_join(thread, NULL);
}

/* Runs tasks until each column has run one. */
static void run_batch(void)
{
	static bool has[POOL_MAX_COLUMNS];
	unsigned columns = look().columns, seen = 0;
	uint64_t last = 0;

	memset(has, 0, sizeof(has));
	for (unsigned i = 0; seen < columns && i < 1000 * columns; i++) {
		uint64_t gen;
		unsigned row;
		struct pool_column *c;

		last = spawn_of(number[PUT], 1, 64, 1, 1, 0);
		c = pool_of_id(t, last, &row, &gen);
		seen += !has[c - t->of];
		has[c - t->of] = true;
		ok(heddle_tasks_wait(t, last, LONG));
	}
	assert_int_equal(seen, columns);
}

static void end_with_long_task(void)
{
	end_spawner();
	set_word(2, 7);
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), n_spawned * 64);
	assert_int_equal(heddle_tasks_destroy(t), 0);
}

/* ---- the cases ---- */

/* A kernel that needs the room of a whole SM: one block has all the threads of an SM. */
static void ordinary_kernel(void **state)
{
	const struct cu_api *cu = &h->d.cu;
	uint64_t to = at + 16, until, launches;
	unsigned one = 1, before;
	void *params[] = {&to, &one, &one};
	CUfunction fn;
	CUstream stream;
	CUmodule module;

	make((struct heddle_tasks_options){0});
	assert_int_equal(cu->cuCtxPushCurrent(h->d.context), CUDA_SUCCESS);
	assert_int_equal(cu->cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
	assert_int_equal(cu->cuModuleGetFunction(&fn, module, "put"), CUDA_SUCCESS);
	assert_int_equal(cu->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	begin_spawner(t);
	while (!look().running)
		nap();
	for (unsigned i = 1; i <= 5; i++) {
		assert_int_equal(
			cu->cuLaunchKernel(fn, 4, 1, 1, 1024, 1, 1, 0, stream, params, NULL),
			CUDA_SUCCESS);
		until = clock_ns() + LONG;
		while (cu->cuStreamQuery(stream) == CUDA_ERROR_NOT_READY && clock_ns() < until)
			nap();
		assert_int_equal(cu->cuStreamQuery(stream), CUDA_SUCCESS);
		assert_int_equal(word(4), i * 4 * 1024);
	}
	launches = look().launches;
	before = n_spawned;
	for (until = clock_ns() + LONG; n_spawned < before + 5000 && clock_ns() < until;)
		nap();
	assert_true(n_spawned >= before + 5000);
	assert_true(launches < 1000);
	end_spawner();
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(cu->cuModuleUnload(module), CUDA_SUCCESS);
	assert_int_equal(cu->cuStreamDestroy(stream), CUDA_SUCCESS);
	cu->cuCtxPopCurrent(&(CUcontext){NULL});
	assert_int_equal(word(0), n_spawned * 64);
	assert_int_equal(heddle_tasks_destroy(t), 0);
}

/* Makes calls that the driver completes only after all running kernels. */
static void *load_and_free(void *user)
{
	const struct cu_api *cu = &h->d.cu;
	atomic_uint *n = user;

	assert_int_equal(cu->cuCtxPushCurrent(h->d.context), CUDA_SUCCESS);
	for (unsigned i = 0; i < 5; i++) {
		CUmodule module;
		CUdeviceptr memory;

		if (cu->cuModuleLoadData(&module, ptx) == CUDA_SUCCESS &&
			cu->cuMemAlloc(&memory, 4096) == CUDA_SUCCESS &&
			cu->cuMemFree(memory) == CUDA_SUCCESS &&
			cu->cuModuleUnload(module) == CUDA_SUCCESS)
			(*n)++;
	}
	cu->cuCtxPopCurrent(&(CUcontext){NULL});
	return NULL;
}

static void driver_calls(void **state)
{
	atomic_uint n = 0;
	uint64_t until;
	pthread_t loader;

	make((struct heddle_tasks_options){0});
	begin_spawner(t);
	while (!look().running)
		nap();
	assert_int_equal(pthread_create(&loader, NULL, load_and_free, &n), 0);
	for (until = clock_ns() + LONG; n < 5 && clock_ns() < until;)
		nap();
	assert_int_equal(n, 5);
	pthread_join(loader, NULL);
	end_spawner();
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), n_spawned * 64);
	assert_int_equal(heddle_tasks_destroy(t), 0);
}

/* A task that never ends keeps its column on the GPU. The other columns leave and return
 * nevertheless, and the task's column runs other tasks, too. */
static void one_long_task(void **state)
{
	uint64_t id, first;

	make((struct heddle_tasks_options){.lifetime_ms = LIFETIME});
	id = spawn_of(number[AWAIT], 1, 32, 2, 7, 0);
	begin_spawner(t);
	first = look().launches;
	for (unsigned i = 0; i < 20; i++) {
		run_batch();
		assert_int_equal(heddle_tasks_check(t, id), -EAGAIN);
	}
	for (uint64_t until = clock_ns() + LONG; look().launches < first + 5;) {
		assert_true(clock_ns() < until);
		run_batch();
	}
	assert_int_equal(heddle_tasks_check(t, id), -EAGAIN);
	end_with_long_task();
}

/* Without a limit on its lifetime, a pool leaves when another pool has work, and returns after
 * that. */
static void turn_of_another(void **state)
{
	struct heddle_tasks *other;
	uint64_t id;

	make((struct heddle_tasks_options){.lifetime_ms = UINT_MAX, .idle_us = UINT_MAX});
	other = t;
	make((struct heddle_tasks_options){.lifetime_ms = UINT_MAX, .idle_us = UINT_MAX});
	id = spawn_of(number[AWAIT], 1, 32, 2, 7, 0);
	begin_spawner(t);
	for (unsigned i = 0; i < 3; i++) {
		struct heddle_tasks *first = t;

		t = other;
		run_batch();
		t = first;
		run_batch();
		assert_int_equal(heddle_tasks_check(t, id), -EAGAIN);
	}
	end_with_long_task();
	assert_int_equal(heddle_tasks_destroy(other), 0);
}

static unsigned count_launches(void)
{
	unsigned n;

	pthread_mutex_lock(&t->lock);
	n = pool_count_launches(t);
	pthread_mutex_unlock(&t->lock);
	return n;
}

static void *suspend(void *user)
{
	*(int *)user = heddle_tasks_suspend(t);
	return NULL;
}

/* Several tasks that never end keep several launches of the pool on the GPU, unless they came to
 * the same column. A call that needs the pool to leave waits for all of them. If it gives up, all
 * columns return. */
static void long_tasks(void **state)
{
	uint64_t id[LONGS];
	int suspended = -1;
	pthread_t other;

	make((struct heddle_tasks_options){.lifetime_ms = LIFETIME});
	begin_spawner(t);
	for (unsigned i = 0; i < LONGS; i++) {
		/* with more launches, most of the pool stays on the GPU */
		unsigned n = i < 3 ? i + 2 : 4;

		id[i] = spawn_of(number[AWAIT], 1, 32, 2 + i, 7, 0);
		run_batch();
		for (uint64_t until = clock_ns() + SOME; clock_ns() < until;) {
			if (count_launches() >= n)
				break;
			run_batch();
		}
	}
	assert_true(count_launches() >= 3);
	assert_int_equal(heddle_tasks_destroy(t), -ETIMEDOUT);
	for (unsigned i = 0; i < 5; i++)
		run_batch();
	assert_int_equal(pthread_create(&other, NULL, suspend, &suspended), 0);
	for (unsigned i = 0; i < LONGS; i++) {
		assert_int_equal(heddle_tasks_check(t, id[i]), -EAGAIN);
		set_word(2 + i, 7);
		ok(heddle_tasks_wait(t, id[i], LONG));
	}
	pthread_join(other, NULL);
	assert_int_equal(suspended, 0);
	assert_int_equal(look().running, 0);
	assert_int_equal(count_launches(), 0);
	ok(heddle_tasks_resume(t));
	run_batch();
	end_spawner();
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), n_spawned * 64);
	assert_int_equal(heddle_tasks_destroy(t), 0);
}

/* With an argument, runs the cases with several long tasks. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordinary_kernel),
		cmocka_unit_test(driver_calls),
	};
	const struct CMUnitTest lengthy[] = {
		cmocka_unit_test(one_long_task),
		cmocka_unit_test(turn_of_another),
		cmocka_unit_test(long_tasks),
	};

	(void)argv;
	return argc > 1 ? cmocka_run_group_tests(lengthy, open_it, close_it)
			: cmocka_run_group_tests(tests, open_it, close_it);
}
