/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the durations of kernels for each number of blocks per SM, as computed from heddled's log:
 * which launches count, and which clock gives the times. */
#include "unit.h"

#include "cli/profile/measured.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define AHEAD 5000000ull /* the device's clock is this much ahead */

struct log {
	struct strbuf text;
	uint64_t now;
	uint64_t seen; /* when the device saw the last quota word */
};

static void HD_PRINTF(2, 3) line(struct log *l, const char *fmt, ...)
{
	char buf[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	strbuf_printf(&l->text, "{\"t_ns\": %llu, %s}\n", (unsigned long long)l->now, buf);
}

static void join(struct log *l, unsigned tenant)
{
	line(l,
		"\"event\": \"join\", \"tenant\": %u, \"name\": \"a \\\"event\\\": "
		"\\\"leave\\\"\", "
		"\"device_sms\": 4",
		tenant);
}

static void of(struct log *l, const char *event, unsigned tenant, unsigned launch, const char *more)
{
	line(l,
		"\"event\": \"%s\", \"tenant\": %u, \"launch\": %u, \"kernel\": \"k\", "
		"\"total\": 80%s",
		event, tenant, launch, more);
}

static void submit(struct log *l, unsigned tenant, unsigned launch, const char *code, unsigned fit)
{
	char more[256];

	snprintf(more, sizeof(more),
		", \"blocks_per_sm\": %u, \"code\": \"%s\", \"threads\": 128, "
		"\"shared_bytes\": 64, \"guard\": %s",
		fit, code,
		fit == 7   ? "true, \"counts\": [2, 5]"
		: fit == 9 ? "true, \"counts\": []"
			   : "false");
	of(l, "submit", tenant, launch, more);
}

static void word(struct log *l, const char *event, unsigned launch, unsigned workers)
{
	char more[256];

	snprintf(more, sizeof(more), ", \"workers\": %u, \"store_ns\": %llu", workers,
		(unsigned long long)l->now);
	of(l, event, 1, launch, more);
}

/* arrived: when the launch's first worker arrived, by heddled's clock. */
static void finish(struct log *l, unsigned launch, uint64_t arrived)
{
	char more[256];

	snprintf(more, sizeof(more),
		", \"device_arrived_ns\": %llu, \"device_seen_ns\": %llu, \"device_done_ns\": %llu",
		(unsigned long long)(arrived + AHEAD),
		(unsigned long long)(l->seen ? l->seen + AHEAD : 0),
		(unsigned long long)(l->now + AHEAD));
	of(l, "finish", 1, launch, more);
}

/* A launch that starts without SMs, gets its grant after 1 us, sees it after another 2 us, and then
 * runs for ns. */
static void whole_launch(
	struct log *l, unsigned launch, const char *code, unsigned workers, uint64_t ns)
{
	uint64_t from = l->now;

	submit(l, 1, launch, code, 8);
	of(l, "arrive", 1, launch, ", \"workers\": 0");
	of(l, "drained", 1, launch, ", \"workers\": 0");
	l->now += 1000;
	word(l, "grant", launch, workers);
	of(l, "ask", 1, launch, "");
	l->seen = l->now += 2000;
	l->now += ns;
	finish(l, launch, from);
}

static struct log begin(void)
{
	struct log l = {.now = 1000000000};

	strbuf_puts(&l.text, "{\"schema\": 2, \"log\": \"heddled-events\"}\n");
	join(&l, 1);
	return l;
}

static struct measured read_all(struct log *l)
{
	struct measured m = {0};

	measured_add(&m, l->text.at);
	assert_false(m.failed);
	strbuf_finish(&l->text);
	return m;
}

/* A launch's duration starts when the device saw the grant. */
static void from_the_grant(void **state)
{
	double ns[SCHED_PER_SM + 1];
	struct log l = begin();
	struct measured m;
	unsigned none;

	whole_launch(&l, 1, "a1", 4 * 3, 7000);
	whole_launch(&l, 2, "a1", 4 * 3, 9000);
	whole_launch(&l, 3, "a1", 4 * 3, 8000);
	whole_launch(&l, 4, "a1", 4 * 8, 2000);
	m = read_all(&l);
	assert_int_equal(m.kernels.len, 1);
	assert_int_equal(m.kernels.at[0].code, 0xa1);
	assert_int_equal(m.kernels.at[0].most, 8);
	assert_int_equal(m.kernels.at[0].threads, 128);
	assert_int_equal(m.kernels.at[0].disturbed, 0);
	measured_curve(&m.kernels.at[0], ns);
	for (unsigned n = 1; n <= 8; n++)
		assert_true(ns[n] == (n == 3 ? 8000 : n == 8 ? 2000 : 0));
	assert_int_equal(measured_missing(&m, 3, &none), 6 * 3 + 2);
	assert_int_equal(none, 6);
	measured_finish(&m);
}

/* If a launch's blocks start without waiting for a grant, both its start and its end are by the
 * device's clock. */
static void from_its_begin(void **state)
{
	struct log l = begin();
	struct measured m;

	submit(&l, 1, 1, "a1", 8);
	l.now += 100;
	of(&l, "arrive", 1, 1, ", \"workers\": 8");
	l.now += 3000;
	finish(&l, 1, l.now - 3050);
	m = read_all(&l);
	assert_int_equal(m.kernels.at[0].ns[2].len, 1);
	assert_true(m.kernels.at[0].ns[2].at[0] == 3050);
	measured_finish(&m);
}

/* Launches with any irregularity count as launches but give no duration. */
static void disturbed(void **state)
{
	struct log l = begin();
	struct measured m;

	/* The number of blocks per SM changes during the launch. */
	submit(&l, 1, 1, "a1", 8);
	of(&l, "arrive", 1, 1, ", \"workers\": 32");
	word(&l, "shrink", 1, 8);
	l.now += 1000;
	finish(&l, 1, l.now - 1000);
	/* Some workers had not left when the launch was granted SMs. */
	submit(&l, 1, 2, "a1", 8);
	of(&l, "arrive", 1, 2, ", \"workers\": 0");
	word(&l, "grant", 2, 8);
	l.now += 1000;
	finish(&l, 2, l.now - 1000);
	/* The number of blocks allowed per SM differs between SMs. */
	whole_launch(&l, 3, "a1", 9, 1000);
	/* Two launches run beside each other. */
	submit(&l, 1, 4, "a1", 8);
	of(&l, "arrive", 1, 4, ", \"workers\": 8");
	whole_launch(&l, 5, "a1", 8, 500);
	finish(&l, 4, l.now - 1500);
	/* A launch runs beside unmanaged work. */
	line(&l, "\"event\": \"opaque\", \"tenant\": 1");
	whole_launch(&l, 6, "a1", 8, 500);
	line(&l, "\"event\": \"opaque-end\", \"tenant\": 1");
	/* A dropped launch is not counted. */
	submit(&l, 1, 7, "a1", 8);
	of(&l, "arrive", 1, 7, ", \"workers\": 8");
	of(&l, "drop", 1, 7, "");
	whole_launch(&l, 8, "a1", 8, 500);
	m = read_all(&l);
	assert_int_equal(m.kernels.len, 1);
	assert_int_equal(m.kernels.at[0].launches, 7);
	assert_int_equal(m.kernels.at[0].disturbed, 6);
	assert_int_equal(m.kernels.at[0].ns[2].len, 1);
	measured_finish(&m);
}

/* The guard form of b2, whose 7 blocks fit on an SM, can also run 2 or 5 of them, but not every
 * number. Of b3, 9 blocks fit, and its form cannot be limited to fewer. */
static void guard_form(void **state)
{
	struct log l = begin();
	struct measured m;
	unsigned none;

	submit(&l, 1, 1, "b2", 7);
	of(&l, "arrive", 1, 1, ", \"workers\": 8");
	l.now += 1000;
	finish(&l, 1, l.now - 1000);
	submit(&l, 1, 2, "b3", 9);
	of(&l, "arrive", 1, 2, ", \"workers\": 36");
	l.now += 1000;
	finish(&l, 2, l.now - 1000);
	m = read_all(&l);
	assert_true(m.kernels.at[0].guard);
	assert_int_equal(m.kernels.at[0].ns[2].len, 1);
	assert_false(measured_can_have(&m.kernels.at[0], 1));
	assert_true(measured_can_have(&m.kernels.at[0], 7));
	assert_int_equal(m.kernels.at[1].ns[9].len, 1);
	assert_int_equal(measured_missing(&m, 3, &none), 2 + 3 + 3 + 2);
	assert_int_equal(none, 2);
	measured_finish(&m);
}

static void one_more(struct measured *m, unsigned fit, unsigned n)
{
	struct log l = begin();

	for (unsigned i = 0; i < n; i++) {
		submit(&l, 1, i + 1, "a1", fit);
		of(&l, "arrive", 1, i + 1, ", \"workers\": 4");
		l.now += 1000;
		finish(&l, i + 1, l.now - 1000);
	}
	measured_add(m, l.text.at);
	strbuf_finish(&l.text);
}

/* If a kernel had two forms, the one that had most launches in the last run counts. */
static void two_forms(void **state)
{
	struct measured m = {0};
	unsigned none;

	one_more(&m, 6, 5);
	assert_true(measured_is_current(&m, &m.kernels.at[0]));
	one_more(&m, 5, 1);
	assert_int_equal(m.kernels.len, 2);
	assert_false(measured_is_current(&m, &m.kernels.at[0]));
	assert_false(measured_is_main(&m, &m.kernels.at[0]));
	assert_true(measured_is_main(&m, &m.kernels.at[1]));
	assert_int_equal(measured_missing(&m, 3, &none), 3 * 5 - 1);
	one_more(&m, 6, 1);
	assert_true(measured_is_current(&m, &m.kernels.at[0]));
	assert_int_equal(measured_missing(&m, 3, &none), 3 * 5);
	measured_finish(&m);
}

static void counts_tenants(void **state)
{
	struct log l = begin();
	unsigned joined, left;
	struct measured m;

	join(&l, 2);
	line(&l, "\"event\": \"leave\", \"tenant\": 1, \"reasons\": [{\"reason\": \"no_room\", "
		 "\"outcome\": \"plain\", \"launches\": 3}, {\"reason\": \"nosuch\", "
		 "\"launches\": 9}]");
	strbuf_puts(&l.text, "no event\n[1]\n{\"cut");
	measured_count(l.text.at, &joined, &left);
	assert_int_equal(joined, 2);
	assert_int_equal(left, 1);
	m = read_all(&l);
	assert_int_equal(m.joined, 2);
	assert_int_equal(m.launched[WIRE_WHY_NO_ROOM], 3);
	measured_finish(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_the_grant),
		cmocka_unit_test(from_its_begin),
		cmocka_unit_test(disturbed),
		cmocka_unit_test(guard_form),
		cmocka_unit_test(two_forms),
		cmocka_unit_test(counts_tenants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
