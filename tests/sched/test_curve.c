/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the pruning of curves (Adaptive simultaneous multi-tenancy, section 3.5). The values have
 * the shapes of the kernels in figure 9, which shows durations only graphically. */
#include "unit.h"

#include "sched/policy/curve.h"

#define MOST 16u

/* ns[1] to ns[most]; expect: the counts that stay, terminated by 0. */
static void prunes_to(const double *ns, uint32_t most, const uint32_t *expect)
{
	bool kept[MOST + 1] = {true, true, true, true};
	uint32_t n_kept = curve_prune(ns, most, kept), n = 0, at = 0;

	for (uint32_t i = 1; i <= most; i++) {
		bool wanted = expect[n] == i;

		assert_int_equal(kept[i], wanted);
		n += wanted;
	}
	assert_int_equal(n_kept, n);
	/* Policy greedy's walk along the curve visits the same counts. */
	for (uint32_t i = 0; i < n; i++) {
		at = curve_next(ns, most, at);
		assert_int_equal(at, expect[i]);
	}
	assert_int_equal(curve_next(ns, most, at), 0);
	assert_true(kept[0]); /* index 0 is not a count */
}

/* More blocks always help, but less and less. */
static void falls_all_the_way(void **state)
{
	static const double ns[] = {0, 80, 41, 28, 22, 18, 16, 15, 14.5};

	prunes_to(ns, 8, (const uint32_t[]){1, 2, 3, 4, 5, 6, 7, 8, 0});
}

/* binomialOptions: a count in the middle of the curve is slower than a smaller count. Larger counts
 * are faster again. */
static void slower_in_the_middle(void **state)
{
	static const double ns[] = {0, 60, 33, 24, 20, 21, 17, 17.5, 16};

	prunes_to(ns, 8, (const uint32_t[]){1, 2, 3, 4, 6, 8, 0});
}

/* nbody: the shortest duration is in the middle of the curve, and no larger count is as fast. */
static void slower_at_the_end(void **state)
{
	static const double ns[] = {0, 50, 27, 19, 19.5, 22, 20, 19.25, 30};

	prunes_to(ns, 8, (const uint32_t[]){1, 2, 3, 0});
}

/* Comparing each count with the next smaller one is not enough: here 4 is faster than 3, but not
 * faster than 2. */
static void slower_than_an_earlier_one(void **state)
{
	static const double ns[] = {0, 50, 20, 40, 30, 19};

	prunes_to(ns, 5, (const uint32_t[]){1, 2, 5, 0});
}

static void equal_is_not_faster(void **state)
{
	static const double ns[] = {0, 20, 20, 10, 10, 10};

	prunes_to(ns, 5, (const uint32_t[]){1, 3, 0});
}

static void unmeasured(void **state)
{
	static const double ns[] = {0, 0, 20, 0, 15, 0}, none[] = {0, 0, 0, 0};

	prunes_to(ns, 5, (const uint32_t[]){2, 4, 0});
	prunes_to(none, 3, (const uint32_t[]){0});
	prunes_to(none, 0, (const uint32_t[]){0});
}

static void counts_that_a_grid_can_use(void **state)
{
	assert_int_equal(curve_most(8, 1000, 4), 8);
	assert_int_equal(curve_most(8, 32, 4), 8);
	assert_int_equal(curve_most(8, 29, 4), 8);
	assert_int_equal(curve_most(8, 28, 4), 7);
	assert_int_equal(curve_most(8, 3, 4), 1);
	assert_int_equal(curve_most(8, 0, 4), 1);
	assert_int_equal(curve_most(0, 100, 4), 1);
	assert_int_equal(curve_most(32, UINT64_MAX, 1), 32);
}

/* In each round of turns, every count comes once, and the first few counts are spread over the
 * whole range. */
static void turns_are_spread(void **state)
{
	for (uint32_t most = 1; most <= 32; most++) {
		unsigned seen[33] = {0};

		for (uint32_t step = 0; step < most; step++) {
			uint32_t n = curve_turn(most, step);

			assert_in_range(n, 1, most);
			assert_int_equal(seen[n]++, 0);
			assert_int_equal(curve_turn(most, step + 3 * most), n);
		}
		assert_int_equal(curve_turn(most, 0), most);
		assert_int_equal(curve_turn(most, 1), 1);
	}
	/* The first five of 16 counts leave no gap of more than four. */
	for (uint32_t step = 0; step < 5; step++)
		assert_int_equal(curve_turn(16, step), ((uint32_t[]){16, 1, 8, 12, 4})[step]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(falls_all_the_way),
		cmocka_unit_test(slower_in_the_middle),
		cmocka_unit_test(slower_at_the_end),
		cmocka_unit_test(slower_than_an_earlier_one),
		cmocka_unit_test(turns_are_spread),
		cmocka_unit_test(equal_is_not_faster),
		cmocka_unit_test(unmeasured),
		cmocka_unit_test(counts_that_a_grid_can_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
