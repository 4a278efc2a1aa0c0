/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the timeline of made-up rounds: which round is drawn, and that a preemption is visible. */
#include "stage/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define MS  1000000ull
#define ALL 5

/* Rounds of 100 ms with the given turnarounds of the high-priority program. The low-priority
 * program launches at 0, the high-priority one 10 ms later. */
static struct stage_result made(struct stage_round at[ALL], const unsigned high_ms[ALL])
{
	for (unsigned i = 0; i < ALL; i++) {
		uint64_t t = (1000 + 100 * i) * MS;

		at[i] = (struct stage_round){
			t, t + 60 * MS, t + 10 * MS, t + (10 + high_ms[i]) * MS};
	}
	return (struct stage_result){.rounds = ALL, .at = at};
}

static char *draw(const struct stage_result *unmanaged, const struct stage_result *managed)
{
	struct timeline t = {.low = "low",
		.high = "high",
		.device = "device",
		.unmanaged = unmanaged,
		.managed = managed,
		.high_alone_ns = 5 * MS};
	struct strbuf b = {0};
	char *text;

	timeline_svg(&t, &b);
	assert_false(b.failed);
	text = strndup(b.at, b.len);
	strbuf_finish(&b);
	return text;
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* Events of a preemption from 12 to 20 ms after the start of a round, followed by tail. */
static char *events(unsigned round, const char *tail)
{
	static char text[512];
	uint64_t t = (1000 + 100 * round) * MS;

	snprintf(text, sizeof(text),
		"{\"t_ns\": %llu, \"event\": \"drained\"}\n"
		"{\"t_ns\": %llu, \"event\": \"grant\"}\n%s",
		(unsigned long long)(t + 12 * MS), (unsigned long long)(t + 20 * MS), tail);
	return text;
}

/* If no round had a preemption, the median round is drawn: its high-priority bar ends 30 ms after
 * the origin. */
static void median_of_all(void **state)
{
	struct stage_round at[ALL];
	struct stage_result r = made(at, (const unsigned[]){90, 20, 10, 15, 80});
	char *svg = draw(&r, &r);

	/* The picture is 686 wide and spans 60 ms. High priority: waiting from 10 to 25 ms, running
	 * from 25 to 30 ms. */
	assert_int_equal(count(svg, "<rect x='264.33' y='34.0' width='171.50'"), 1);
	assert_int_equal(count(svg, "<rect x='435.83' y='34.0' width='57.17'"), 1);
	assert_int_equal(count(svg, "stroke-dasharray"), 2);
	free(svg);
}

/* A round with a preemption is drawn instead of the median, and the low-priority bar shows it. */
static void one_with_a_preemption(void **state)
{
	struct stage_round at[ALL], other[ALL];
	struct stage_result u = made(at, (const unsigned[]){20, 20, 20, 20, 20});
	struct stage_result m = made(other, (const unsigned[]){90, 20, 10, 15, 80});
	char *svg;

	m.events = events(2, "");
	svg = draw(&u, &m);
	/* Low priority: running from 0 to 12 ms, waiting to 20 ms, running to 60 ms. High priority:
	 * waiting from 10 to 15 ms, running to 20 ms. */
	assert_int_equal(count(svg, "<rect x='150.00' y='178.0' width='137.20'"), 1);
	assert_int_equal(count(svg, "<rect x='287.20' y='178.0' width='91.47'"), 1);
	assert_int_equal(count(svg, "<rect x='378.67' y='178.0' width='457.33'"), 1);
	assert_int_equal(count(svg, "<rect x='264.33' y='144.0' width='57.17'"), 1);
	free(svg);
}

/* Lines that are truncated or not events are ignored. */
static void strange_events(void **state)
{
	struct stage_round at[ALL];
	struct stage_result r = made(at, (const unsigned[]){20, 20, 20, 20, 20});
	char *svg;

	r.events = events(4, "what\n{\"event\": 3}\n{}\n[\"drained\"]\n{\"t_ns\": 1, \"eve");
	svg = draw(&r, &r);
	assert_int_equal(count(svg, "y='178.0'"), 3);
	free(svg);
}

static char *draw_two(bool is_virtual, const char *noise)
{
	struct stage_round at[ALL], twice[ALL];
	struct stage_result u = made(at, (const unsigned[]){20, 20, 20, 20, 20});
	struct stage_result m = made(twice, (const unsigned[]){20, 20, 20, 20, 20});
	struct timeline t = {.low = "low",
		.high = "high",
		.device = "device",
		.unmanaged = &u,
		.managed = &m,
		.high_alone_ns = 5 * MS,
		.is_virtual = is_virtual,
		.noise = noise};
	struct strbuf b = {0};
	char *text;

	for (unsigned i = 0; i < ALL; i++)
		twice[i].low_done_ns = twice[i].low_launch_ns + 120 * MS;
	timeline_svg(&t, &b);
	assert_false(b.failed);
	text = strndup(b.at, b.len);
	strbuf_finish(&b);
	return text;
}

/* The virtual GPU's panels are not comparable, so they have separate scales. */
static void scales(void **state)
{
	char *svg = draw_two(true, "ANTT 0.71 cannot be below 1");

	(void)state;
	assert_int_equal(count(svg, "<rect x='150.00' y='68.0' width='686.00'"), 1);
	assert_int_equal(count(svg, "<rect x='150.00' y='178.0' width='686.00'"), 1);
	assert_int_equal(count(svg, " ms<"), 0);
	assert_int_equal(count(svg, ">100 %<"), 1);
	assert_int_equal(count(svg, "each panel has its own scale"), 1);
	free(svg);
	svg = draw_two(false, NULL);
	assert_int_equal(count(svg, "<rect x='150.00' y='68.0' width='343.00'"), 1);
	assert_int_equal(count(svg, "<rect x='150.00' y='178.0' width='686.00'"), 1);
	assert_true(count(svg, " ms<") > 2);
	assert_int_equal(count(svg, "%<"), 0);
	assert_int_equal(count(svg, "scale"), 0);
	assert_int_equal(count(svg, "noise"), 0);
	free(svg);
}

static void noise(void **state)
{
	char *svg = draw_two(false, "ANTT 0.71 cannot be below 1");

	(void)state;
	assert_int_equal(count(svg, ">noise, no result: ANTT 0.71 cannot be below 1<"), 1);
	free(svg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(median_of_all),
		cmocka_unit_test(one_with_a_preemption),
		cmocka_unit_test(strange_events),
		cmocka_unit_test(scales),
		cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
