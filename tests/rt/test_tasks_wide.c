/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests tasks with blocks as wide as the pool's own, for which the scheduling warp, too, runs a
 * part of the block. Also tests tasks of many blocks, which several blocks of the pool share. Such
 * tasks run beside others, while the pool leaves and returns, and some of them fail. */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LONG  60000000000u /* ns: only a hang takes this long */
#define WORDS (1u << 18)

#define HEAD ".version 6.0\n.target sm_70\n.address_size 64\n"
static const char ptx[] = HEAD
	/* Each thread writes its number to shared memory. After a barrier it reads the number of
	 * the opposite thread (the first thread reads the last one's), and adds this number plus 1
	 * to its own word. Before all this, thread `who` of block `which` traps. */
	".visible .entry turn(.param .u64 p, .param .u32 who, .param .u32 which)\n{\n"
	".shared .u32 all[1024];\n.reg .b64 %a; .reg .b64 %b; .reg .b32 %t; .reg .b32 %n;\n"
	".reg .b32 %i; .reg .b32 %j; .reg .b32 %w; .reg .b32 %c; .reg .pred %q;\n"
	"ld.param.u64 %a, [p];\nld.param.u32 %w, [who];\nld.param.u32 %j, [which];\n"
	"mov.u32 %t, %tid.x;\nmov.u32 %n, %ntid.x;\nmov.u32 %c, %ctaid.x;\n"
	"setp.eq.u32 %q, %t, %w;\nsetp.eq.and.u32 %q, %c, %j, %q;\n@%q trap;\n"
	"shl.b32 %i, %t, 2;\nmov.u32 %j, all;\nadd.u32 %i, %i, %j;\nst.shared.u32 [%i], %t;\n"
	"bar.sync 0;\nsub.u32 %i, %n, %t;\nsub.u32 %i, %i, 1;\nshl.b32 %i, %i, 2;\n"
	"add.u32 %i, %i, %j;\nld.shared.u32 %i, [%i];\nadd.u32 %i, %i, 1;\n"
	"mad.lo.u32 %j, %c, %n, %t;\nmul.wide.u32 %b, %j, 4;\nadd.u64 %a, %a, %b;\n"
	"red.global.add.u32 [%a], %i;\nret;\n}\n"
	/* adds 1 to the word of each thread; thread `who` of block `which` traps before */
	".visible .entry one(.param .u64 p, .param .u32 who, .param .u32 which)\n{\n"
	".reg .b64 %a; .reg .b64 %b; .reg .b32 %t; .reg .b32 %n; .reg .b32 %c; .reg .pred %q;\n"
	".reg .b32 %w; .reg .b32 %j;\n"
	"ld.param.u64 %a, [p];\nld.param.u32 %w, [who];\nld.param.u32 %j, [which];\n"
	"mov.u32 %t, %tid.x;\nmov.u32 %n, %ntid.x;\nmov.u32 %c, %ctaid.x;\n"
	"setp.eq.u32 %q, %t, %w;\nsetp.eq.and.u32 %q, %c, %j, %q;\n@%q trap;\n"
	"mad.lo.u32 %t, %c, %n, %t;\nmul.wide.u32 %b, %t, 4;\nadd.u64 %a, %a, %b;\n"
	"red.global.add.u32 [%a], 1;\nret;\n}\n"
	/* writes the number of its SM, plus 1, to the word of the block */
	".visible .entry where(.param .u64 p, .param .u32 who, .param .u32 which)\n{\n"
	".reg .b64 %a; .reg .b64 %b; .reg .b32 %t; .reg .b32 %c; .reg .pred %q;\n"
	"ld.param.u64 %a, [p];\nmov.u32 %t, %smid;\nmov.u32 %c, %ctaid.x;\nadd.u32 %t, %t, 1;\n"
	"mul.wide.u32 %b, %c, 4;\nadd.u64 %a, %a, %b;\nst.global.u32 [%a], %t;\nret;\n}\n";

static const char *const names[] = {"turn", "one", "where"};
enum { TURN, ONE, WHERE, KERNELS };
#define NOBODY 5000u

static unsigned data[WORDS], number[KERNELS];
#include "opened_pool.h"

static void make(struct heddle_tasks_options o)
{
	make_pool(o, number, KERNELS);
}

