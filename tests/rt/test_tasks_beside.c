/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests several pools on the same GPU. Each must make progress, none may wait for something that
 * never comes, and requests that cannot be met must be reported. */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG 60000000000u /* ns: only a hang takes this long */

#include "put_await.h"

/* ---- a thread that spawns continually ---- */
struct spawner {
	pthread_t thread;
	struct heddle_tasks *pool;
	unsigned kernel, n;
	atomic_bool stop;
};

static void *spawn_on(void *user)
{
	struct spawner *s = user;
	uint64_t to = at;
	unsigned one = 1;
	void *params[] = {&to, &one, &one};
	struct heddle_task task = {.size = sizeof(task),
		.kernel = s->kernel,
		.grid = {1, 1, 1},
		.block = {64, 1, 1},
		.params = params};

	while (!s->stop && heddle_tasks_spawn(s->pool, &task, NULL) == 0)
		s->n++;
	return NULL;
}

static void begin(struct spawner *s)
{
	*s = (struct spawner){.pool = t, .kernel = number[PUT]};
	assert_int_equal(pthread_create(&s->thread, NULL, spawn_on, s), 0);
}

/* Stops the thread; all its tasks have ended. */
static void end(struct spawner *s)
{
	s->stop = true;
	pthread_join(s->thread, NULL);
	t = s->pool;
	ok(heddle_tasks_wait_all(t, LONG));
}

/* ---- the cases ---- */
static void two_busy(void **state)
{
	struct spawner first, second;
	make((struct heddle_tasks_options){.threads = 1024, .idle_us = UINT_MAX});
	begin(&first);
	make((struct heddle_tasks_options){.threads = 1024, .idle_us = UINT_MAX});
	for (unsigned i = 0; i < 20; i++)
		ok(heddle_tasks_wait(t, spawn_of(number[PUT], 1, 64, 1, 1, 0), LONG));
	begin(&second);
	t = first.pool;
	for (unsigned i = 0; i < 5; i++)
		ok(heddle_tasks_wait(t, spawn_of(number[PUT], 1, 64, 1, 1, 0), LONG));
	end(&first);
	end(&second);
	assert_true(first.n && second.n);
	assert_int_equal(word(1), 25 * 64);
	assert_int_equal(heddle_tasks_destroy(first.pool), 0);
	assert_int_equal(heddle_tasks_destroy(second.pool), 0);
}

/* Calls on another handle allocate, free and load. For each of them the busy pool leaves the
 * device, and then returns. */
static void beside_busy(void **state)
{
	struct heddle *other;
	struct heddle_tasks *second;
	struct heddle_tasks_options o = {.size = sizeof(o), .threads = 96};
	struct spawner s;
	uint64_t memory;
	unsigned k;

	make((struct heddle_tasks_options){.threads = 96, .idle_us = UINT_MAX});
	begin(&s);
	assert_int_equal(heddle_open(getenv("DEVICE") ? getenv("DEVICE") : "cpu", &other), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(heddle_alloc(other, 4096, &memory), 0);
		assert_int_equal(heddle_free(other, memory), 0);
	}
	assert_int_equal(heddle_load(other, "put", ptx, sizeof(ptx) - 1, "put"), 0);
	assert_int_equal(heddle_tasks_create(other, &o, &second), 0);
	ok(heddle_tasks_add(second, "put", &k));
	assert_int_equal(heddle_tasks_destroy(second), 0);
	heddle_close(other);
	end(&s);
	assert_int_equal(word(0), s.n * 64);
	assert_int_equal(heddle_tasks_destroy(t), 0);
}

/* Tasks of another pool keep half of each SM until the test ends them. The second pool's tasks run
 * in the other half. */
static void half_of_each_sm(void **state)
{
	struct heddle_tasks *blocker, *second;
	struct heddle_tasks_state s = {.size = sizeof(s)};
	uint64_t id[256];
	unsigned n = 0;

	make((struct heddle_tasks_options){
		.threads = 1024, .blocks_per_sm = 1, .shared_bytes = 8192, .idle_us = UINT_MAX});
	blocker = t;
	make((struct heddle_tasks_options){
		.threads = 1024, .blocks_per_sm = 2, .shared_bytes = 8192});
	second = t;
	t = blocker;
	ok(heddle_tasks_look(t, &s));
	for (unsigned i = 0; i < s.columns && n < 256; i++, n++)
		id[n] = spawn_of(number[AWAIT], 1, 32, 2, 7, 0);
	t = second;
	for (unsigned i = 0; i < 200; i++)
		spawn_of(number[PUT], 1, 64, 3, 1, 0);
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(3), 200 * 64);
	set_word(2, 7);
	assert_int_equal(heddle_tasks_destroy(t), 0);
	t = blocker;
	while (n)
		ok(heddle_tasks_wait(t, id[--n], LONG));
	assert_int_equal(heddle_tasks_destroy(t), 0);
}

/* A task waits for the host. The driver would complete these calls only after the task has ended,
 * so they must time out. */
