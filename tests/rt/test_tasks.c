/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests pools of tasks: errors are reported, spawning into a full pool waits, no task is lost or
 * run twice, and nothing hangs. */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LONG 60000000000u /* ns: only a hang takes this long */

#define HEAD ".version 6.0\n.target sm_70\n.address_size 64\n"
static const char ptx[] = HEAD
	".visible .entry put(.param .u64 p, .param .u32 v)\n{\n" /* every thread adds v to *p */
	".reg .b64 %a; .reg .b32 %v;\n"
	"ld.param.u64 %a, [p];\nld.param.u32 %v, [v];\n"
	"red.global.add.u32 [%a], %v;\nret;\n}\n"
	/* waits until *p is v; then every thread adds 1 to p[1] */
	".visible .entry await(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b64 %a; .reg .b32 %v; .reg .b32 %r; .reg .pred %q;\n"
	"ld.param.u64 %a, [p];\nld.param.u32 %v, [v];\n"
	"$again:\nld.volatile.global.u32 %r, [%a];\nsetp.ne.u32 %q, %r, %v;\n@%q bra $again;\n"
	"red.global.add.u32 [%a+4], 1;\nret;\n}\n"
	/* each thread writes 64 times its block's number plus its own to shared memory; after a
	 * barrier it reads its neighbour's value, which would differ if it came from another
	 * block */
	".extern .shared .align 4 .b8 dyn[];\n"
	".visible .entry turn(.param .u64 p)\n{\n"
	".reg .b64 %a; .reg .b64 %b; .reg .b32 %r<7>;\n"
	"ld.param.u64 %a, [p];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, dyn;\n"
	"shl.b32 %r3, %r0, 2;\nadd.u32 %r3, %r3, %r2;\nmov.u32 %r6, %ctaid.x;\n"
	"mad.lo.u32 %r6, %r6, 64, %r0;\nst.shared.u32 [%r3], %r6;\nbar.sync 0;\n"
	"add.u32 %r4, %r0, 1;\nrem.u32 %r4, %r4, %r1;\nshl.b32 %r4, %r4, 2;\nadd.u32 %r4, %r4, "
	"%r2;\n"
	"ld.shared.u32 %r5, [%r4];\nmul.wide.u32 %b, %r0, 4;\nadd.u64 %a, %a, %b;\n"
	"red.global.add.u32 [%a], %r5;\nret;\n}\n"
	".visible .entry wrong()\n{\n.reg .b64 %a; .reg .b32 %v;\nmov.u64 %a, 8;\nmov.u32 %v, 1;\n"
	"st.global.u32 [%a], %v;\nret;\n}\n"
	".visible .entry half()\n{\nbar.arrive 1, 64;\nret;\n}\n"
	".global .u32 mine;\n"
	/* adds 1 to a variable; copies it to *p */
	".visible .entry var(.param .u64 p)\n{\n.reg .b64 %a; .reg .b32 %v;\n"
	"ld.param.u64 %a, [p];\nld.global.u32 %v, [mine];\nadd.u32 %v, %v, 1;\n"
	"st.global.u32 [mine], %v;\nst.global.u32 [%a], %v;\nret;\n}\n"
	/* 64 bytes of parameters: more than a row holds */
	".visible .entry many(.param .u64 p, .param .align 4 .b8 s[56])\n{\n"
	".reg .b64 %a; .reg .b32 %v; .reg .b32 %w;\n"
	"ld.param.u64 %a, [p];\nld.param.u32 %v, [s];\nld.param.u32 %w, [s+52];\n"
	"add.u32 %v, %v, %w;\nred.global.add.u32 [%a], %v;\nret;\n}\n";

static const char *const names[] = {"put", "await", "turn", "wrong", "half", "var", "many"};

static unsigned put, data[1024];
#include "opened_pool.h"

/* Makes a pool with the kernel `put`. (With 96 threads, each block of the pool has one warp that
 * schedules and two that run tasks.) */
