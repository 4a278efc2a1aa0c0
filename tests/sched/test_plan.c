/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the parts of views and plans that serve policies with memory: `own`, the quotas with which
 * new launches begin, wake-ups sooner than HEDDLE_POLICY_MIN_WAKE, and the wait for expected
 * work. */
#include "unit.h"

#include "sched/engine/sched.h"
#include "sched/policy/policy.h"

#include <stdio.h>
#include <string.h>

#define MS    1000000ull
#define N_SMS 4

static struct {
	/* numbers of earlier decisions, as counted in the test's memory, in a launch's `own` and in
	 * a tenant's */
	uint32_t asked, launch_seen, tenant_seen;
	uint8_t begin[N_SMS];
	bool begins, expects; /* expects: the policy has seen work that is expected */
	uint64_t wake_in_ns;  /* 0: none */
} with;

static char said[160];

static void decide(void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	(void)state;
	with.asked++;
	memset(out->quota, (int)HEDDLE_POLICY_UNBOUNDED, (size_t)in->n_kernels * N_SMS);
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(in, i);

		with.expects |= k->kind == HEDDLE_POLICY_EXPECTED;
		assert_int_equal(k->own == NULL, k->kind != HEDDLE_POLICY_MANAGED);
		if (!k->own)
			continue;
		with.launch_seen = (*(uint32_t *)k->own)++;
		assert_int_equal(((uint8_t *)k->own)[HEDDLE_POLICY_OWN - 1], 0);
	}
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		with.tenant_seen = (*(uint32_t *)heddle_policy_tenant_at(in, i)->own)++;
		assert_null(out->begin[i]);
		out->begin[i] = with.begins ? with.begin : NULL;
	}
	if (with.wake_in_ns)
		out->wake_ns = in->now_ns + with.wake_in_ns;
}

static void on_say(void *user, const char *what)
{
	(void)user;
	snprintf(said, sizeof(said), "%s", what);
}

static struct heddle_policy table = {
	.size = sizeof(table), .abi = HEDDLE_POLICY_ABI, .name = "with", .decide = decide};

struct fixture {
	struct sched *s;
	struct sched_policy_watch watch;
	struct sched_policy policy;
	struct sched_tenant *t;
	uint64_t now, next_id;
};

static void tell(struct fixture *f)
{
	struct sched_action a;

	assert_int_equal(sched_decide(f->s, f->now), 0);
	while (sched_next(f->s, &a))
		continue;
}

static void begin(struct fixture *f)
{
	struct sched_options o = {.n_sms = N_SMS, .simultaneous = true, .spatial = true};

	memset(&with, 0, sizeof(with));
	said[0] = 0;
	*f = (struct fixture){.now = 1000 * MS, .next_id = 1, .watch.say = on_say};
	f->policy = (struct sched_policy){.name = "with", .table = &table, .watch = &f->watch};
	assert_int_equal(sched_create(&o, &f->policy, &f->s), 0);
	assert_int_equal(sched_join(f->s, f->now, 1, 0, 1, NULL, &f->t), 0);
	tell(f);
}

static struct sched_launch *launch(struct fixture *f, struct sched_tenant *t)
{
	struct sched_launch_info i = {.id = f->next_id++,
		.kernel = 77,
		.total = 1000,
		.threads = 256,
		.workers_per_sm = 8};
	struct sched_launch *l = NULL;

	assert_int_equal(sched_submit(f->s, f->now, t, &i, &l), 0);
	sched_arrive(f->s, f->now, l, SCHED_BEGAN_TOLD);
	tell(f);
	return l;
}

/* Makes the engine call the policy again, after an event that changes nothing. */
static void ask(struct fixture *f)
{
	f->now += 1000;
	sched_set_weight(f->s, f->t, 1);
	tell(f);
}

static void memory_is_kept(void **state)
{
	struct sched_options o = {.simultaneous = true, .spatial = true};
	struct sched_launch *l;
	struct fixture f;

	(void)state;
	begin(&f);
	l = launch(&f, f.t);
	assert_int_equal(with.launch_seen, 0);
	assert_int_equal(with.tenant_seen, 1);
	ask(&f);
	assert_int_equal(with.launch_seen, 1);
	assert_int_equal(with.tenant_seen, 2);
	/* Each launch has its own memory. */
	sched_end(f.s, f.now, l, true, MS);
	l = launch(&f, f.t);
	assert_int_equal(with.launch_seen, 0);
	assert_true(with.tenant_seen > 2);
	/* Another policy ran in between, so the memory is cleared. */
	sched_reconfigure(f.s, &o, &sched_policy_hpf);
	tell(&f);
	sched_reconfigure(f.s, &o, &f.policy);
	tell(&f);
	assert_int_equal(with.launch_seen, 0);
	assert_int_equal(with.tenant_seen, 0);
	sched_destroy(f.s);
}