static void waits_for_host(void **state)
{
	struct heddle_tasks *first;
	uint64_t id, memory;
	unsigned k;

	make((struct heddle_tasks_options){
		.threads = 96, .blocks_per_sm = 1, .shared_bytes = 8192, .idle_us = UINT_MAX});
	first = t;
	assert_int_equal(heddle_alloc(h, 4096, &memory), 0);
	id = spawn_of(number[AWAIT], 1, 32, 2, 7, 0);
	assert_int_equal(heddle_free(h, memory), -ETIMEDOUT);
	assert_non_null(strstr(heddle_error(h), "has not ended within 10 s"));
	assert_int_equal(heddle_tasks_add(first, "put", &k), -ETIMEDOUT);
	set_word(2, 7);
	ok(heddle_tasks_wait(first, id, LONG));
	ok(heddle_tasks_wait(first, spawn_of(number[PUT], 1, 32, 0, 1, 0), LONG));
	assert_int_equal(word(0), 32);
	assert_int_equal(heddle_free(h, memory), 0);
	assert_int_equal(heddle_tasks_destroy(first), 0);
}

static void never_ends(void **state)
{
	struct timespec from, to;
	uint64_t id;

	make((struct heddle_tasks_options){.threads = 96});
	id = spawn_of(number[AWAIT], 1, 32, 2, 7, 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	assert_int_equal(heddle_tasks_destroy(t), -ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_true(to.tv_sec - from.tv_sec >= 9 && to.tv_sec - from.tv_sec < 40);
	assert_non_null(strstr(heddle_tasks_error(t), "has not ended within 10 s"));
	set_word(2, 7);
	ok(heddle_tasks_wait(t, id, LONG));
	ok(heddle_tasks_wait(t, spawn_of(number[PUT], 1, 32, 0, 1, 0), LONG));
	assert_int_equal(word(0), 32);
	assert_int_equal(heddle_tasks_destroy(t), 0);
}

static void no_pool(void **state)
{
	struct heddle_task task = {.size = sizeof(task)};
	struct heddle_tasks_state s = {.size = sizeof(s)};
	uint64_t to;
	unsigned k;

	assert_int_equal(heddle_tasks_create(NULL, NULL, &t), -EINVAL);
	assert_int_equal(heddle_tasks_create(h, NULL, NULL), -EINVAL);
	assert_int_equal(heddle_tasks_add(NULL, "put", &k), -EINVAL);
	assert_int_equal(heddle_tasks_spawn(NULL, &task, &to), -EINVAL);
	assert_int_equal(heddle_tasks_check(NULL, 1), -EINVAL);
	assert_int_equal(heddle_tasks_wait(NULL, 1, 0), -EINVAL);
	assert_int_equal(heddle_tasks_wait_all(NULL, 0), -EINVAL);
	assert_int_equal(heddle_tasks_suspend(NULL), -EINVAL);
	assert_int_equal(heddle_tasks_resume(NULL), -EINVAL);
	assert_int_equal(heddle_tasks_look(NULL, &s), -EINVAL);
	assert_int_equal(heddle_tasks_destroy(NULL), 0);
	assert_string_equal(heddle_tasks_error(NULL), "NULL is no pool");
	assert_int_equal(heddle_alloc(NULL, 4, &to), -EINVAL);
	assert_int_equal(heddle_free(NULL, 4), -EINVAL);
	assert_int_equal(heddle_load(NULL, "put", ptx, sizeof(ptx) - 1, "put"), -EINVAL);
	assert_int_equal(heddle_load_file(NULL, "put", "/nonexistent", "put"), -EINVAL);
	assert_int_equal(heddle_corun(NULL, NULL, 0, "merge", NULL, NULL), -EINVAL);
	assert_int_equal(heddle_limit_compiling(NULL, 1), -EINVAL);
	assert_string_equal(heddle_device(NULL), "");
}

/* A child that is forked at a random time, while another thread spawns, must get an error and not
 * hang. */
static void forked(void **state)
{
	struct spawner s;

	make((struct heddle_tasks_options){.threads = 96});
	begin(&s);
	for (unsigned i = 0; i < 20; i++) {
		pid_t child = fork();
		int status = 0;

		if (child == 0) {
			struct heddle_task task = {.size = sizeof(task)};
			uint64_t id;

			alarm(20);
			_exit(!(heddle_tasks_spawn(t, &task, &id) == -EINVAL &&
				strstr(heddle_tasks_error(t), "a child of the one that made") &&
				heddle_tasks_wait_all(t, UINT64_MAX) == -EINVAL &&
				heddle_tasks_suspend(t) == -EINVAL &&
				heddle_tasks_destroy(t) == -EINVAL));
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	end(&s);
	assert_int_equal(word(0), s.n * 64);
	assert_int_equal(heddle_tasks_destroy(t), 0);
}

/* With an argument, runs the cases that wait for timeouts of 10 s. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_busy),
		cmocka_unit_test(beside_busy),
		cmocka_unit_test(half_of_each_sm),
		cmocka_unit_test(no_pool),
		cmocka_unit_test(forked),
	};
	const struct CMUnitTest waiting[] = {
		cmocka_unit_test(waits_for_host),
		cmocka_unit_test(never_ends),
	};

	(void)argv;
	return argc > 1 ? cmocka_run_group_tests(waiting, open_it, close_it)
			: cmocka_run_group_tests(tests, open_it, close_it);
}
