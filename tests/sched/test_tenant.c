/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the states of a tenant and of its unmanaged work: the tables of transitions, that illegal
 * ones are refused, and that the engine takes every legal one. */
#include "unit.h"

#include "sched/engine/engine.h"
#include "strict.h"

#include <stdio.h>
#include <string.h>

#define MS 1000000ull

/* ---- the tables ---- */

static uint32_t reachable(enum tenant_state from, uint32_t seen)
{
	seen |= 1u << from;
	for (unsigned to = 0; to < TENANT_STATES; to++) {
		if (tenant_may(from, to) && !(seen >> to & 1))
			seen = reachable(to, seen);
	}
	return seen;
}

static void every_state_is_reached(void **state)
{
	(void)state;
	assert_int_equal(reachable(TENANT_NONE, 0), (1u << TENANT_STATES) - 1);
	for (unsigned s = 1; s < TENANT_STATES; s++) {
		assert_true(tenant_may(s, TENANT_NONE));
		/* A tenant is new only once. Before its work can be expected, the tenant must be
		 * idle. */
		assert_false(tenant_may(s, TENANT_NEW));
		if (s != TENANT_IDLE && s != TENANT_EXPECTED)
			assert_false(tenant_may(s, TENANT_EXPECTED));
	}
	for (unsigned s = 0; s < OPAQUE_STATES; s++)
		assert_int_equal(tenant_opaque_may(s, OPAQUE_NONE), s != OPAQUE_NONE);
}

static void illegal_ones_are_refused(void **state)
{
	(void)state;
	strict_allow(true);
	for (unsigned from = 0; from < TENANT_STATES; from++) {
		for (unsigned to = 0; to < TENANT_STATES; to++) {
			uint32_t counts[TENANT_STATES] = {0}, expected[TENANT_STATES] = {0};
			bool legal = tenant_may(from, to);
			enum tenant_state s = from;

			counts[from] = from != TENANT_NONE;
			expected[legal ? to : from] = (legal ? to : from) != TENANT_NONE;
			assert_int_equal(tenant_to(&s, counts, to), legal);
			assert_int_equal(s, legal ? to : from);
			assert_memory_equal(counts, expected, sizeof(counts));
		}
	}
	for (unsigned from = 0; from < OPAQUE_STATES; from++) {
		for (unsigned to = 0; to < OPAQUE_STATES; to++) {
			bool legal = tenant_opaque_may(from, to);
			enum tenant_opaque s = from;

			assert_int_equal(tenant_opaque_to(&s, to), legal);
			assert_int_equal(s, legal ? to : from);
		}
	}
	strict_allow(false);
}

/* ---- the engine ---- */

struct fixture {
	struct sched *s;
	struct sched_tenant *low, *high;
	uint64_t now, next_id;
};

static void tell(struct fixture *f)
{
	struct sched_action a;

	assert_int_equal(sched_decide(f->s, f->now), 0);
	while (sched_next(f->s, &a))
		continue;
}

static void pass(struct fixture *f, uint64_t ns)
{
	f->now += ns;
	tell(f);
}

static struct sched_tenant *join(struct fixture *f, int priority)
{
	struct sched_tenant *t;

	assert_int_equal(
		sched_join(f->s, f->now, (uint32_t)f->next_id++, priority, 1, NULL, &t), 0);
	tell(f);
	assert_int_equal(t->state, TENANT_NEW);
	return t;
}

static struct sched_launch *launch(struct fixture *f, struct sched_tenant *t)
{
	struct sched_launch_info i = {.id = f->next_id++,
		.kernel = 1,
		.total = 1000,
		.threads = 256,
		.workers_per_sm = 2};
	struct sched_launch *l;

	assert_int_equal(sched_submit(f->s, f->now, t, &i, &l), 0);
	sched_arrive(f->s, f->now, l, SCHED_BEGAN_TOLD);
	tell(f);
	assert_int_equal(t->state, TENANT_BUSY);
	return l;
}

static void end(struct fixture *f, struct sched_launch *l)
{
	sched_end(f->s, f->now, l, true, 0);
	tell(f);
}

/* Returns a tenant whose work the engine expects, because its pauses were 10 us and lower-priority
 * work waits. */
static struct sched_tenant *expected(struct fixture *f)
{
	struct sched_tenant *t = join(f, 2);

