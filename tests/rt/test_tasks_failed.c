/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests tasks of which a thread traps or fails an assertion, beside healthy tasks. Each failure
 * must be reported with its place. No thread may pass a barrier that another thread did not reach,
 * nothing may hang, and all other results must be right. */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LONG  60000000000u /* ns: only a hang takes this long */
#define WORDS 4096

#define HEAD ".version 6.0\n.target sm_70\n.address_size 64\n"
#define ARGS "(.param .u64 p, .param .u32 who, .param .u32 when)\n{\n"
#define BEGIN                                                                        \
	".reg .b64 %a; .reg .b32 %w; .reg .b32 %n; .reg .b32 %t; .reg .pred %q;\n"   \
	".reg .b32 %i; .reg .b32 %j; .reg .b32 %k; .reg .b64 %b; .reg .pred %u;\n"   \
	"ld.param.u64 %a, [p];\nld.param.u32 %w, [who];\nld.param.u32 %n, [when];\n" \
	"mov.u32 %t, %tid.x;\n"
static const char ptx[] = HEAD
	".global .align 1 .b8 text[6] = {105, 32, 60, 32, 110, 0};\n"
	".global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};\n"
	".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, "
	".param .b64 e);\n"
	/* thread `who` traps; threads that pass the barrier add 1 */
	".visible .entry once" ARGS BEGIN "setp.eq.u32 %q, %t, %w;\n@%q trap;\nbar.sync 0;\n"
	"red.global.add.u32 [%a], 1;\nret;\n}\n"
	/* 8 rounds, in each of which every thread passes a barrier and adds 1 to the round's word;
	 * thread `who` traps in round `when` */
	".visible .entry rounds" ARGS BEGIN "mov.u32 %i, 0;\n$L:\nsetp.eq.u32 %q, %t, %w;\n"
	"setp.eq.and.u32 %q, %i, %n, %q;\n@%q bra $T;\nbar.sync 0;\n"
	"red.global.add.u32 [%a], 1;\nadd.u64 %a, %a, 4;\nadd.u32 %i, %i, 1;\n"
	"setp.lt.u32 %q, %i, 8;\n@%q bra $L;\nret;\n$T:\ntrap;\n}\n"
	/* as rounds, with a reduction at the barrier: every thread adds the number of even
	 * threads */
	".visible .entry sums" ARGS BEGIN "mov.u32 %i, 0;\n$L:\nsetp.eq.u32 %q, %t, %w;\n"
	"setp.eq.and.u32 %q, %i, %n, %q;\n@%q trap;\nand.b32 %j, %t, 1;\n"
	"setp.eq.u32 %q, %j, 0;\nbar.red.popc.u32 %k, 0, %q;\n"
	"red.global.add.u32 [%a], %k;\nadd.u64 %a, %a, 4;\nadd.u32 %i, %i, 1;\n"
	"setp.lt.u32 %q, %i, 8;\n@%q bra $L;\nret;\n}\n"
	/* all threads wait for a word in shared memory that thread `who` sets; if `when` is 1, that
	 * thread traps instead */
	".visible .entry waits" ARGS BEGIN ".shared .u32 flag[1];\nsetp.ne.u32 %q, %t, 0;\n"
	"mov.u32 %i, 0;\n@%q bra $Z;\nst.volatile.shared.u32 [flag], %i;\n$Z:\nbar.sync 0;\n"
	"setp.ne.u32 %q, %t, %w;\n@%q bra $W;\nsetp.eq.u32 %q, %n, 1;\n@%q trap;\n"
	"mov.u32 %i, 1;\nst.volatile.shared.u32 [flag], %i;\n$W:\n"
	"ld.volatile.shared.u32 %j, [flag];\nsetp.eq.u32 %q, %j, 0;\n@%q bra $W;\n"
	"bar.sync 0;\nred.global.add.u32 [%a], 1;\nret;\n}\n"
	/* thread `who` traps, then the other lanes vote */
	".visible .entry votes" ARGS BEGIN "setp.eq.u32 %q, %t, %w;\n@%q trap;\n"
	"setp.lt.u32 %u, %t, 16;\nvote.sync.ballot.b32 %i, %u, -1;\n"
	"red.global.add.u32 [%a], %i;\nret;\n}\n"
	/* assert(i < n) */
	".visible .entry holds" ARGS BEGIN ".reg .b64 %c; .reg .b64 %d;\n"
	"mov.u32 %i, %ctaid.x;\nmov.u32 %j, %ntid.x;\nmad.lo.u32 %i, %i, %j, %t;\n"
	"setp.lt.u32 %q, %i, %n;\n@%q bra $OK;\nmov.u64 %b, text;\ncvta.global.u64 %c, %b;\n"
	"mov.u64 %b, file;\ncvta.global.u64 %d, %b;\n{\n.param .b64 p0;\n"
	"st.param.b64 [p0+0], %c;\n.param .b64 p1;\nst.param.b64 [p1+0], %d;\n.param .b32 p2;\n"
	"mov.u32 %k, 42;\nst.param.b32 [p2+0], %k;\n.param .b64 p3;\nst.param.b64 [p3+0], %c;\n"
	".param .b64 p4;\nst.param.b64 [p4+0], 1;\n"
	"call.uni __assertfail, (p0, p1, p2, p3, p4);\n}\n$OK:\n"
	"red.global.add.u32 [%a], 1;\nret;\n}\n"
	".func deep()\n{\ntrap;\n}\n"
	".visible .entry calls" ARGS BEGIN "call.uni deep, ();\nret;\n}\n";