static void expect_begin(const struct fixture *f, const uint8_t want[N_SMS])
{
	uint8_t q[CTL_MAX_SMS];

	sched_begin_quotas(f->s, f->t, q);
	assert_memory_equal(q, want, N_SMS);
}

static void begins_as_chosen(void **state)
{
	static const uint8_t chosen[N_SMS] = {0, 3, 255, 0}, all[N_SMS] = {255, 255, 255, 255};
	static const uint8_t wrong[N_SMS] = {0, 32, 1, 0}, right[N_SMS] = {0, 255, 1, 0};
	struct fixture f;

	(void)state;
	begin(&f);
	expect_begin(&f, all);
	with.begins = true;
	memcpy(with.begin, chosen, N_SMS);
	ask(&f);
	expect_begin(&f, chosen);
	/* this launch gets the whole device by the policy's quotas; `begin` is for later
	 * launches */
	launch(&f, f.t);
	expect_begin(&f, chosen);
	sched_pin(f.s, f.t, true);
	tell(&f);
	expect_begin(&f, all);
	sched_pin(f.s, f.t, false);
	assert_int_equal(said[0], 0);
	memcpy(with.begin, wrong, N_SMS);
	ask(&f);
	expect_begin(&f, right);
	assert_non_null(strstr(said, "a quota of 32 blocks"));
	sched_destroy(f.s);
}

/* A few wake-ups in a row may be sooner than HEDDLE_POLICY_MIN_WAKE. If there are more, the engine
 * delays them. */
static void wakes_soon_at_times(void **state)
{
	struct fixture f;
	uint32_t before;

	(void)state;
	begin(&f);
	launch(&f, f.t);
	with.wake_in_ns = 10000;
	ask(&f);
	assert_int_equal(sched_deadline(f.s), f.now + 10000);
	assert_int_equal(said[0], 0);
	before = with.asked;
	for (uint64_t end = f.now + 10 * MS; f.now < end; tell(&f))
		f.now = sched_deadline(f.s);
	assert_in_range(with.asked - before, 100, 111);
	assert_non_null(strstr(said, "less than 100 us"));
	sched_destroy(f.s);
}

/* Returns whether the engine expects work of a tenant that pauses for 10 us at a time, while
 * another tenant, with this priority, has work. */
static bool is_expected(uint32_t flags, int priority)
{
	struct sched_tenant *other;
	struct fixture f;

	table.flags = flags;
	begin(&f);
	assert_int_equal(sched_join(f.s, f.now, 2, priority, 1, NULL, &other), 0);
	launch(&f, other);
	for (unsigned i = 0; i < 4; i++) {
		struct sched_launch *l = launch(&f, f.t);

		sched_end(f.s, f.now, l, true, MS);
		tell(&f);
		f.now += 10000;
	}
	sched_destroy(f.s);
	table.flags = 0;
	return with.expects;
}

static void expects_by_priority(void **state)
{
	(void)state;
	assert_true(is_expected(0, 0));
	assert_true(is_expected(0, 1));
	assert_false(is_expected(HEDDLE_POLICY_BY_PRIORITY, 0));
	assert_false(is_expected(HEDDLE_POLICY_BY_PRIORITY, 1));
	assert_true(is_expected(HEDDLE_POLICY_BY_PRIORITY, -1));
}

/* `heddle ps`, `heddle run -w` and heddled depend on these flags: whether a policy uses weights,
 * accepts any split of an SM's memory, and steers programs that run alone. */
static void policies_state_facts(void **state)
{
	static const struct {
		const char *name;
		bool by_shares, any_split, steers_one;
	} rows[] = {{"none", false, true, false}, {"hpf", false, true, false},
		{"ffs", true, true, false}, {"greedy", false, true, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct sched_policy *p = sched_policy_find(rows[i].name);

		assert_non_null(p);
		assert_int_equal(sched_policy_is(p, HEDDLE_POLICY_BY_SHARES), rows[i].by_shares);
		assert_int_equal(sched_policy_is(p, HEDDLE_POLICY_ANY_SPLIT), rows[i].any_split);
		assert_int_equal(sched_policy_is(p, HEDDLE_POLICY_STEERS_ONE), rows[i].steers_one);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policies_state_facts),
		cmocka_unit_test(memory_is_kept),
		cmocka_unit_test(begins_as_chosen),
		cmocka_unit_test(wakes_soon_at_times),
		cmocka_unit_test(expects_by_priority),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
