/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the engine with launches in the guard form: one count on all SMs, from the available ones,
 * and how a change of the count works. */
#include "unit.h"

#include "sched/engine/planner.h"
#include "sched/engine/sched.h"

#include <string.h>

#define MS    1000000ull
#define SMS   4
#define NONE  255   /* no bound */
#define COUNT 0x5cu /* of 8 blocks, counts of 2, 3, 4 and 6 are available, too */

/* The policy's quota for each SM. */
static uint8_t plan[SMS];

static void decide(void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	(void)state;
	for (uint32_t i = 0; i < in->n_kernels; i++)
		memcpy(heddle_policy_row(in, out, i), plan, SMS);
}

static const struct heddle_policy table = {
	.size = sizeof(table), .abi = HEDDLE_POLICY_ABI, .name = "rows", .decide = decide};

struct fixture {
	struct sched *s;
	struct sched_policy policy;
	struct sched_tenant *t;
	struct sched_launch *l;
	uint64_t now;
	enum sched_action_type last; /* the last action for the launch */
	unsigned told;
};

static void tell(struct fixture *f)
{
	struct sched_action a;

	f->now += MS;
	assert_int_equal(sched_decide(f->s, f->now), 0);
	while (sched_next(f->s, &a)) {
		if (!a.launch)
			continue;
		f->last = a.type;
		f->told++;
	}
}

/* The policy changes its plan in its next turn. */
static void give(struct fixture *f, uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	const uint8_t row[SMS] = {a, b, c, d};
	struct sched_options o = {.simultaneous = true, .spatial = true};

	memcpy(plan, row, SMS);
	sched_reconfigure(f->s, &o, &f->policy);
	tell(f);
}

static void expect(const struct fixture *f, uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	const uint8_t row[SMS] = {a, b, c, d};
	uint8_t q[CTL_MAX_SMS];

	sched_quotas(f->s, f->l, q);
	assert_memory_equal(q, row, SMS);
}

/* Submits a launch of 10,000 blocks that begins with the whole device. */
static void begin(struct fixture *f, uint32_t counts)
{
	struct sched_options o = {.n_sms = SMS, .simultaneous = true, .spatial = true};
	struct sched_launch_info i = {.id = 1,
		.kernel = 77,
		.total = 10000,
		.threads = 256,
		.workers_per_sm = 8,
		.unranked = true,
		.counts = counts};

	memset(plan, NONE, SMS);
	*f = (struct fixture){.now = 1000 * MS};
	f->policy = (struct sched_policy){.name = "rows", .table = &table};
	assert_int_equal(sched_create(&o, &f->policy, &f->s), 0);
	assert_int_equal(sched_join(f->s, f->now, 1, 0, 1, NULL, &f->t), 0);
	tell(f);
	assert_int_equal(sched_submit(f->s, f->now, f->t, &i, &f->l), 0);
	sched_arrive(f->s, f->now, f->l, SCHED_BEGAN_FREE);
	tell(f);
	expect(f, NONE, NONE, NONE, NONE);
	assert_int_equal(f->told, 0);
}

/* A count between two available ones becomes the smaller one; a count below all becomes the
 * smallest. */
static void counts(void **state)
{
	static const uint8_t asked[] = {7, 6, 5, 4, 3, 1, 8, 12},
			     had[] = {6, 6, 4, 4, 3, 2, NONE, NONE};
	struct fixture f;

	begin(&f, COUNT);
	for (size_t i = 0; i < sizeof(asked); i++) {
		give(&f, asked[i], asked[i], asked[i], asked[i]);
		expect(&f, had[i], had[i], had[i], had[i]);
		sched_drained(f.s, f.now, f.l);
	}
	sched_destroy(f.s);
	/* No count is available. */
	begin(&f, 0);
	give(&f, 2, 2, 2, 2);
	expect(&f, NONE, NONE, NONE, NONE);
	give(&f, 2, 0, 2, 0);
	expect(&f, NONE, 0, NONE, 0);
	sched_destroy(f.s);
}