	for (unsigned i = 0; i < 4; i++) {
		end(f, launch(f, t));
		if (i < 3)
			pass(f, 10000);
	}
	assert_int_equal(t->state, TENANT_EXPECTED);
	return t;
}

static bool taken[TENANT_STATES][TENANT_STATES], opaque_taken[OPAQUE_STATES][OPAQUE_STATES];

static void hear(const char *from, const char *to, bool legal)
{
	assert_true(legal);
	for (unsigned a = 0; a < TENANT_STATES; a++) {
		for (unsigned b = 0; b < TENANT_STATES; b++)
			taken[a][b] |= strcmp(from, tenant_state_name(a)) == 0 &&
				       strcmp(to, tenant_state_name(b)) == 0;
	}
	for (unsigned a = 0; a < OPAQUE_STATES; a++) {
		for (unsigned b = 0; b < OPAQUE_STATES; b++)
			opaque_taken[a][b] |= strcmp(from, tenant_opaque_name(a)) == 0 &&
					      strcmp(to, tenant_opaque_name(b)) == 0;
	}
}

static void through_life(struct fixture *f)
{
	struct sched_launch *l = launch(f, f->low);
	struct sched_tenant *t = expected(f);

	end(f, launch(f, t)); /* returns in time */
	assert_int_equal(t->state, TENANT_EXPECTED);
	sched_set_weight(f->s, t, 2);
	pass(f, 100); /* after another decision, the tenant is still expected */
	assert_int_equal(t->state, TENANT_EXPECTED);
	pass(f, 20 * MS);
	assert_int_equal(t->state, TENANT_IDLE);
	end(f, launch(f, t)); /* returns too late */
	pass(f, 20 * MS);
	sched_leave(f->s, f->now, t); /* leaves while idle */
	sched_leave(f->s, f->now, expected(f));
	sched_leave(f->s, f->now, join(f, 1)); /* leaves while new */
	t = join(f, 1);
	launch(f, t);
	sched_leave(f->s, f->now, t); /* leaves while busy */
	end(f, l);
}

static void through_opaque_work(struct fixture *f)
{
	struct sched_launch *l;

	sched_opaque(f->s, f->now, f->low, true, true);
	tell(f);
	assert_int_equal(f->low->opaque_state, OPAQUE_RUNS);
	sched_opaque(f->s, f->now, f->low, false, true);
	tell(f);
	for (unsigned i = 0; i < 2; i++) {
		l = launch(f, f->high);
		assert_true(f->low->held);
		sched_opaque(f->s, f->now, f->low, true, true);
		tell(f);
		assert_int_equal(f->low->opaque_state, OPAQUE_WAITS);
		if (i)
			sched_opaque(f->s, f->now, f->low, false, true);
		end(f, l);
		pass(f, 20 * MS);
		assert_int_equal(f->low->opaque_state, i ? OPAQUE_NONE : OPAQUE_RUNS);
		sched_opaque(f->s, f->now, f->low, false, true);
		tell(f);
	}
}

/* The engine takes each transition of the tables. A row that no event causes would be a mistake. */
static void all_are_taken(void **state)
{
	struct sched_options o = {.n_sms = 8, .simultaneous = true, .spatial = true};
	struct fixture f = {.now = 1000 * MS, .next_id = 1};
	tenant_hook *strict = tenant_on_transition;
	unsigned untaken = 0;

	(void)state;
	tenant_on_transition = hear;
	assert_int_equal(sched_create(&o, &sched_policy_hpf, &f.s), 0);
	f.low = join(&f, 0);
	f.high = join(&f, 1);
	through_life(&f);
	through_opaque_work(&f);
	sched_destroy(f.s);
	tenant_on_transition = strict;
	for (unsigned from = 0; from < TENANT_STATES; from++) {
		for (unsigned to = 0; to < TENANT_STATES; to++) {
			if (!tenant_may(from, to) || taken[from][to])
				continue;
			fprintf(stderr, "never taken: %s -> %s\n", tenant_state_name(from),
				tenant_state_name(to));
			untaken++;
		}
	}
	for (unsigned from = 0; from < OPAQUE_STATES; from++) {
		for (unsigned to = 0; to < OPAQUE_STATES; to++)
			untaken += tenant_opaque_may(from, to) && !opaque_taken[from][to];
	}
	assert_int_equal(untaken, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_is_reached),
		cmocka_unit_test(illegal_ones_are_refused),
		cmocka_unit_test(all_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
