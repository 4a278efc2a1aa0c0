/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests which figures are accepted as results and which are impossible. */
#include "stage/figures.h"
#include "unit.h"

static void bounds(void **state)
{
	struct figures fine = {.antt = 1.2, .stp = 1.6}, low = {.antt = 0.93, .stp = 1.6};
	struct figures high = {.antt = 1.1, .stp = 2.01};
	char buf[96];

	assert_null(figures_noise(&fine, 2, 0.1, buf, sizeof(buf)));
	assert_string_equal(
		figures_noise(&low, 2, 0, buf, sizeof(buf)), "ANTT 0.93 cannot be below 1");
	assert_string_equal(
		figures_noise(&high, 2, 0, buf, sizeof(buf)), "STP 2.01 cannot be above 2");
	assert_null(figures_noise(&high, 3, 0, buf, sizeof(buf)));
	assert_string_equal(
		figures_noise(&fine, 2, 0.23, buf, sizeof(buf)), "rounds differ by 23 %");
	assert_non_null(figures_noise(&fine, 2, -1, buf, sizeof(buf)));
}

static void spreads(void **state)
{
	struct stage_round at[] = {{0, 100, 0, 50}, {1000, 1110, 1000, 1050}, {0, 90, 0, 50}};
	struct stage_result r = {.rounds = 3, .at = at, .low_ns = 100, .high_ns = 50};

	assert_true(stage_spread(&r, false) > 0.199 && stage_spread(&r, false) < 0.201);
	assert_true(stage_spread(&r, true) == 0);
	r.rounds = 1;
	assert_true(stage_spread(&r, false) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(bounds), cmocka_unit_test(spreads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
