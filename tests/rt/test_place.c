/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests only the host's part of a pool. A thread that spawns alone for a while becomes the owner of
 * the pool's columns. Ownership passes to another thread, or ends when several threads spawn. Each
 * row must have one task at a time. */
#include "unit.h"

#include "fake_pool.h"

#include <errno.h>

#define THREADS 3
#define TURN    40000 /* spawns in a row after which a thread owns the pool */
#define TURNS   3

static uint64_t ids[THREADS][2 * TURN * TURNS];
static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool was_owned;

static void *spawn_in_turn(void *user)
{
	uint64_t *to = user;

	for (unsigned turn = 0; turn < TURNS; turn++) {
		pthread_mutex_lock(&turn_lock);
		for (unsigned i = 0; i < TURN; i++)
			*to++ = fake_spawn();
		if (atomic_load(&fake->owner))
			atomic_store(&was_owned, true);
		pthread_mutex_unlock(&turn_lock);
		for (unsigned i = 0; i < TURN; i++) {
			*to++ = fake_spawn();
			if (i % 1000 == 0)
				pool_harvest(fake); /* revokes another thread's ownership */
		}
	}
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void owners(void **state)
{
	const size_t n = sizeof(ids) / sizeof(ids[0][0]);
	uint64_t *all = ids[0], gens = 0;
	pthread_t thread[THREADS], device;

	fake_make(4);
	assert_int_equal(pthread_create(&device, NULL, fake_echo, NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, spawn_in_turn, ids[i]), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	atomic_store(&fake_stop, true);
	pthread_join(device, NULL);
	qsort(all, n, sizeof(*all), by_id);
	for (size_t i = 1; i < n; i++)
		if (all[i] == all[i - 1])
			fail_msg("task %llu was given out twice", (unsigned long long)all[i]);
	for (unsigned c = 0; c < fake->n_columns; c++)
		for (unsigned r = 0; r < TASK_ROWS; r++)
			gens += atomic_load(&fake->of[c].row[r].gen);
	assert_int_equal(gens, n);
	assert_int_equal(atomic_load(&was_owned), fake->heavy);
	fake_free();
}

/* The pool keeps the answer for the last shape of a task, and must return it only for that
 * shape. */
static void shapes(void **state)
{
	static const struct heddle_task plain = {
		.size = sizeof(plain), .grid = {3, 1, 1}, .block = {64, 1, 1}, .args_bytes = 8};
	uint64_t args = 0;

	fake_make(4);
	fake->shared_bytes = 65536;
	for (unsigned word = 0; word < 7; word++) {
		struct pool_kernel *k = &fake->kernel[0], fresh = *k;
		struct heddle_task task = plain, other = plain;
		struct pool_asked kept, asked, want;
		unsigned *const of[] = {&other.grid[0], &other.grid[1], &other.grid[2],
			&other.block[0], &other.block[1], &other.block[2], &other.shared_bytes};

		task.args = other.args = &args;
		for (unsigned i = 0; i < 20; i++)
			assert_int_equal(pool_ask(fake, k, &task, &kept), 0);
		assert_true(atomic_load(&k->shape.turn) > 0);
		*of[word] *= 2;
		*of[word] += *of[word] == 0 ? 1000 : 0;
		assert_int_equal(pool_ask(fake, k, &other, &asked), 0);
		assert_int_equal(pool_ask(fake, &fresh, &other, &want), 0);
		assert_memory_equal(asked.head, want.head, sizeof(want.head));
		assert_memory_not_equal(asked.head, kept.head, sizeof(want.head));
		assert_int_equal(asked.parts, want.parts);
		/* an impossible shape is refused with and without a kept answer */
		*of[word] = UINT32_MAX;
		assert_true(pool_ask(fake, k, &other, &asked) < 0);
		task.args_bytes = 7;
		assert_int_equal(pool_ask(fake, k, &task, &asked), -EINVAL);
	}
	fake_free();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(owners), cmocka_unit_test(shapes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
