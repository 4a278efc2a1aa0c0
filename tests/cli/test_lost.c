/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the computation of the time lost by preemption, with made-up rounds. */
#include "unit.h"

#include "lab/preempt/lost.h"

#include <math.h>

#define ROUNDS 9

struct made {
	struct lost_pair pair[4];
	double ns[4][LOST_FORMS][ROUNDS];
};

/* us: loss per preemption in us, with temporal and with spatial preemption. spread_us: the rounds
 * differ from the mean by up to this much in both directions. Without preemption the managed kernel
 * takes as long as the original one. */
static void make(struct made *m, unsigned i, unsigned low, double original_us, const double us[2],
	unsigned preemptions_a_round, double spread_us)
{
	m->pair[i] = (struct lost_pair){.low = low, .high = 7};
	for (unsigned k = 0; k < LOST_FORMS; k++) {
		bool preempted = k >= LOST_TEMPORAL;
		double at =
			original_us + (preempted ? us[k - LOST_TEMPORAL] * preemptions_a_round : 0);

		for (int r = 0; r < ROUNDS; r++)
			m->ns[i][k][r] = 1e3 * (at + spread_us * (r - ROUNDS / 2) / (ROUNDS / 2));
		m->pair[i].of[k] = (struct lost_samples){
			m->ns[i][k], ROUNDS, preempted ? ROUNDS * preemptions_a_round : 0};
	}
}

static void near(double have, double want)
{
	if (fabs(have - want) > 1e-6 * fabs(want) + 1e-9)
		fail_msg("%g is not %g", have, want);
}

static void means(void **state)
{
	struct made m;
	struct lost l;
	double overhead[LOST_FORMS], us[LOST_FORMS];

	make(&m, 0, 0, 10000, (double[]){100, 60}, 1, 0);
	make(&m, 1, 0, 1000, (double[]){300, 100}, 2, 0);
	make(&m, 2, 3, 5000, (double[]){50, 20}, 1, 0);
	/* In this pair spatial preemption never happened, so the pair does not count in the
	 * comparison. */
	make(&m, 3, 3, 5000, (double[]){5000, 20}, 1, 0);
	m.pair[3].of[LOST_SPATIAL].preemptions = 0;
	/* In one round the host caused a delay. */
	m.ns[0][LOST_SPATIAL][4] *= 30;
	assert_int_equal(lost_sum_up(m.pair, 4, &l), 0);
	assert_int_equal(l.pairs, 3);
	assert_int_equal(l.rounds, 3 * ROUNDS);
	assert_int_equal(l.preemptions[LOST_TEMPORAL], 4 * ROUNDS);
	assert_int_equal(l.preemptions[LOST_SPATIAL], 4 * ROUNDS);
	near(l.us[LOST_TEMPORAL], 150);
	near(l.us[LOST_SPATIAL], 60);
	near(l.overhead[LOST_TEMPORAL], (0.01 + 0.6 + 0.01) / 3);
	near(l.overhead[LOST_SPATIAL], (0.006 + 0.2 + 0.004) / 3);
	near(l.reduction, 0.6);
	assert_int_equal(lost_mean(m.pair, 4, 0, overhead, us), 2);
	near(us[LOST_TEMPORAL], 200);
	near(us[LOST_SPATIAL], 80);
	assert_int_equal(lost_mean(m.pair, 4, 3, overhead, us), 1);
	near(us[LOST_SPATIAL], 20);
	assert_int_equal(lost_mean(m.pair, 4, 5, overhead, us), 0);
}

/* A slower form is overhead, not a loss by preemption. */
static void form_is_no_loss(void **state)
{
	struct made m;
	struct lost l;

	make(&m, 0, 0, 10000, (double[]){1100, 1060}, 1, 0);
	for (int r = 0; r < ROUNDS; r++)
		m.ns[0][LOST_KEPT][r] += 1e6;
	assert_int_equal(lost_sum_up(m.pair, 1, &l), 0);
	near(l.us[LOST_TEMPORAL], 100);
	near(l.us[LOST_SPATIAL], 60);
	near(l.reduction, 0.4);
	near(l.overhead[LOST_TEMPORAL], 0.11);
	near(l.overhead_reduction, 1 - 1060.0 / 1100);
	m.pair[0].of[LOST_KEPT].n = 0; /* not measured, so not counted */
	assert_int_equal(lost_sum_up(m.pair, 1, &l), 0);
	assert_int_equal(l.pairs, 0);
}

/* Identical rounds give an interval of zero width. The wider the rounds spread, the wider the
 * interval. It contains the true value, and more pairs narrow it. */