static void make(struct heddle_tasks_options o)
{
	make_pool(o, &put, 1);
}

static unsigned word(unsigned i)
{
	assert_int_equal(heddle_read(h, data, at, sizeof(data)), 0);
	return data[i];
}

static int spawn(unsigned kernel, unsigned blocks, unsigned threads, unsigned shared, uint64_t *id)
{
	unsigned one = 1;
	void *params[] = {&at, &one};
	struct heddle_task task = {.size = sizeof(task),
		.kernel = kernel,
		.grid = {blocks, 1, 1},
		.block = {threads, 1, 1},
		.shared_bytes = shared,
		.params = params};

	return heddle_tasks_spawn(t, &task, id);
}

static struct heddle_tasks_state look(void)
{
	struct heddle_tasks_state s = {.size = sizeof(s)};

	ok(heddle_tasks_look(t, &s));
	return s;
}

/* The last error of this thread contains both strings. */
static void says(const char *a, const char *b)
{
	const char *text = heddle_tasks_error(t);

	if (!strstr(text, a) || !strstr(text, b))
		fail_msg("'%s' does not say '%s' and '%s'", text, a, b);
}

/* ---- what is wrong ---- */
static void options(void **state)
{
	struct heddle_tasks_options o = {.size = 4};

	assert_int_equal(heddle_tasks_create(h, &o, &t), -EINVAL);
	assert_null(t);
	o = (struct heddle_tasks_options){.size = sizeof(o), .threads = 100};
	assert_int_equal(heddle_tasks_create(h, &o, &t), -EINVAL);
	assert_non_null(strstr(heddle_error(h), "a pool with blocks of 100 threads; 64 to"));
	o = (struct heddle_tasks_options){.size = sizeof(o), .registers = 33};
	assert_int_equal(heddle_tasks_create(h, &o, &t), -EINVAL);
	o = (struct heddle_tasks_options){.size = sizeof(o), .blocks_per_sm = 1000};
	assert_int_equal(heddle_tasks_create(h, &o, &t), -EINVAL);
	o = (struct heddle_tasks_options){.size = sizeof(o), .leave_sms = 1000};
	assert_int_equal(heddle_tasks_create(h, &o, &t), -EINVAL);
	heddle_tasks_destroy(NULL);
}

static void bad_input(void **state)
{
	struct heddle_task task = {.size = sizeof(task), .grid = {1, 1, 1}, .block = {32, 1, 1}};
	unsigned char args[24] = {0};
	unsigned k;

	make((struct heddle_tasks_options){.threads = 96, .shared_bytes = 2048});
	assert_int_equal(heddle_tasks_add(t, "nobody", &k), -ENOENT);
	says("no kernel is called 'nobody'", "heddle_load");
	assert_int_equal(heddle_tasks_add(t, "half", &k), -ENOTSUP);
	says("'half' cannot be a task", "barriers");
	assert_int_equal(spawn(7, 1, 32, 0, NULL), -EINVAL);
	says("the pool has no kernel 7", "heddle_tasks_add");
	assert_int_equal(spawn(put, 0, 32, 0, NULL), -EINVAL);
	says("'put': grid 0,1,1", "at least 1");
	assert_int_equal(spawn(put, 1, 1025, 0, NULL), -E2BIG);
	assert_int_equal(spawn(put, 1, 97, 0, NULL), -E2BIG);
	says("a block of 97,1,1 threads", "runs 96");
	assert_int_equal(spawn(put, 1, 64, 2049, NULL), -E2BIG);
	says("2049 bytes of shared memory", "has 2048");
	task.args = args;
	task.args_bytes = 11;
	assert_int_equal(heddle_tasks_spawn(t, &task, NULL), -EINVAL);
	says("11 bytes of parameters", "it has 12");
	task.args_bytes = 17;
	assert_int_equal(heddle_tasks_spawn(t, &task, NULL), -EINVAL);
	task.args = NULL;
	assert_int_equal(heddle_tasks_spawn(t, &task, NULL), -EINVAL);
	says("parameter 1 of 2 is missing", "params");
	task.size = 3;
	assert_int_equal(heddle_tasks_spawn(t, &task, NULL), -EINVAL);
	assert_int_equal(heddle_tasks_check(t, 0), -EINVAL);
	assert_int_equal(heddle_tasks_wait(t, UINT64_MAX, 0), -EINVAL);
	assert_int_equal(look().spawned, 0);
	/* The pool continues to work. */
	ok(spawn(put, 2, 64, 2048, NULL));
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), 128);
	heddle_tasks_destroy(t);
}

