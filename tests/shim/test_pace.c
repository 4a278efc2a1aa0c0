/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests how the shim chooses claim sizes and forms by measured launch times. Each test simulates a
 * device with a time per block for each claim size, and checks which choice results. */
#include "shim/form/pace.h"
#include "unit.h"

#define MIN_NS 100000

/* ns per block of the grid, if a claim has 1, 2, 4 … blocks */
struct device {
	double ns[PACE_CHUNKS];
	uint64_t workers, total, target_ns;
};

static uint32_t launch(const struct device *d, struct pace *p, bool *ret_settled)
{
	uint32_t chunk = pace_chunk(p, d->workers, d->target_ns, ret_settled);

	pace_learn(p, chunk, (uint64_t)(d->ns[__builtin_ctz(chunk)] * (double)d->total), d->total,
		MIN_NS);
	return chunk;
}

static uint32_t settle(const struct device *d, unsigned *ret_launches)
{
	struct pace p = {0};
	bool settled = false;
	uint32_t chunk = 0;

	for (*ret_launches = 0; *ret_launches < 20 && !settled; ++*ret_launches)
		chunk = launch(d, &p, &settled);
	assert_true(settled);
	return chunk;
}

static void short_blocks_take_large_claims(void **state)
{
	const struct device d = {{1, 0.75, 0.6, 0.55, 0.525, 0.5}, 1000, 1000000};
	unsigned launches;

	/* It tries 1, then the largest size, then the next smaller one, and stops. */
	assert_int_equal(settle(&d, &launches), 32);
	assert_int_equal(launches, 4);
}

static void long_blocks_are_claimed_one_by_one(void **state)
{
	const struct device forty_us = {{40, 10, 5, 2, 1, 1}, 1000, 1000000};
	const struct device fifteen_us = {{15, 14, 5, 2, 1, 1}, 1000, 1000000};
	const struct device ten_us = {{10, 9.97, 5, 2, 1, 1}, 1000, 1000000};
	const struct device worse = {{5, 6.5, 7, 7, 7, 7}, 1000, 1000000};
	unsigned launches;

	assert_int_equal(settle(&forty_us, &launches), 1);
	assert_int_equal(launches, 2);
	assert_int_equal(settle(&fifteen_us, &launches), 1);
	assert_int_equal(launches, 2);
	/* When a launch is preempted, workers finish their claims first. A gain of 0.3 % does not
	 * justify that they leave 10 us later. */
	assert_int_equal(settle(&ten_us, &launches), 1);
	assert_int_equal(launches, 3);
	assert_int_equal(settle(&worse, &launches), 1);
	assert_int_equal(launches, 4);
}

/* The chosen claims end within the target time and cost little more than the best ones. */
static void the_target_is_kept(void **state)
{
	for (double block_us = 1; block_us <= 36; block_us += 0.5) {
		for (uint64_t target_us = 20; target_us <= 200; target_us += 5) {
			struct device d = {{0}, 1000, 1000000, target_us * 1000};
			unsigned launches;
			uint32_t chunk;

			for (unsigned i = 0; i < PACE_CHUNKS; i++)
				d.ns[i] = block_us + 0.3 / (1 << i);
			chunk = settle(&d, &launches);
			assert_in_range(launches, 2, 7);
			assert_true(chunk == 1 || (double)chunk * d.ns[__builtin_ctz(chunk)] <=
							  (double)target_us * 0.9);
			assert_true(d.ns[__builtin_ctz(chunk)] < block_us * 1.04);
		}
	}
}

/* If the largest claim within the target time turns out slow, the smaller claims are tried, from the
 * smallest on. */
static void a_bad_jump_is_made_good(void **state)
{
	const struct device d = {{5, 4.5, 4.2, 6, 6, 6}, 500, 1000000};
	unsigned launches;

	assert_int_equal(settle(&d, &launches), 4);
	assert_int_equal(launches, 5);
}

/* A size that exceeds the target time a little is chosen only if it gains a lot. */
static void what_gains_much_may_stretch_the_target(void **state)
{
	/* pf on an H200, which takes 5.81 ns without heddle */
	const struct device pf = {{6.699, 6.272, 6.099, 6, 5.96, 5.96}, 1056, 1266044};
	const struct device little = {{6.3, 6.2, 6.13, 6.1, 6.1, 6.1}, 1000, 1000000};
	const struct device too_long = {{7.9, 7.2, 6.7, 6, 5.9, 5.8}, 1000, 1000000};
	unsigned launches;

	assert_int_equal(settle(&pf, &launches), 4);
	assert_int_equal(launches, 4);
	assert_int_equal(settle(&little, &launches), 2);
	assert_int_equal(settle(&too_long, &launches), 2);
}

static void small_gains_are_not_worth_it(void **state)
{
	const struct device d = {{5, 4, 3.99, 3.98, 3.97, 3.96}, 1000, 1000000};
	unsigned launches;

	assert_int_equal(settle(&d, &launches), 2);
}

/* Later launches correct the effect of one disturbed launch. */
static void disturbance_is_forgotten(void **state)
{
	const struct device d = {{5, 4, 3, 3.4, 3.4, 3.4}, 1000, 1000000};
	struct pace p = {0};
	bool settled;

	launch(&d, &p, &settled);
	assert_int_equal(pace_chunk(&p, d.workers, 0, &settled), 4);
	pace_learn(&p, 4, (uint64_t)(3.5 * (double)d.total), d.total, MIN_NS);
	for (unsigned i = 0; i < 2000; i++)
		launch(&d, &p, &settled);
	assert_int_equal(launch(&d, &p, &settled), 4);
}

