/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the engine with launches in the guard form. Such a launch has the same number of blocks on
 * all SMs, out of a few possible numbers. To change it, all its blocks must leave. */
#include "unit.h"

#include "sched/engine/planner.h"
#include "sched/engine/sched.h"

#include <string.h>

#define MS    1000000ull
#define SMS   4
#define NONE  255   /* no bound */
#define COUNT 0x5cu /* 8 blocks fit on an SM; 2, 3, 4 and 6 are possible, too */

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
	enum sched_action_type last; /* last action for the launch */
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

/* From its next turn on, the policy gives the launch these numbers of blocks on the four SMs. */
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

/* If the policy gives a number that is not possible, the launch gets the next smaller one. If all
 * possible numbers are larger, it gets the smallest. */
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

/* If the policy gives different numbers, the smallest of them that is not 0 applies to all SMs. */
static void one_count(void **state)
{
	struct fixture f;

	begin(&f, COUNT);
	give(&f, 6, 0, 3, NONE);
	expect(&f, 3, 0, 3, 3);
	assert_int_equal(f.last, SCHED_SHRINK);
	/* If the launch moves to other SMs with the same number of blocks, its blocks need not
	 * leave. */
	give(&f, 0, 3, 3, 3);
	expect(&f, 0, 3, 3, 3);
	sched_destroy(f.s);
}

/* At each change of the number, the blocks of the launch must leave. Until they have, the launch
 * keeps the number that it was told last. */
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
	/* A change of SMs takes effect at once. */
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

/* The drain report is missing. But more blocks have ended than were on the device when the number
 * changed, so all of these have left. */
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

/* The tenant's next launch begins with the numbers that its last launch had. */
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