static uint64_t spawn(unsigned kernel, unsigned blocks, unsigned threads, unsigned to, unsigned who,
	unsigned which)
{
	return spawn_of(number[kernel], blocks, threads, to, who, which);
}

static void read_data(void)
{
	assert_int_equal(heddle_read(h, data, at, sizeof(data)), 0);
}

static struct heddle_tasks_state look(void)
{
	struct heddle_tasks_state s = {.size = sizeof(s)};

	ok(heddle_tasks_look(t, &s));
	return s;
}

/* Checks the results of n tasks of the kernel `turn` whose words begin at index `to`. */
static void check_turns(unsigned n, unsigned blocks, unsigned threads, unsigned to)
{
	for (unsigned b = 0; b < blocks; b++)
		for (unsigned i = 0; i < threads; i++) {
			unsigned got = data[to + b * threads + i];

			if (got != n * (threads - i))
				fail_msg("block %u of %u threads, thread %u: %u, not %u", b,
					threads, i, got, n * (threads - i));
		}
}

/* Runs blocks as wide as the pool's among narrow ones, some with a partial last warp. */
static void mixed(unsigned threads)
{
	const unsigned widths[] = {threads, threads - 5, 64, threads - 32, 40, threads};
	unsigned n[6] = {0};

	make((struct heddle_tasks_options){.threads = threads, .blocks_per_sm = 1, .leave_sms = 2});
	for (unsigned i = 0; i < 120; i++) {
		unsigned k = i * 7 % 6;

		n[k]++;
		spawn(i % 3 || k == 5 ? TURN : ONE, k == 5 ? 3 : 1, widths[k],
			4096 * (k + (i % 3 || k == 5 ? 0 : 6)), NOBODY, 0);
	}
	ok(heddle_tasks_wait_all(t, LONG));
	read_data();
	for (unsigned k = 0; k < 6; k++) {
		unsigned turns = 0, ones = 0;

		for (unsigned i = 0; i < 120; i++)
			if (i * 7 % 6 == k)
				*(i % 3 || k == 5 ? &turns : &ones) += 1;
		check_turns(turns, k == 5 ? 3 : 1, widths[k], 4096 * k);
		for (unsigned i = 0; i < widths[k]; i++)
			assert_int_equal(data[4096 * (k + 6) + i], ones);
	}
	assert_int_equal(look().ended, 120);
	heddle_tasks_destroy(t);
}

static void widest(void **state)
{
	mixed(1024);
}

static void wide_in_small(void **state)
{
	mixed(128);
}

static void wide_parked(void **state)
{
	make((struct heddle_tasks_options){.threads = 256, .blocks_per_sm = 1});
	for (unsigned i = 0; i < 20; i++) {
		for (unsigned k = 0; k < 10; k++)
			spawn(TURN, 2, k % 2 ? 256 : 96, 4096 * (k % 2), NOBODY, 0);
		ok(heddle_tasks_suspend(t));
		assert_int_equal(look().running, 0);
		ok(heddle_tasks_resume(t));
	}
	ok(heddle_tasks_wait_all(t, LONG));
	read_data();
	check_turns(100, 2, 256, 4096);
	check_turns(100, 2, 96, 0);
	heddle_tasks_destroy(t);
}

/* The trapping thread may belong to the scheduling warp. */
static void wide_failing(void **state)
{
	static const unsigned who[] = {0, 255, 230, 31};

	make((struct heddle_tasks_options){.threads = 256, .blocks_per_sm = 1});
	for (unsigned i = 0; i < 40; i++) {
		uint64_t bad = spawn(TURN, 1, 256, 4096, who[i % 4], 0);

		spawn(TURN, 1, 256, 0, NOBODY, 0);
		assert_int_equal(heddle_tasks_wait(t, bad, LONG), -EFAULT);
	}
	assert_int_equal(heddle_tasks_wait_all(t, LONG), -EFAULT);
	read_data();
	check_turns(40, 1, 256, 0);
	check_turns(0, 1, 256, 4096);
	heddle_tasks_destroy(t);
}

/* Runs grids of up to 1,024 blocks. Some cannot be divided equally among the pool's columns, and
 * some have fewer blocks than there are columns. */