static void spells_teach_too(void **state)
{
	struct pace p = {0};
	bool settled;

	pace_learn_spell(&p, 1, 1000000, 1000000);
	assert_int_equal(pace_chunk(&p, 1000, 0, &settled), 16);
	assert_false(settled);
	assert_false(pace_is_short(&p, 10, MIN_NS)); /* no measurement of a whole grid */
}

static void second_form(
	const struct device *one, const struct device *two, bool second_wins, unsigned at_most)
{
	struct pace p[2] = {{{0}}};
	unsigned tries = 0;
	bool settled;

	for (unsigned i = 0; i < 40; i++) {
		bool second = pace_prefers_second(&p[0], one->workers, &p[1], two->workers, 0);

		if (second && !tries)
			pace_begin_second(&p[1], two->workers, &p[0], one->workers, 0);
		tries += second;
		launch(second ? two : one, &p[second], &settled);
	}
	assert_int_equal(
		pace_prefers_second(&p[0], one->workers, &p[1], two->workers, 0), second_wins);
	if (!second_wins)
		assert_in_range(tries, 1, at_most);
}

static void the_faster_form_wins(void **state)
{
	const struct device fast = {{6, 5.5, 5.5, 5.5, 5.5, 5.5}, 1000, 100000};
	const struct device slow = {{6.5, 6, 6, 6, 6, 6}, 800, 100000};
	const struct device awful = {{12, 11, 11, 10, 10, 9}, 1000, 100000};

	second_form(&slow, &fast, true, 0);
	second_form(&fast, &slow, false, 3);
	second_form(&fast, &awful, false, 1);
}

/* With the values of nn on an H200. The second form's spills are at its claims, so with claims of
 * one block it is much slower than with large ones. Its trial must therefore start at the claim
 * size that is best for the first form. */
static void forms_are_compared_at_large_claims(void **state)
{
	const struct device first = {{2.336, 1.8, 1.5, 1.302, 1.25, 1.24}, 792, 13246464};
	const struct device second = {{3.638, 2.4, 1.6, 1.25, 1.2, 1.19}, 1056, 13246464};
	struct pace p[2] = {{{0}}};
	bool settled;

	second_form(&first, &second, true, 0);
	for (unsigned i = 0; i < 3; i++)
		launch(&first, &p[0], &settled);
	pace_begin_second(&p[1], second.workers, &p[0], first.workers, 0);
	assert_int_equal(launch(&second, &p[1], &settled), 16);
	/* With more workers, a claim of the same duration has fewer blocks. */
	pace_begin_second(&p[1], 4 * second.workers, &p[0], first.workers, 0);
	assert_int_equal(p[1].begins, 2);
}

/* The trial of the faster form was disturbed. Retries must correct this, but must be rare
 * otherwise. */
static void forms_are_tried_again(void **state)
{
	const struct device slow = {{30, 30, 30, 30, 30, 30}, 1000, 100000};
	const struct device fast = {{20, 20, 20, 20, 20, 20}, 1000, 100000};
	struct pace p[2] = {{{0}}};
	unsigned second = 0, retries = 0;
	bool settled;

	launch(&slow, &p[0], &settled);
	pace_learn(&p[1], 1, 20 * 1000000, 100000, MIN_NS); /* takes ten times as long */
	for (unsigned i = 0; i < 1000; i++) {
		bool one = pace_prefers_second(&p[0], 1000, &p[1], 1000, 0),
		     retry = pace_form_retry(&p[0], &p[1]) != 0;

		assert_true(retry || one == (second > 0));
		retries += retry;
		one ^= retry;
		second += one;
		launch(one ? &fast : &slow, &p[one], &settled);
	}
	assert_int_equal(retries, 4); /* 64, 128, 256, 512 */
	assert_in_range(second, 930, 940);
}

static void short_grids_are_measured_less_and_less(void **state)
{
	struct pace p = {0};
	unsigned measured = 0;

	for (unsigned i = 0; i < 20000; i++) {
		if (pace_is_short(&p, 100, MIN_NS) && !pace_remeasures(&p))
			continue;
		pace_learn(&p, 1, 20000, 100, MIN_NS);
		measured++;
	}
	assert_in_range(measured, 8, 10);
	pace_learn(&p, 1, 200000, 100, MIN_NS);
	assert_false(pace_is_short(&p, 100, MIN_NS));
	assert_true(pace_is_short(&p, 40, MIN_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_blocks_take_large_claims),
		cmocka_unit_test(long_blocks_are_claimed_one_by_one),
		cmocka_unit_test(the_target_is_kept),
		cmocka_unit_test(a_bad_jump_is_made_good),
		cmocka_unit_test(what_gains_much_may_stretch_the_target),
		cmocka_unit_test(small_gains_are_not_worth_it),
		cmocka_unit_test(disturbance_is_forgotten),
		cmocka_unit_test(spells_teach_too),
		cmocka_unit_test(the_faster_form_wins),
		cmocka_unit_test(forms_are_compared_at_large_claims),
		cmocka_unit_test(forms_are_tried_again),
		cmocka_unit_test(short_grids_are_measured_less_and_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
