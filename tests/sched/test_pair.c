/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the formula that predicts the times of two kernels side by side, the measured ratios that
 * correct it, and the models that use both. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "sched/model/durations.h"
#include "sched/model/pair.h"

/* An SM's time per block, for 1 to 8 blocks on it. `bound`: two blocks saturate the SM. `scales`:
 * each block up to the eighth makes the kernel faster. */
static const float bound[SCHED_PER_SM] = {100, 50, 50, 50, 50, 50, 50, 50};
static const float scales[SCHED_PER_SM] = {
	800, 400, 800.f / 3, 200, 160, 400.f / 3, 800.f / 7, 100};

static void curves(float ret[2][SCHED_PER_SM], const float *a, const float *b)
{
	memcpy(ret[0], a, sizeof(ret[0]));
	memcpy(ret[1], b, sizeof(ret[1]));
}

static struct sched_pair pair_of(uint32_t a, uint32_t b)
{
	return (struct sched_pair){.kernel = {7, 9}, .count = {a, b}, .most = {8, 8}};
}

static void expect(const struct pair_ratios *r, const struct sched_pair *p,
	const float curve[2][SCHED_PER_SM], double a, double b)
{
	float ns[2];

	assert_int_equal(pair_ask(r, p, curve, ns), 0);
	assert_float_equal(ns[0], a, a * 1e-5);
	assert_float_equal(ns[1], b, b * 1e-5);
}

static void demands_add_up(void **state)
{
	struct pair_ratios r = {0};
	float c[2][SCHED_PER_SM];
	struct sched_pair p;

	curves(c, bound, scales);
	/* Each kernel needs half of what an SM can do, so neither is slowed. */
	p = pair_of(1, 4);
	expect(&r, &p, c, 100, 200);
	/* One kernel needs all of an SM and the other half of one, so both take 1.5 times as
	 * long. */
	p = pair_of(2, 4);
	expect(&r, &p, c, 75, 300);
	p = pair_of(8, 8);
	expect(&r, &p, c, 100, 200);
}

/* Only 1, 4 and 8 blocks were measured. */
static void between_counts(void **state)
{
	float c[2][SCHED_PER_SM] = {{[0] = 400, [3] = 100, [7] = 80}, {[0] = 1e6f, [7] = 1e5f}};
	struct pair_ratios r = {0};
	struct sched_pair p = pair_of(6, 1);
	float ns[2];

	/* Rates in blocks per ns: 1/100 at 4 blocks and 1/80 at 8, so the mean of both at 6.
	 * Saturations of the SM: 0.9 and 0.1. */
	expect(&r, &p, c, 1 / ((1 / 100. + 1 / 80.) / 2), 1e6);
	/* Above the largest measured count, each block is assumed to add as much as each of the
	 * measured ones. */
	c[0][7] = 0;
	p = pair_of(8, 1);
	assert_int_equal(pair_ask(&r, &p, c, ns), 0);
	assert_float_equal(ns[0], 1.1 * 50, 0.01);
}

static void unknown(void **state)
{
	float c[2][SCHED_PER_SM], ns[2] = {5, 5};
	struct pair_ratios r = {0};
	struct sched_pair p = pair_of(1, 1);

	curves(c, bound, scales);
	memset(c[1], 0, sizeof(c[1]));
	assert_int_equal(pair_ask(&r, &p, c, ns), -ENOENT);
	c[1][3] = 100; /* one count is not a curve */
	assert_int_equal(pair_ask(&r, &p, c, ns), -ENOENT);
	assert_false(pair_teach(&r, &p, c, 10, 1000));
	p.count[1] = p.most[1] = 1; /* enough if one block is the most */
	assert_int_equal(pair_ask(&r, &p, c, ns), 0);
	p.count[1] = 2;
	assert_int_equal(pair_ask(&r, &p, c, ns), -ENOENT);
	p.count[1] = 0;
	assert_int_equal(pair_ask(&r, &p, c, ns), -ENOENT);
}

static void ratios(void **state)
{
	struct pair_ratios r = {0};
	float c[2][SCHED_PER_SM];
	struct sched_pair p = pair_of(1, 4), other = pair_of(1, 4);

	curves(c, bound, scales);
	/* The kernel was twice as slow as predicted. A single measurement counts half, and many
	 * count in full. */
	assert_true(pair_teach(&r, &p, c, 10, 2000));
	expect(&r, &p, c, 150, 200);
	for (unsigned i = 0; i < 200; i++)
		assert_true(pair_teach(&r, &p, c, 10, 2000));
	expect(&r, &p, c, 200, 200);
	/* A pair with another kernel has its own ratio. */
	other.kernel[1] = 10;
	expect(&r, &other, c, 100, 200);
	/* The ratio of a pair never rises above 8, whatever the measurements are. */
	for (unsigned i = 0; i < 200; i++)
		assert_true(pair_teach(&r, &p, c, 1, 1000000000));
	expect(&r, &p, c, 800, 200);
	/* The curve has no point at this count, so the measurement belongs to the curve and not to
	 * the pair. */
	c[0][2] = 0;
	p = pair_of(3, 4);
	assert_false(pair_teach(&r, &p, c, 10, 2000));
}

static void teach_curve(void *m, uint64_t kernel, const float *curve)
{
	struct sched_shape s = {.kernel = kernel, .total = 100, .n_sms = 4};

	for (uint32_t n = 1; n <= 8; n++)
		model_durations.learn_curve(m, &s, n, 1000, (uint64_t)(curve[n - 1] * 1000));
}

static void by_the_means(void **state)
{
	struct sched_pair p = pair_of(2, 4);
	void *m = model_durations.create();
	float ns[2];

	assert_non_null(m);
	assert_int_equal(model_durations.pair(m, &p, ns), -ENOENT);
	teach_curve(m, 7, bound);
	assert_int_equal(model_durations.pair(m, &p, ns), -ENOENT);
	teach_curve(m, 9, scales);
	assert_int_equal(model_durations.pair(m, &p, ns), 0);
	assert_float_equal(ns[0], 75, 0.1);
	assert_float_equal(ns[1], 300, 0.1);
	assert_true(model_durations.learn_pair(m, &p, 10, 1500));
	assert_int_equal(model_durations.pair(m, &p, ns), 0);
	assert_float_equal(ns[0], 112.5, 0.1);
	model_durations.destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demands_add_up),
		cmocka_unit_test(between_counts),
		cmocka_unit_test(unknown),
		cmocka_unit_test(ratios),
		cmocka_unit_test(by_the_means),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
