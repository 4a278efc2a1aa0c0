/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the functions that the example programs use to check their results: a check that cannot
 * fail would make every program "correct". */
#include "common.h"
#include "unit.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

const struct example ex_program = {"test", "test", NULL, NULL};

static void words(void **state)
{
	uint32_t got[4] = {1, 2, 3, 4}, want[4] = {1, 2, 3, 4};
	struct ex_verdict v = {0};
	ex_check_words(&v, got, want, 4);
	assert_int_equal(v.wrong, 0);
	got[2] = 7;
	got[3] = 9;
	ex_check_words(&v, got, want, 4);
	assert_int_equal(v.wrong, 2);
	assert_int_equal(v.first_wrong, 2);
	assert_true(v.got == 7.0 && v.want == 3.0);
}

static void bounds(void **state)
{
	float want[3] = {1.0f, 100.0f, 0.0f}, got[3] = {1.00001f, 100.001f, 0.0f};
	struct ex_verdict v = {0};
	ex_check_bound(&v, got, want, 3, 2e-5, 1.0);
	assert_int_equal(v.wrong, 0);
	assert_true(v.max_error > 9e-6 && v.max_error < 2e-5);
	got[1] = 100.01f;
	ex_check_bound(&v, got, want, 3, 2e-5, 1.0);
	assert_int_equal(v.wrong, 1);
	struct ex_verdict nan = {0};
	got[1] = NAN; /* the value of an element that was never written */
	ex_check_bound(&nan, got, want, 3, 2e-5, 1.0);
	assert_int_equal(nan.wrong, 1);
}

static void repeated(void **state)
{
	float want[2] = {1.0f, 2.0f}, got[5] = {1.0f, 2.0f, 1.0f, 2.0f, 1.0f};
	struct ex_verdict v = {0};
	ex_check_repeated(&v, got, 5, want, 2, 0.0, 0.0);
	assert_int_equal(v.wrong, 0);
	got[3] = 2.001f;
	got[4] = 3.0f; /* part of an incomplete repetition */
	ex_check_repeated(&v, got, 5, want, 2, 0.0, 0.0);
	assert_int_equal(v.wrong, 2);
	assert_int_equal(v.first_wrong, 3);
	struct ex_verdict bound = {0};
	ex_check_repeated(&bound, got, 5, want, 2, 1e-3, 1.0);
	assert_int_equal(bound.wrong, 1);
	assert_int_equal(bound.first_wrong, 4);
}

static void scaling(void **state)
{
	struct ex_work w = {.scale = 2.0};
	uint32_t n = 1000, batches = 20, per_block = 1;
	ex_apply_scale(&w, &n, &batches, &per_block);
	assert_true(n == 1000 && batches == 40 && per_block == 1);
	batches = 3; /* too few batches to be fine-grained */
	w.scale = 0.5;
	ex_apply_scale(&w, &n, &batches, &per_block);
	assert_true(n == 500 && batches == 3);
	batches = per_block = 10; /* one row of blocks stays one row */
	ex_apply_scale(&w, &n, &batches, &per_block);
	assert_true(n == 500 && batches == 5 && per_block == 5);
	batches = 64;
	per_block = 2;
	ex_apply_scale(&w, &n, &batches, &per_block);
	assert_true(batches == 32 && batches % per_block == 0);
}

static void every_size(void **state)
{
	static const char *const names[] = {"va", "nn", "pf", "pl", "md", "spmv", "mm", "cfd", "nb",
		"bo", "mh", "tp", "fd", "lm", "px"};
	static const char *const classes[] = {"gpu", "cpu"};
	for (unsigned k = 0; k < sizeof(names) / sizeof(names[0]); k++)
		for (unsigned c = 0; c < 2; c++) {
			const struct ex_size *large = ex_find_size(names[k], classes[c], "large");
			const struct ex_size *small = ex_find_size(names[k], classes[c], "small");
			const struct ex_size *trivial =
				ex_find_size(names[k], classes[c], "trivial");
			assert_non_null(large);
			assert_non_null(small);
			assert_non_null(trivial);
			assert_true(large->target_us > small->target_us);
			assert_true(small->target_us > trivial->target_us);
		}
	assert_null(ex_find_size("va", "gpu", "huge"));
}

static void count_range(void *context, uint64_t from, uint64_t to)
{
	atomic_fetch_add((_Atomic uint64_t *)context, (from + to - 1) * (to - from) / 2);
}

static void parallel(void **state)
{
	for (uint64_t n = 0; n < 70; n += 3) {
		_Atomic uint64_t sum = 0;
		ex_parallel(n, count_range, &sum);
		assert_int_equal(sum, n ? n * (n - 1) / 2 : 0);
	}
}

static void inputs(void **state)
{
	assert_int_equal(ex_random(1, 5), ex_random(1, 5));
	assert_int_not_equal(ex_random(1, 5), ex_random(2, 5));
	for (uint64_t i = 0; i < 1000; i++) {
		assert_true(ex_unit(3, i) >= 0.0f && ex_unit(3, i) < 1.0f);
		assert_true(ex_small_int(3, i) >= -8 && ex_small_int(3, i) <= 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(bounds),
		cmocka_unit_test(repeated),
		cmocka_unit_test(scaling),
		cmocka_unit_test(every_size),
		cmocka_unit_test(parallel),
		cmocka_unit_test(inputs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