/* ---- ends ---- */
static void ends(void **state)
{
	unsigned await, go = 1;
	uint64_t id, first = 0;

	make((struct heddle_tasks_options){.threads = 96, .blocks_per_sm = 1});
	ok(heddle_tasks_add(t, "await", &await));
	ok(spawn(await, 1, 32, 0, &first)); /* runs until the word is 1 */
	assert_int_equal(heddle_tasks_check(t, first), -EAGAIN);
	assert_int_equal(heddle_tasks_wait(t, first, 1000000), -ETIMEDOUT);
	assert_int_equal(heddle_tasks_wait_all(t, 1000000), -ETIMEDOUT);
	/* Other tasks overtake the waiting one. */
	for (unsigned i = 0; i < 300; i++) {
		unsigned char args[16];
		uint64_t to = at + 8;
		struct heddle_task task = {.size = sizeof(task),
			.kernel = put,
			.grid = {1, 1, 1},
			.block = {32, 1, 1},
			.args = args,
			.args_bytes = 12 + i % 2 * 4};

		memcpy(args, &to, 8);
		memcpy(args + 8, &i, 4);
		ok(heddle_tasks_spawn(t, &task, &id));
		if (i % 10 == 0)
			ok(heddle_tasks_wait(t, id, LONG));
	}
	assert_int_equal(heddle_tasks_check(t, first), -EAGAIN);
	assert_int_equal(heddle_write(h, at, &go, 4), 0);
	ok(heddle_tasks_wait(t, first, LONG));
	ok(heddle_tasks_wait_all(t, LONG));
	ok(heddle_tasks_check(t, first)); /* works even if the id is outdated by now */
	assert_int_equal(word(1), 32);
	assert_int_equal(word(2), 32 * 299 * 300 / 2);
	assert_int_equal(look().spawned, 301);
	assert_int_equal(look().ended, 301);
	heddle_tasks_destroy(t);
}

/* ---- many ---- */
#define PRODUCED 400 /* number of tasks per thread */

static void *produce(void *user)
{
	unsigned *bad = user;
	uint64_t id;

	for (unsigned i = 0; i < PRODUCED; i++)
		if (spawn(put, 1 + i % 3, 1 + i % 64, 0, &id) < 0 ||
			(i % 97 == 0 && heddle_tasks_wait(t, id, LONG) < 0))
			++*bad;
	return NULL;
}

/* Several threads spawn more tasks than the pool has places. Many blocks have a partial last
 * warp. */
static void producers(void **state)
{
	pthread_t thread[4];
	unsigned bad[4] = {0}, want = 0;

	make((struct heddle_tasks_options){.threads = 96, .blocks_per_sm = 1});
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, produce, &bad[i]), 0);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	ok(heddle_tasks_wait_all(t, LONG));
	for (unsigned i = 0; i < PRODUCED; i++)
		want += (1 + i % 3) * (1 + i % 64);
	assert_int_equal(bad[0] + bad[1] + bad[2] + bad[3], 0);
	assert_int_equal(word(0), 4 * want);
	assert_int_equal(look().ended, 4 * PRODUCED);
	heddle_tasks_destroy(t);
}