static const char *const names[] = {"once", "rounds", "sums", "waits", "votes", "holds", "calls"};
enum { ONCE, ROUNDS, SUMS, WAITS, VOTES, HOLDS, CALLS };

static unsigned data[WORDS], number[CALLS];
#include "opened_pool.h"

static int make(void **state)
{
	struct heddle_tasks_options o = {.threads = 256, .blocks_per_sm = 1, .shared_bytes = 8192};

	make_pool(o, number, CALLS);
	return 0;
}

static int unmake(void **state)
{
	heddle_tasks_destroy(t);
	return 0;
}

#define NOBODY 5000u

static uint64_t spawn(unsigned kernel, unsigned blocks, unsigned threads, unsigned to, unsigned who,
	unsigned when)
{
	return spawn_of(number[kernel], blocks, threads, to, who, when);
}

static void says(const char *a, const char *b)
{
	const char *text = heddle_tasks_error(t);

	if (!strstr(text, a) || !strstr(text, b))
		fail_msg("'%s' does not say '%s' and '%s'", text, a, b);
}

static void must_fail(uint64_t id, const char *a, const char *b)
{
	assert_int_equal(heddle_tasks_wait(t, id, LONG), -EFAULT);
	says(a, b);
	assert_int_equal(heddle_tasks_check(t, id), -EFAULT);
}

static void read_data(void)
{
	assert_int_equal(heddle_read(h, data, at, sizeof(data)), 0);
}

/* Failing and healthy tasks alternate. Some blocks have a partial last warp. */
static void one_thread(void **state)
{
	static const unsigned who[] = {0, 5, 31, 32, 63, 64, 95};
	static const unsigned threads[] = {96, 224, 96 + 7, 40, 33};
	uint64_t id[70];

	for (unsigned i = 0; i < 70; i++) {
		bool bad = i % 2 && who[i % 7] < threads[i % 5];

		id[i] = spawn(ONCE, 1, threads[i % 5], i, bad ? who[i % 7] : NOBODY, 0);
	}
	for (unsigned i = 0; i < 70; i++) {
		char text[32];

		if (i % 2 && who[i % 7] < threads[i % 5]) {
			snprintf(text, sizeof(text), "thread %u", who[i % 7]);
			must_fail(id[i], "'once', failed: it met a trap", text);
		} else {
			ok(heddle_tasks_wait(t, id[i], LONG));
		}
	}
	read_data();
	for (unsigned i = 0; i < 70; i++) {
		bool bad = i % 2 && who[i % 7] < threads[i % 5];

		if (data[i] != (bad ? 0 : threads[i % 5]))
			fail_msg("task %u of %u threads: %u passed", i, threads[i % 5], data[i]);
	}
}

/* Thread `who` traps in round `when` of a task. All threads must pass the rounds before it, and
 * none may pass that round or a later one. */
static void in_rounds(unsigned kernel, unsigned each)
{
	uint64_t id[64];

	for (unsigned i = 0; i < 64; i++)
		id[i] = spawn(kernel, 1, 128, 8 * i, i % 4 ? i * 2 : NOBODY, i % 8);
	for (unsigned i = 0; i < 64; i++) {
		if (i % 4)
			must_fail(id[i], "failed: it met a trap", "in block 0");
		else
			ok(heddle_tasks_wait(t, id[i], LONG));
	}
	read_data();
	for (unsigned i = 0; i < 64; i++)
		for (unsigned k = 0; k < 8; k++)
			if (data[8 * i + k] != (i % 4 && k >= i % 8 ? 0 : each))
				fail_msg("task %u, round %u: %u", i, k, data[8 * i + k]);
}