static void intervals(void **state)
{
	struct made m;
	struct lost l[3], again;
	double spread[] = {0, 30, 120};

	for (int i = 0; i < 3; i++) {
		for (unsigned k = 0; k < 4; k++)
			make(&m, k, k, 10000, (double[]){100, 60}, 1, spread[i]);
		assert_int_equal(lost_sum_up(m.pair, 4, &l[i]), 0);
		near(l[i].us[LOST_TEMPORAL], 100);
		assert_true(l[i].us_low[LOST_TEMPORAL] <= 100 + 1e-9);
		assert_true(l[i].us_high[LOST_TEMPORAL] >= 100 - 1e-9);
		assert_true(l[i].reduction_low <= l[i].reduction + 1e-9);
		assert_true(l[i].reduction_high >= l[i].reduction - 1e-9);
	}
	near(l[0].us_low[LOST_TEMPORAL], 100);
	near(l[0].us_high[LOST_SPATIAL], 60);
	near(l[0].reduction_low, 0.4);
	for (int i = 1; i < 3; i++)
		assert_true(l[i].us_high[LOST_TEMPORAL] - l[i].us_low[LOST_TEMPORAL] >
			    2 * (l[i - 1].us_high[LOST_TEMPORAL] - l[i - 1].us_low[LOST_TEMPORAL]));
	assert_int_equal(lost_sum_up(m.pair, 4, &again), 0);
	assert_true(again.us_low[LOST_SPATIAL] == l[2].us_low[LOST_SPATIAL]);
	assert_int_equal(lost_sum_up(m.pair, 1, &again), 0);
	assert_true(again.us_high[LOST_SPATIAL] - again.us_low[LOST_SPATIAL] >
		    l[2].us_high[LOST_SPATIAL] - l[2].us_low[LOST_SPATIAL]);
}

static double noise(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (double)(x >> 11) / 9007199254740992.0 * 2 - 1;
}

/* About nine in ten of the intervals, which are nominally of 95 %, contain the true value: an
 * interval from percentiles of few rounds is a bit too narrow. Hardly any interval is far too
 * wide. */
static void coverage(void **state)
{
	unsigned holds = 0, below = 0, above = 0;

	for (int i = 0; i < 80; i++) {
		struct made m;
		struct lost l;

		for (unsigned p = 0; p < 4; p++) {
			make(&m, p, p, 10000, (double[]){100, 60}, 1, 0);
			for (unsigned k = 0; k < LOST_FORMS; k++)
				for (int r = 0; r < ROUNDS; r++)
					m.ns[p][k][r] += 1e3 * 50 * noise();
		}
		assert_int_equal(lost_sum_up(m.pair, 4, &l), 0);
		holds += l.us_low[LOST_TEMPORAL] <= 100 && l.us_high[LOST_TEMPORAL] >= 100;
		below += l.us_high[LOST_TEMPORAL] < 100;
		above += l.us_low[LOST_TEMPORAL] > 100;
		assert_true(l.us_high[LOST_TEMPORAL] - l.us_low[LOST_TEMPORAL] < 100);
	}
	assert_true(holds >= 68);
	assert_true(below <= 9 && above <= 9);
}

/* A pair is noise if the rounds of any form differ by more than 10 %. One delayed round in ten does
 * not make it noise. */
static void noisy(void **state)
{
	struct made m;

	make(&m, 0, 0, 10000, (double[]){100, 60}, 1, 499);
	make(&m, 1, 0, 10000, (double[]){100, 60}, 1, 499);
	make(&m, 2, 3, 10000, (double[]){100, 60}, 1, 530);
	assert_int_equal(lost_noisy(m.pair, 3, -1, 0.1), 1);
	assert_int_equal(lost_noisy(m.pair, 3, 0, 0.1), 0);
	assert_int_equal(lost_noisy(m.pair, 3, 3, 0.1), 1);
	assert_int_equal(lost_noisy(m.pair, 3, -1, 0.2), 0);
	m.ns[1][LOST_KEPT][2] *= 1.2;
	assert_int_equal(lost_noisy(m.pair, 3, 0, 0.1), 1);
	m.pair[1].of[LOST_SPATIAL].preemptions = 0; /* no longer counts at all */
	assert_int_equal(lost_noisy(m.pair, 3, 0, 0.1), 0);
	m.pair[0].of[LOST_ORIGINAL].n = 1;
	assert_int_equal(lost_noisy(m.pair, 3, 0, 0.1), 1);
}

static void one_of_many(void **state)
{
	double ns[LOST_FORMS][10];
	struct lost_pair p = {0};

	for (unsigned k = 0; k < LOST_FORMS; k++) {
		for (unsigned i = 0; i < 10; i++)
			ns[k][i] = 1e6 + 1e3 * i;
		p.of[k] = (struct lost_samples){ns[k], 10, 10};
	}
	ns[LOST_TEMPORAL][3] = 5e6;
	assert_int_equal(lost_noisy(&p, 1, -1, 0.1), 0);
	ns[LOST_TEMPORAL][4] = 5e6;
	assert_int_equal(lost_noisy(&p, 1, -1, 0.1), 1);
}

static void nothing(void **state)
{
	struct lost l;

	assert_int_equal(lost_sum_up(NULL, 0, &l), 0);
	assert_int_equal(l.pairs, 0);
	near(l.reduction, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(means),
		cmocka_unit_test(form_is_no_loss),
		cmocka_unit_test(intervals),
		cmocka_unit_test(coverage),
		cmocka_unit_test(noisy),
		cmocka_unit_test(one_of_many),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