/* ---- shared memory and barriers are exhausted ---- */
static void exhaustion(void **state)
{
	unsigned turn, want[64] = {0};

	make((struct heddle_tasks_options){
		.threads = 1024, .blocks_per_sm = 1, .shared_bytes = 16384});
	ok(heddle_tasks_add(t, "turn", &turn));
	for (unsigned i = 0; i < 600; i++) {
		static const unsigned bytes[] = {256, 300, 1024, 5000, 16384, 512, 2047};
		unsigned threads = i % 5 ? 32 : 64;

		/* A block of more than one warp takes a hardware barrier, and there are fewer
		 * barriers than warps. */
		ok(spawn(turn, 1 + i % 40, threads, i % 3 ? bytes[i % 7] : 256, NULL));
		for (unsigned k = 0; k < threads; k++)
			want[k] += (1 + i % 40) * ((k + 1) % threads + 32 * (i % 40));
	}
	ok(heddle_tasks_wait_all(t, LONG));
	for (unsigned k = 0; k < 64; k++)
		if (word(k) != want[k])
			fail_msg("thread %u: %u, not %u", k, data[k], want[k]);
	heddle_tasks_destroy(t);
}

static void parameters(void **state)
{
	struct {
		uint64_t p;
		unsigned s[14];
	} args = {.p = at};
	struct heddle_task task = {.size = sizeof(task),
		.grid = {3, 2, 2},
		.block = {4, 4, 2},
		.args = &args,
		.args_bytes = sizeof(args)};
	unsigned want = 0;

	make((struct heddle_tasks_options){.threads = 128, .args_bytes = 64});
	ok(heddle_tasks_add(t, "many", &task.kernel));
	for (unsigned i = 0; i < 500; i++) {
		args.s[0] = i;
		args.s[13] = 7 * i;
		want += 12 * 32 * 8 * i;
		ok(heddle_tasks_spawn(t, &task, NULL));
	}
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), want);
	heddle_tasks_destroy(t);
	make((struct heddle_tasks_options){.threads = 128, .args_bytes = 48});
	assert_int_equal(heddle_tasks_add(t, "many", &task.kernel), -E2BIG);
	says("64 bytes of parameters", "made for 48");
	heddle_tasks_destroy(t);
}

/* By default, a pool of small blocks has only four blocks per SM, so that a kernel with barriers
 * can be added later. An SM has 64 barriers, and each block of a pool with such a kernel takes
 * 16. */
static void shape(void **state)
{
	unsigned sms, k;

	make((struct heddle_tasks_options){.threads = 96, .blocks_per_sm = 1});
	sms = look().columns;
	heddle_tasks_destroy(t);
	make((struct heddle_tasks_options){.threads = 96});
	assert_int_equal(look().columns, 4 * sms);
	ok(heddle_tasks_add(t, "turn", &k));
	heddle_tasks_destroy(t);
	make((struct heddle_tasks_options){.threads = 96, .blocks_per_sm = 8});
	assert_int_equal(look().columns, 8 * sms);
	heddle_tasks_destroy(t);
}

/* A module's variable has one copy for tasks, launches, and the next pool. */
static void variables(void **state)
{
	struct heddle_launch plain = {
		.size = sizeof(plain), .kernel = "var", .grid = {1, 1, 1}, .block = {1, 1, 1}};
	void *params[] = {&at};
	unsigned var, turn;

	make((struct heddle_tasks_options){.threads = 96});
	ok(heddle_tasks_add(t, "var", &var));
	ok(spawn(var, 1, 1, 0, NULL));
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), 1);
	ok(heddle_tasks_add(t, "turn", &turn));
	ok(spawn(var, 1, 1, 0, NULL));
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), 2);
	heddle_tasks_destroy(t);
	plain.params = params;
	assert_int_equal(heddle_corun(h, &plain, 1, "sequential", NULL, NULL), 0);
	assert_int_equal(word(0), 3);
}

/* ---- the pool leaves the device and returns ---- */