static void many_blocks(void **state)
{
	static const unsigned blocks[] = {1024, 1023, 17, 8, 7, 1, 331};
	unsigned columns, most, on[1024] = {0}, used = 0;

	make((struct heddle_tasks_options){.threads = 256});
	columns = look().columns;
	for (unsigned i = 0; i < 7; i++) {
		uint64_t id = spawn(ONE, blocks[i], 128, 0, NOBODY, 0);

		spawn(TURN, 5, 32, WORDS - 4096, NOBODY, 0);
		if (i % 2)
			ok(heddle_tasks_wait(t, id, LONG));
	}
	ok(heddle_tasks_wait_all(t, LONG));
	read_data();
	for (unsigned i = 0; i < 1024; i++) {
		unsigned want = 0;

		for (unsigned k = 0; k < 7; k++)
			want += i < blocks[k];
		for (unsigned k = 0; k < 128; k++)
			assert_int_equal(data[i * 128 + k], want);
	}
	check_turns(7, 5, 32, WORDS - 4096);
	assert_int_equal(look().spawned, 14);
	assert_int_equal(look().ended, 14);
	/* Blocks of one task run on every SM. */
	most = 64 * columns < WORDS ? 64 * columns : WORDS / columns * columns;
	ok(heddle_tasks_wait(t, spawn(WHERE, most, 32, 0, NOBODY, 0), LONG));
	read_data();
	for (unsigned i = 0; i < most; i++) {
		assert_true(data[i] > 0 && data[i] <= 1024);
		used += !on[data[i] - 1]++;
	}
	/* The number of SMs is a quarter of the number of columns, because an SM has barriers for
	 * four blocks of this pool. */
	assert_int_equal(used, columns / 4);
	heddle_tasks_destroy(t);
}

/* Each task is divided among many rows of the pool. In every second task one block fails. The ids
 * must stay valid when the rows are reused. */
static void parts_failing(void **state)
{
	uint64_t id[60];

	make((struct heddle_tasks_options){.threads = 96, .blocks_per_sm = 1});
	for (unsigned i = 0; i < 60; i++)
		id[i] = spawn(ONE, 100, 64, 0, 7, i % 2 ? i + 13 : NOBODY);
	for (unsigned i = 0; i < 2000; i++)
		spawn(ONE, 1, 64, 100 * 64, NOBODY, 0);
	assert_int_equal(heddle_tasks_wait_all(t, LONG), -EFAULT);
	assert_non_null(strstr(heddle_tasks_error(t), "; and 29 more"));
	for (unsigned i = 0; i < 60; i++) {
		char text[64];

		assert_int_equal(heddle_tasks_wait(t, id[i], LONG), i % 2 ? -EFAULT : 0);
		snprintf(text, sizeof(text), "in block %u, thread 7", i + 13);
		if (i % 2 && !strstr(heddle_tasks_error(t), text))
			fail_msg("'%s' does not say '%s'", heddle_tasks_error(t), text);
	}
	assert_int_equal(look().failed, 30);
	assert_int_equal(look().ended, 2060);
	read_data();
	for (unsigned i = 0; i < 100; i++)
		for (unsigned k = 0; k < 64; k++) {
			bool bad = k == 7 && i >= 14 && i <= 72 && i % 2 == 0;

			assert_int_equal(data[i * 64 + k], bad ? 59 : 60);
		}
	assert_int_equal(data[100 * 64 + 63], 2000);
	heddle_tasks_destroy(t);
}

/* A task needs more rows than the pool has, and the pool leaves the device and returns. */
static void parts_parked(void **state)
{
	make((struct heddle_tasks_options){.threads = 64, .blocks_per_sm = 1});
	for (unsigned i = 0; i < 10; i++) {
		spawn(ONE, 1000 + i, 32, 0, NOBODY, 0);
		ok(heddle_tasks_suspend(t));
		ok(heddle_tasks_resume(t));
	}
	ok(heddle_tasks_wait_all(t, LONG));
	read_data();
	for (unsigned i = 0; i < 1010; i++)
		for (unsigned k = 0; k < 32; k++)
			assert_int_equal(data[i * 32 + k], i < 1000 ? 10 : 1009 - i);
	assert_true(look().launches > 1);
	heddle_tasks_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(widest),
		cmocka_unit_test(wide_in_small),
		cmocka_unit_test(wide_parked),
		cmocka_unit_test(wide_failing),
		cmocka_unit_test(many_blocks),
		cmocka_unit_test(parts_failing),
		cmocka_unit_test(parts_parked),
	};

	return cmocka_run_group_tests(tests, open_it, close_it);
}
