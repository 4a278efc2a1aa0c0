/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the estimates of how long launches take. */
#include "base/base.h"
#include "shim/order/cost.h"

#include "unit.h"

#define UNKNOWN 250u

static uint32_t total(const struct cost_batch *b)
{
	uint32_t us = 0;

	for (uint32_t i = 0; i < b->n; i++)
		us += cost_of(b->what[i], UNKNOWN);
	return us;
}

static void learn(struct cost_batch b, double took_us)
{
	b.us = total(&b);
	cost_learn(&b, UNKNOWN, took_us);
}

static void one_kind(void **state)
{
	cost_forget();
	assert_int_equal(cost_of(7, UNKNOWN), UNKNOWN);
	for (int i = 0; i < 12; i++)
		learn((struct cost_batch){.what = {7}, .n = 1}, 3000);
	assert_in_range(cost_of(7, UNKNOWN), 2950, 3050);
	/* A launch that is much shorter than the estimate is recognized after a few batches. */
	for (int i = 0; i < 6; i++)
		learn((struct cost_batch){.what = {8, 8, 8, 8}, .n = 4}, 20);
	assert_in_range(cost_of(8, UNKNOWN), 3, 12);
	/* never 0, because then any number of launches would fit into the limit */
	assert_int_equal(cost_of(0, 0), 1);
}

/* The duration of a batch changes the estimate of each kind of launch in it once, whatever their
 * order and number. The new estimate is the mean of the old one and the measured time, which counts
 * as at most 8 times and at least 1/8 of the old estimate. Tests batches of 1 to 8 launches, of one
 * kind or of two, that took from 1/100 to 100 times the estimate. */
static void once_a_batch(void **state)
{
	static const double times[] = {0.01, 0.2, 0.9, 1, 1.1, 2, 7, 100};

	for (uint32_t n = 1; n <= COST_BATCH; n++) {
		for (unsigned t = 0; t < ARRAY_LEN(times); t++) {
			struct cost_batch one = {.n = n}, two = {.n = n};
			double factor = MIN(MAX(times[t], 1 / 8.0), 8),
			       expected = 1000 * (1 + factor) / 2;

			cost_forget();
			for (uint32_t i = 0; i < n; i++) {
				one.what[i] = 7;
				two.what[i] = 8 + i % 2;
			}
			for (int i = 0; i < 20; i++) {
				learn(one, 1000.0 * n);
				learn(two, 1000.0 * n);
			}
			assert_in_range(cost_of(7, UNKNOWN), 998, 1001);
			learn(one, times[t] * 1000 * n);
			learn(two, times[t] * 1000 * n);
			for (uint64_t k = 7; k <= (n > 1 ? 9 : 8); k++)
				assert_in_range(
					cost_of(k, UNKNOWN), expected * 0.98, expected * 1.02);
		}
	}
}

/* Eight batches are submitted together, so all carry the same outdated estimate. Together they must
 * correct the estimate to the measured time, and not past it. */
static void submitted_together(void **state)
{
	struct cost_batch b = {.what = {3, 3}, .n = 2};

	cost_forget();
	b.us = total(&b);
	for (int i = 0; i < 8; i++)
		cost_learn(&b, UNKNOWN, 20);
	assert_in_range(cost_of(3, UNKNOWN), 9, 12);
}

/* Two kinds of launches mostly come together, and now and then one comes alone. Their estimates
 * must differ. */
static void mixed(void **state)
{
	cost_forget();
	for (int i = 0; i < 40; i++) {
		learn((struct cost_batch){.what = {1, 2, 2, 2}, .n = 4}, 1000 + 3 * 10);
		if (i % 4 == 0)
			learn((struct cost_batch){.what = {2, 2}, .n = 2}, 20);
	}
	assert_in_range(cost_of(1, UNKNOWN), 850, 1100);
	assert_in_range(cost_of(2, UNKNOWN), 5, 60);
}

/* There are more kinds of launches than there is room for. The newest must be known, and none may
 * be mistaken for another. */
static void many(void **state)
{
	unsigned known = 0;

	cost_forget();
	for (uint64_t k = 1; k <= 20000; k++) {
		for (int i = 0; i < 8; i++)
			learn((struct cost_batch){.what = {k}, .n = 1}, 40);
		assert_in_range(cost_of(k, UNKNOWN), 30, 50);
	}
	for (uint64_t k = 1; k <= 20000; k++)
		known += cost_of(k, UNKNOWN) != UNKNOWN;
	assert_in_range(known, 2000, 4096);
}

/* A duration of an hour, or of zero, changes the estimate only a little at a time. */
static void absurd(void **state)
{
	cost_forget();
	learn((struct cost_batch){.what = {5}, .n = 1}, 3.6e9);
	assert_in_range(cost_of(5, UNKNOWN), UNKNOWN, 5 * UNKNOWN);
	for (int i = 0; i < 50; i++)
		learn((struct cost_batch){.what = {5}, .n = 1}, 1e12);
	assert_true(cost_of(5, UNKNOWN) <= 1000000000);
	for (int i = 0; i < 100; i++)
		learn((struct cost_batch){.what = {5}, .n = 1}, 0);
	assert_int_equal(cost_of(5, UNKNOWN), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_kind),
		cmocka_unit_test(once_a_batch),
		cmocka_unit_test(submitted_together),
		cmocka_unit_test(mixed),
		cmocka_unit_test(many),
		cmocka_unit_test(absurd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