/* Adds a kernel while tasks of another one run and wait. */
static void additions(void **state)
{
	unsigned turn;

	make((struct heddle_tasks_options){.threads = 96, .blocks_per_sm = 1});
	for (unsigned i = 0; i < 100; i++)
		ok(spawn(put, 50, 64, 0, NULL));
	ok(heddle_tasks_add(t, "turn", &turn));
	ok(spawn(turn, 1, 64, 256, NULL));
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), 100 * 50 * 64 + 1);
	assert_int_equal(word(63), 0);
	assert_int_equal(word(62), 63);
	assert_int_equal(look().ended, 101);
	heddle_tasks_destroy(t);
}

static void suspension(void **state)
{
	uint64_t id;

	make((struct heddle_tasks_options){.threads = 96});
	for (unsigned round = 1; round <= 20; round++) {
		for (unsigned i = 0; i < 20; i++)
			ok(spawn(put, 20, 64, 0, NULL)); /* many tasks have started and not ended */
		ok(heddle_tasks_suspend(t));
		assert_int_equal(look().running, 0);
		ok(spawn(put, 1, 64, 0, &id));
		assert_int_equal(heddle_tasks_wait(t, id, 1000000), -ETIMEDOUT);
		assert_int_equal(look().running, 0);
		ok(heddle_tasks_resume(t));
		ok(heddle_tasks_wait(t, id, LONG));
	}
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), 20 * (20 * 20 + 1) * 64);
	heddle_tasks_destroy(t);
}

static void idleness(void **state)
{
	struct timespec pause = {.tv_nsec = 1000000};

	make((struct heddle_tasks_options){.threads = 96, .idle_us = 1});
	for (unsigned i = 0; i < 20; i++) {
		uint64_t id;

		ok(spawn(put, 1, 64, 0, &id));
		ok(heddle_tasks_wait(t, id, LONG));
		for (unsigned k = 0; k < 30000 && look().running; k++)
			nanosleep(&pause, NULL);
		assert_int_equal(look().running, 0);
	}
	assert_int_equal(word(0), 20 * 64);
	/* There may be fewer than 20 launches, because a task that arrives while the pool leaves
	 * may still start. */
	assert_true(look().launches >= 2);
	heddle_tasks_destroy(t);
}

/* The host sends no heartbeats, so the device leaves after 1 ms, as it does when the host is dead.
 * Here the host is alive and launches the pool again, so work continues. */
static void heartbeat(void **state)
{
	make((struct heddle_tasks_options){
		.threads = 96, .beat_ms = 1, .beat_every_ms = UINT_MAX, .idle_us = UINT_MAX});
	for (unsigned i = 0; look().launches < 4; i++) {
		uint64_t id;

		ok(spawn(put, 1, 64, 0, &id));
		ok(heddle_tasks_wait(t, id, LONG));
		assert_int_equal(word(0), 64 * (i + 1));
	}
	heddle_tasks_destroy(t);
}

static void sms_left(void **state)
{
	unsigned all;

	make((struct heddle_tasks_options){.threads = 96, .blocks_per_sm = 2});
	all = look().columns;
	heddle_tasks_destroy(t);
	make((struct heddle_tasks_options){.threads = 96, .blocks_per_sm = 2, .leave_sms = 3});
	assert_int_equal(look().columns, all - 6);
	for (unsigned i = 0; i < 500; i++)
		ok(spawn(put, 3, 64, 0, NULL));
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), 500 * 3 * 64);
	heddle_tasks_destroy(t);
}

static void lifetime(void **state)
{
	make((struct heddle_tasks_options){.threads = 96, .lifetime_ms = 1, .idle_us = UINT_MAX});
	for (unsigned i = 0; look().launches < 4; i++)
		for (unsigned k = 0; k < 50; k++)
			ok(spawn(put, 7, 64, 0, NULL));
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), (unsigned)look().spawned * 7 * 64);
	heddle_tasks_destroy(t);
}

struct spawner {
	atomic_bool stop;
	unsigned bad, n;
};

