/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests shares and losses of programs that run side by side, with made-up rounds. */
#include "unit.h"

#include "lab/preempt/shares.h"

#include <errno.h>
#include <math.h>

#define MS      UINT64_C(1000000)
#define SECOND  (1000 * MS)
#define ROUNDS  4000
#define WINDOWS 10

static void near(double have, double want)
{
	if (fabs(have - want) > 1e-6 * fabs(want) + 1e-9)
		fail_msg("%g is not %g", have, want);
}

/* Rounds that end at regular intervals, from time 0. */
static void make(uint64_t done_ns[ROUNDS], uint64_t every_ns)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		done_ns[i] = (i + 1) * every_ns;
}

/* At a time within a round, the elapsed fraction of the round counts. The first round counts only
 * once it has ended, because no earlier end marks its start. */
static void rounds(void **state)
{
	const uint64_t done[] = {100, 200, 400};

	near(shares_rounds(done, 3, 50), 0);
	near(shares_rounds(done, 3, 100), 1);
	near(shares_rounds(done, 3, 150), 1.5);
	near(shares_rounds(done, 3, 200), 2);
	near(shares_rounds(done, 3, 250), 2.25);
	near(shares_rounds(done, 3, 400), 3);
	near(shares_rounds(done, 3, 5000), 3);
	near(shares_rounds(done, 0, 5), 0);
}

static double rate(const uint64_t *done_ns, unsigned n, uint64_t window_ns, unsigned windows)
{
	double finished[WINDOWS + 1];

	shares_cut(done_ns, n, SECOND, window_ns, windows, finished);
	return shares_rate(finished, window_ns, windows);
}

/* The rate is the median of the windows, so a delay in one window does not matter. */
static void rates(void **state)
{
	uint64_t done[ROUNDS];

	make(done, 20 * MS);
	near(rate(done, ROUNDS, 300 * MS, 10), 50);
	for (unsigned i = 70; i < ROUNDS; i++)
		done[i] += SECOND;
	near(rate(done, ROUNDS, SECOND, 5), 50);
	near(rate(done, 0, SECOND, 5), 0);
}

static void weights(void **state)
{
	const unsigned weight[] = {3, 2, 1};

	near(shares_wanted(weight, 3, 0), 0.5);
	near(shares_wanted(weight, 3, 2), 1.0 / 6);
	near(shares_wanted(weight, 2, 1), 0.4);
	near(shares_deviation((double[]){0.5, 0.3, 0.2}, weight, 3), 100 * (0.2 - 1.0 / 6));
	near(shares_deviation((double[]){0.52, 0.36, 0.12}, weight, 3), 100 * (1.0 / 6 - 0.12));
	near(shares_deviation((double[]){0.5, 1.0 / 3, 1.0 / 6}, weight, 3), 0);
}

/* One program's rounds are ten times as long as the other's. This does not matter, because a
 * program's progress is relative to its speed alone. Together they make nine tenths of the progress
 * that one makes alone; the shares are two thirds and one third of that. */
static void by_progress(void **state)
{
	uint64_t done[2][ROUNDS];
	double finished[2][WINDOWS + 1];
	struct shares_input in = {.n = 2,
		.weight = {2, 1},
		.alone_per_s = {1000 / 6.0, 1000 / 30.0},
		.finished = {finished[0], finished[1]},
		.window_ns = 300 * MS,
		.windows = 10};
	struct shares s;

	make(done[0], 10 * MS);
	make(done[1], 100 * MS);
	for (unsigned i = 0; i < 2; i++)
		shares_cut(done[i], ROUNDS, SECOND, 300 * MS, WINDOWS, finished[i]);
	assert_int_equal(shares_sum_up(&in, &s), 0);
	near(s.progress[0], 0.6);
	near(s.progress[1], 0.3);
	near(s.share[0], 2.0 / 3);
	near(s.share[1], 1.0 / 3);
	near(s.lost, 0.1);
	near(s.deviation, 0);
	near(s.share_spread, 0);
	near(s.lost_spread, 0);
	in.weight[0] = 1;
	assert_int_equal(shares_sum_up(&in, &s), 0);
	near(s.deviation, 100 * (2.0 / 3 - 0.5));
	in.windows = 1;
	assert_int_equal(shares_sum_up(&in, &s), 0);
	near(s.share[0], 2.0 / 3);
	near(s.share_spread, -1);
	near(s.lost_spread, -1);
}

/* Of three programs, one stalls in one window of five. Then all stall in one window. */
static void windows(void **state)
{
	uint64_t done[3][ROUNDS];
	double finished[3][WINDOWS + 1];
	struct shares_input in = {.n = 3,
		.weight = {3, 2, 1},
		.alone_per_s = {100, 100, 100},
		.finished = {finished[0], finished[1], finished[2]},
		.window_ns = SECOND,
		.windows = 5};
	struct shares s;

	make(done[0], 20 * MS);
	make(done[1], 40 * MS);
	make(done[2], 80 * MS);
	for (unsigned i = 75; i < ROUNDS; i++) /* a pause of one second at 3 s */
		done[1][i] += SECOND;
	for (unsigned i = 0; i < 3; i++)
		shares_cut(done[i], ROUNDS, SECOND, SECOND, 5, finished[i]);
	assert_int_equal(shares_sum_up(&in, &s), 0);
	near(s.share[0], 0.5 / 0.875);
	near(s.share[1], 0.25 / 0.875);
	near(s.share[2], 0.125 / 0.875);
	near(s.lost, 0.125);
	assert_true(s.share_spread > 0.25 && s.lost_spread > 0.2);
	for (unsigned i = 0; i < 3; i++)
		shares_cut(done[i], 10, SECOND, SECOND, 5, finished[i]);
	assert_int_equal(shares_sum_up(&in, &s), -ENODATA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds),
		cmocka_unit_test(rates),
		cmocka_unit_test(weights),
		cmocka_unit_test(by_progress),
		cmocka_unit_test(windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