static void barriers(void **state)
{
	in_rounds(ROUNDS, 128);
}

static void reductions(void **state)
{
	in_rounds(SUMS, 128 * 64);
}

/* Some blocks of a task fail, and others do not. */
static void blocks(void **state)
{
	uint64_t id = spawn(HOLDS, 20, 64, 0, 0, 20 * 64), bad = spawn(HOLDS, 20, 64, 1, 0, 1000);

	ok(heddle_tasks_wait(t, id, LONG));
	must_fail(bad, "'holds', failed: the assertion 'i < n' (a.cu:42) failed", "in block 1");
	read_data();
	assert_int_equal(data[0], 20 * 64);
	assert_int_equal(data[1], 1000);
}

static void waiting(void **state)
{
	uint64_t id[40];

	for (unsigned i = 0; i < 40; i++)
		id[i] = spawn(WAITS, 1, 96, i, i % 96, i & 1);
	for (unsigned i = 0; i < 40; i++) {
		if (i & 1)
			must_fail(id[i], "'waits'", "trap");
		else
			ok(heddle_tasks_wait(t, id[i], LONG));
	}
	read_data();
	for (unsigned i = 0; i < 40; i++)
		assert_int_equal(data[i], i & 1 ? 0 : 96);
}

/* A vote must not wait for lanes that have left the warp. */
static void masks(void **state)
{
	uint64_t bad = spawn(VOTES, 1, 64, 0, 3, 0), id = spawn(VOTES, 1, 64, 1, NOBODY, 0);

	must_fail(bad, "'votes'", "thread 3");
	ok(heddle_tasks_wait(t, id, LONG));
	read_data();
	assert_int_equal(data[1], 32 * 0xffffu);
}

/* heddle_tasks_check reports a failed task for ever, even if another task has its row now.
 * heddle_tasks_wait_all reports each failure once. */
static void remembered(void **state)
{
	struct heddle_tasks_state s = {.size = sizeof(s)};
	uint64_t id[300];

	for (unsigned i = 0; i < 300; i++)
		id[i] = spawn(ONCE, 2, 64, i, i % 3 ? NOBODY : 1, 0);
	for (unsigned i = 0; i < 3000; i++)
		spawn(ONCE, 1, 32, 1000, NOBODY, 0);
	assert_int_equal(heddle_tasks_wait_all(t, LONG), -EFAULT);
	says("; and 99 more", "'once', failed");
	ok(heddle_tasks_wait_all(t, LONG));
	for (unsigned i = 0; i < 300; i++) {
		if (i % 3)
			ok(heddle_tasks_check(t, id[i]));
		else
			assert_int_equal(heddle_tasks_check(t, id[i]), -EFAULT);
	}
	ok(heddle_tasks_look(t, &s));
	assert_int_equal(s.failed, 100);
	assert_int_equal(s.ended, 3300);
	read_data();
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(data[i], i % 3 ? 128 : 0);
	assert_int_equal(data[1000], 3000 * 32);
	id[0] = spawn(ONCE, 1, 32, 0, 0, 0);
	assert_int_equal(heddle_tasks_wait_all(t, LONG), -EFAULT);
}

/* Some blocks of a task fail, and the pool leaves the device and returns while it runs. The results
 * must be the same. */
static void parked(void **state)
{
	uint64_t bad[20];

	for (unsigned i = 0; i < 20; i++) {
		bad[i] = spawn(HOLDS, 100, 64, 0, 0, 40 * 64);
		ok(heddle_tasks_suspend(t));
		ok(heddle_tasks_resume(t));
	}
	for (unsigned i = 0; i < 20; i++)
		must_fail(bad[i], "'holds'", "assertion");
	read_data();
	assert_int_equal(data[0], 20 * 40 * 64);
}

static void in_functions(void **state)
{
	unsigned k;

	assert_int_equal(heddle_tasks_add(t, "calls", &k), -ENOTSUP);
	says("'calls' cannot be a task", "it calls");
	says("deep", "may trap");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, make, unmake)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(one_thread),
		CASE(barriers),
		CASE(reductions),
		CASE(blocks),
		CASE(waiting),
		CASE(masks),
		CASE(remembered),
		CASE(parked),
		CASE(in_functions),
	};

	return cmocka_run_group_tests(tests, open_it, close_it);
}