static void *spawn_on(void *user)
{
	struct spawner *s = user;

	while (!s->stop && ++s->n)
		s->bad += spawn(put, 1, 64, 0, NULL) < 0;
	return NULL;
}

/* The driver blocks these calls while a kernel is resident, so the pool leaves the device for them.
 * It must lose no task, even if tasks are spawned all the time. */
static void others(void **state)
{
	struct heddle_launch plain = {
		.size = sizeof(plain), .kernel = "var", .grid = {1, 1, 1}, .block = {1, 1, 1}};
	uint64_t memory, to = at + 64;
	void *params[] = {&to};
	struct spawner s = {0};
	pthread_t thread;

	plain.params = params;
	make((struct heddle_tasks_options){.threads = 96, .idle_us = UINT_MAX});
	assert_int_equal(pthread_create(&thread, NULL, spawn_on, &s), 0);
	for (unsigned i = 1; i <= 10; i++) {
		char name[16];
		uint64_t id;

		snprintf(name, sizeof(name), "k%u", i);
		assert_int_equal(heddle_alloc(h, 4096, &memory), 0);
		ok(spawn(put, 1, 64, 0, &id));
		ok(heddle_tasks_wait(t, id, LONG));
		assert_true(look().launches >= i);
		if (i % 3 == 0)
			assert_int_equal(heddle_load(h, name, ptx, sizeof(ptx) - 1, "put"), 0);
		else if (i % 3 == 1)
			assert_int_equal(heddle_corun(h, &plain, 1, "sequential", NULL, NULL), 0);
		assert_int_equal(heddle_free(h, memory), 0);
	}
	s.stop = 1;
	pthread_join(thread, NULL);
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(s.bad, 0);
	assert_int_equal(word(0), (s.n + 10) * 64);
	heddle_tasks_destroy(t);
}

/* When a pool is destroyed, running tasks end, and tasks that have not started are dropped. The
 * next pool is not affected. */
static void destruction(void **state)
{
	make((struct heddle_tasks_options){.threads = 96, .blocks_per_sm = 1});
	for (unsigned i = 0; i < 200; i++)
		ok(spawn(put, 10, 64, 0, NULL));
	heddle_tasks_destroy(t);
	assert_int_equal(word(0) % 64, 0);
	make((struct heddle_tasks_options){.threads = 96});
	ok(spawn(put, 1, 64, 0, NULL));
	ok(heddle_tasks_wait_all(t, LONG));
	assert_int_equal(word(0), 64);
}

/* A task that faults makes the device's context unusable, which every later call reports,
 * heddle_close included. This must be the last test. */
static void fault(void **state)
{
	unsigned wrong;
	uint64_t id;

	ok(heddle_tasks_add(t, "wrong", &wrong));
	ok(spawn(wrong, 1, 32, 0, &id));
	assert_int_equal(heddle_tasks_wait(t, id, LONG), -EIO);
	says("1 of 'wrong' were in flight", "the device failed");
	assert_int_equal(heddle_tasks_check(t, id), -EIO);
	assert_int_equal(heddle_tasks_wait_all(t, LONG), -EIO);
	assert_int_equal(spawn(put, 1, 32, 0, &id), -EIO);
	assert_int_equal(heddle_tasks_suspend(t), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options),
		cmocka_unit_test(bad_input),
		cmocka_unit_test(ends),
		cmocka_unit_test(producers),
		cmocka_unit_test(exhaustion),
		cmocka_unit_test(parameters),
		cmocka_unit_test(shape),
		cmocka_unit_test(variables),
		cmocka_unit_test(additions),
		cmocka_unit_test(suspension),
		cmocka_unit_test(idleness),
		cmocka_unit_test(heartbeat),
		cmocka_unit_test(sms_left),
		cmocka_unit_test(lifetime),
		cmocka_unit_test(others),
		cmocka_unit_test(destruction),
		cmocka_unit_test(fault),
	};

	return cmocka_run_group_tests(tests, open_it, close_it);
}
