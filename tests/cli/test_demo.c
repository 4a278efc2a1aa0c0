/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the table of heddle demo with made-up results: which figures are marked as noise on each
 * device, and the text that replaces a result. */
#include "cli/demo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define MS     1000000ull
#define ROUNDS 3

/* Turnarounds in ms; the high-priority program has one per round. */
struct times {
	unsigned low, high[ROUNDS];
};

static struct stage_result made(struct stage_round *at, const struct times *t, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t start = (1 + i) * 100000 * MS;

		at[i] = (struct stage_round){
			start, start + t->low * MS, start + MS, start + MS + t->high[i] * MS};
	}
	return (struct stage_result){.rounds = rounds,
		.at = at,
		.low_ns = (double)(t->low * MS),
		.high_ns = (double)(t->high[rounds / 2] * MS),
		.makespan_ns = (double)(t->low * MS),
		.checked = rounds};
}

struct row {
	struct times alone, unmanaged, managed;
	unsigned rounds;
	const char *noise; /* the expected reason why the result is noise, or NULL if it is not */
};

static const struct row rows[] = {
	{{100, {10, 10, 10}}, {110, {100, 100, 100}}, {120, {20, 20, 20}}, 3, NULL},
	/* this machine had other load: the low-priority program is faster under heddle than
	 * alone */
	{{270, {35, 35, 35}}, {255, {270, 270, 270}}, {87, {30, 30, 30}}, 3,
		"ANTT 0.59 cannot be below 1"},
	{{100, {20, 20, 20}}, {110, {100, 100, 100}}, {160, {16, 16, 16}}, 3, NULL},
	{{100, {20, 20, 20}}, {110, {100, 100, 100}}, {300, {14, 14, 14}}, 3, NULL},
	{{100, {20, 20, 20}}, {110, {100, 100, 100}}, {60, {30, 30, 30}}, 3,
		"STP 2.33 cannot be above 2"},
	/* the programs are faster together without heddle than each alone */
	{{100, {20, 20, 20}}, {50, {15, 15, 15}}, {110, {25, 25, 25}}, 3,
		"ANTT 0.62 cannot be below 1"},
	{{100, {20, 20, 20}}, {60, {30, 30, 30}}, {110, {25, 25, 25}}, 3,
		"STP 2.33 cannot be above 2"},
	/* in each arrangement in turn, the times of the rounds differ too much */
	{{100, {10, 10, 12}}, {110, {100, 100, 100}}, {120, {20, 20, 20}}, 3,
		"rounds differ by 20 %"},
	{{100, {10, 10, 10}}, {110, {100, 100, 130}}, {120, {20, 20, 20}}, 3,
		"rounds differ by 30 %"},
	{{100, {10, 10, 10}}, {110, {100, 100, 100}}, {120, {20, 20, 28}}, 3,
		"rounds differ by 40 %"},
	{{100, {10}}, {110, {100}}, {120, {20}}, 1,
		"one round does not tell how far rounds differ"},
};

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void check_row(const struct row *r, enum dev_kind device)
{
	struct demo *d = calloc(1, sizeof(*d));
	struct stage_round at[3][ROUNDS];
	struct strbuf out = {0};
	char buf[96], line[128];

	assert_non_null(d);
	d->device = device;
	d->rounds = r->rounds;
	for (unsigned i = 0; i < DEMO_PAIRS; i++) {
		d->alone_low[i] = d->alone_high[i] = made(at[0], &r->alone, r->rounds);
		d->unmanaged[i] = made(at[1], &r->unmanaged, r->rounds);
		d->managed[i] = made(at[2], &r->managed, r->rounds);
	}
	demo_table(d, &out);
	assert_false(out.failed);
	assert_int_equal(count(out.at, "noise, no result: "), r->noise ? DEMO_PAIRS : 0);
	if (r->noise) {
		snprintf(line, sizeof(line), "  noise, no result: %s\n", r->noise);
		assert_int_equal(count(out.at, line), DEMO_PAIRS);
		assert_string_equal(demo_noise(d, 0, buf, sizeof(buf)), r->noise);
	} else {
		assert_null(demo_noise(d, 0, buf, sizeof(buf)));
	}
	/* Only a GPU's results include a ratio of times, and only if they are not noise. */
	assert_int_equal(
		count(out.at, "times faster"), device == DEV_CUDA && !r->noise ? DEMO_PAIRS : 0);
	assert_int_equal(
		count(out.at, "order on the virtual GPU"), device == DEV_CPU ? DEMO_PAIRS : 0);
	assert_int_equal(count(out.at, "(of no GPU)"), device == DEV_CPU);
	strbuf_finish(&out);
	free(d);
}

static void noise(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check_row(&rows[i], DEV_CPU);
		check_row(&rows[i], DEV_CUDA);
	}
}

static void plurals(void **state)
{
	struct demo *d = calloc(1, sizeof(*d));
	struct stage_round at[ROUNDS];
	double ns[] = {2500, 3500, 4500};
	struct strbuf out = {0};

	(void)state;
	assert_non_null(d);
	for (unsigned n = 1; n <= 3; n += 2) {
		d->rounds = n;
		for (unsigned i = 0; i < DEMO_PAIRS; i++) {
			d->alone_low[i] = d->alone_high[i] = d->unmanaged[i] = d->managed[i] =
				made(at, &rows[0].managed, n);
			d->managed[i].preemptions = d->managed[i].handovers = n;
			d->managed[i].handover_ns = d->managed[i].put_off = ns;
		}
		demo_table(d, &out);
	}
	assert_int_equal(count(out.at, "; 1 round;"), 1);
	assert_int_equal(count(out.at, "; 3 rounds;"), 1);
	assert_int_equal(count(out.at, "  1 preemption, 2.5 us\n"), DEMO_PAIRS);
	assert_int_equal(count(out.at, "  3 preemptions, 3.5 us each in the median\n"), DEMO_PAIRS);
	strbuf_finish(&out);
	free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise),
		cmocka_unit_test(plurals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