/* The smallest nonzero quota applies to all SMs. */
static void one_count(void **state)
{
	struct fixture f;

	begin(&f, COUNT);
	give(&f, 6, 0, 3, NONE);
	expect(&f, 3, 0, 3, 3);
	assert_int_equal(f.last, SCHED_SHRINK);
	/* Moving to other SMs with the same count does not require leaving. */
	give(&f, 0, 3, 3, 3);
	expect(&f, 0, 3, 3, 3);
	sched_destroy(f.s);
}

/* The launch leaves for each change of count, and keeps the last count it was told until then. */
static void resized(void **state)
{
	struct sched_info info;
	struct fixture f;

	begin(&f, COUNT);
	give(&f, 4, 4, 4, 4);
	assert_int_equal(f.last, SCHED_SHRINK);
	assert_int_equal(sched_state(f.l), LAUNCH_SHRINKING);
	give(&f, 2, 2, 2, 2);
	expect(&f, 4, 4, 4, 4);
	assert_int_equal(f.told, 1);
	/* New SMs take effect at once. */
	give(&f, 2, 2, 0, 0);
	expect(&f, 4, 4, 0, 0);
	assert_int_equal(f.told, 2);
	f.now += 5 * MS;
	sched_drained(f.s, f.now, f.l);
	assert_int_equal(sched_state(f.l), LAUNCH_RUNNING);
	sched_launch_state(f.s, f.now, f.l, &info);
	assert_true(info.cost_ns > MS); /* a change costs the time that it took */
	tell(&f);
	expect(&f, 2, 2, 0, 0);
	sched_drained(f.s, f.now, f.l);
	give(&f, 0, 0, 0, 0);
	assert_int_equal(f.last, SCHED_PREEMPT);
	give(&f, 6, 6, 6, 6);
	expect(&f, 0, 0, 0, 0);
	sched_drained(f.s, f.now, f.l);
	tell(&f);
	assert_int_equal(f.last, SCHED_GRANT);
	expect(&f, 6, 6, 6, 6);
	sched_destroy(f.s);
}

/* The drain was not reported, but more blocks have ended than were on the device. */
static void goes_on(void **state)
{
	struct fixture f;

	begin(&f, COUNT);
	sched_progress(f.s, f.l, 100);
	give(&f, 4, 4, 4, 4);
	sched_progress(f.s, f.l, 100 + 8 * SMS);
	give(&f, 2, 2, 2, 2);
	expect(&f, 4, 4, 4, 4);
	sched_progress(f.s, f.l, 101 + 8 * SMS);
	assert_true(sched_deadline(f.s) <= f.now + MS); /* the engine requests another decision */
	tell(&f);
	expect(&f, 2, 2, 2, 2);
	sched_destroy(f.s);
}

/* New launches of the tenant begin with the launch's current quotas. */
static void begins(void **state)
{
	struct sched_launch_info i = {.id = 2,
		.kernel = 77,
		.total = 100,
		.threads = 256,
		.workers_per_sm = 8,
		.unranked = true,
		.counts = COUNT};
	struct fixture f;

	begin(&f, COUNT);
	give(&f, 3, 3, 3, 3);
	sched_end(f.s, f.now, f.l, true, 0);
	assert_int_equal(sched_submit(f.s, f.now, f.t, &i, &f.l), 0);
	tell(&f);
	f.told = 0;
	sched_arrive(f.s, f.now, f.l, SCHED_BEGAN_TOLD);
	tell(&f);
	expect(&f, 3, 3, 3, 3);
	assert_int_equal(f.told, 0);
	sched_destroy(f.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
		cmocka_unit_test(one_count),
		cmocka_unit_test(resized),
		cmocka_unit_test(goes_on),
		cmocka_unit_test(begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
