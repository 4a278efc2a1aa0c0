/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests that a task's words may become visible to the device in any order. A poll of row 0 that
 * finds a task also reads its descriptor (task.h). This test writes the descriptor's words late,
 * one by one, while a pool runs. */
#include "unit.h"

#include "rt/pool_row.h"

#include <limits.h>
#include <string.h>
#include <time.h>

#define LONG 60000000000u /* ns */

static const char ptx[] = ".version 6.0\n.target sm_70\n.address_size 64\n"
			  ".visible .entry put(.param .u64 p, .param .u32 v)\n{\n"
			  ".reg .b64 %a; .reg .b32 %v;\n"
			  "ld.param.u64 %a, [p];\nld.param.u32 %v, [v];\n"
			  "red.global.add.u32 [%a], %v;\nret;\n}\n";
static const char *const names[] = {"put"};
static unsigned data[1], put;
#include "opened_pool.h"

/* Lets the device poll many times. It must find no task; a single poll would find one. */
static void look_away(void)
{
	const struct timespec pause = {.tv_nsec = 20000000};

	nanosleep(&pause, NULL);
}

static void expect_begun(const struct pool_column *c, uint8_t gen)
{
	look_away();
	assert_int_equal(__atomic_load_n(&c->at->taken[0], __ATOMIC_RELAXED), gen);
}

/* Writes a second task into row 0: the words of the first task, with another parameter. */
static void late_words(void **state)
{
	struct pool_column *c;
	unsigned row;
	uint64_t gen, words[TASK_FIRST], until;

	make_pool(
		(struct heddle_tasks_options){
			.threads = 64, .blocks_per_sm = 1, .idle_us = UINT_MAX},
		&put, 1);
	c = pool_of_id(t, spawn_of(put, 1, 32, 0, 1, 0), &row, &gen);
	assert_int_equal(row, 0);
	assert_int_equal(gen, 1);
	ok(heddle_tasks_wait_all(t, LONG));
	for (unsigned i = 0; i < TASK_FIRST; i++)
		words[i] = (c->at->first[i] & 0xffffffffffff) | 2ull << 48;
	/* The value that the kernel adds is at byte 24 + 8 of the descriptor. Each word holds six
	 * of the descriptor's bytes, so this is byte 2 of word 5. */
	assert_int_equal(words[5] >> 16 & 0xff, 1);
	words[5] ^= (1 ^ 7) << 16;
	atomic_store(&c->row[0].gen, 2);
	c->free &= ~1u;
	c->n_free--;
	__atomic_store_n(&c->at->in[0], 2, __ATOMIC_RELEASE);
	expect_begun(c, 1);
	for (unsigned i = 0; i < TASK_FIRST; i++) {
		unsigned k = (i * 7 + 3) % TASK_FIRST;

		expect_begun(c, 1);
		__atomic_store_n(&c->at->first[k], words[k], __ATOMIC_RELAXED);
	}
	for (until = clock_ns() + LONG; pool_out(c, 0) != 2 && clock_ns() < until;)
		ok(pool_pump(t));
	assert_int_equal(pool_out(c, 0), 2);
	assert_int_equal(heddle_read(h, data, at, sizeof(data)), 0);
	assert_int_equal(data[0], 32 + 7 * 32);
	heddle_tasks_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(late_words)};

	return cmocka_run_group_tests(tests, open_it, close_it);
}
