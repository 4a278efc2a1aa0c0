/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the states of a launch: which transitions of the table are legal, that the engine takes
 * every one of them, and what happens after an illegal one. */
#include "unit.h"

#include "sched/engine/engine.h"
#include "strict.h"

#include <stdio.h>
#include <string.h>

#define MS    1000000ull
#define N_SMS 8

/* ---- the table ---- */

static uint32_t reachable(enum launch_state from, uint32_t seen)
{
	seen |= LAUNCH_SET_OF(from);
	for (unsigned to = 0; to < LAUNCH_STATES; to++) {
		if (launch_may(from, to) && !(seen & LAUNCH_SET_OF(to)))
			seen = reachable(to, seen);
	}
	return seen;
}

static void every_state_is_reached(void **state)
{
	uint32_t all = (1u << LAUNCH_STATES) - 1, astray = LAUNCH_ASTRAY;

	assert_int_equal(reachable(LAUNCH_NONE, 0), all & ~astray);
	assert_int_equal(reachable(LAUNCH_STRAY, 0), all);
	for (unsigned s = 0; s < LAUNCH_STATES; s++) {
		assert_true(reachable(s, 0) & LAUNCH_SET_OF(LAUNCH_NONE));
		assert_false(launch_may(s, LAUNCH_STRAY));
		for (unsigned o = 0; o < s; o++)
			assert_string_not_equal(launch_state_name(s), launch_state_name(o));
	}
}

/* Properties of the table on which other code relies. */
static void rules(void **state)
{
	for (unsigned s = 1; s < LAUNCH_STATES; s++) {
		assert_true(launch_may(s, LAUNCH_NONE));
		for (unsigned to = 1; to < LAUNCH_STATES; to++) {
			if (!launch_may(s, to))
				continue;
			/* A leaving launch gets nothing before it has left. */
			if (launch_is(s, LAUNCH_LEAVES))
				assert_int_equal(to, LAUNCH_WAITING);
			/* A launch arrives only once. A stray launch (one of which the engine lost
			 * track) stays stray. */
			if (launch_is(to, LAUNCH_SUBMITTED))
				assert_true(launch_is(s, LAUNCH_SUBMITTED));
			if (launch_is(s, LAUNCH_ASTRAY))
				assert_int_equal(to, LAUNCH_NATIVE);
		}
	}
	for (unsigned s = 1; s < LAUNCH_STATES; s++) {
		unsigned sets = launch_is(s, LAUNCH_SUBMITTED) + launch_is(s, LAUNCH_ARRIVED) +
				launch_is(s, LAUNCH_ASTRAY);

		assert_int_equal(sets, 1);
	}
}

static void illegal_ones_are_refused(void **state)
{
	for (unsigned from = 0; from < LAUNCH_STATES; from++) {
		for (unsigned to = 0; to < LAUNCH_STATES; to++) {
			enum launch_state s = from, want = launch_may(from, to) ? to : LAUNCH_STRAY;
			uint32_t counts[LAUNCH_STATES] = {0}, expected[LAUNCH_STATES] = {0};

			counts[from] = expected[from] = from != LAUNCH_NONE;
			expected[from] -= from != LAUNCH_NONE;
			expected[want] += want != LAUNCH_NONE;
			strict_allow(true);
			assert_int_equal(launch_to(&s, counts, to), launch_may(from, to));
			strict_allow(false);
			assert_int_equal(s, want);
			assert_memory_equal(counts, expected, sizeof(counts));
		}
	}
}

/* ---- the engine ---- */

struct fixture {
	struct sched *s;
	struct sched_tenant *low, *high;
	uint64_t now, next_id;
	unsigned words, natives; /* words, and "run natively" actions, for launches */
};

static void tell(struct fixture *f)
{
	struct sched_action a;

	assert_int_equal(sched_decide(f->s, f->now), 0);
	while (sched_next(f->s, &a)) {
		f->words += a.launch != NULL;
		f->natives += a.type == SCHED_NATIVE;
		if (a.type == SCHED_NATIVE)
			assert_int_equal(a.n_sms, N_SMS);
	}
}

static struct fixture begin(void)
{
	struct sched_options o = {.n_sms = N_SMS, .simultaneous = true, .spatial = true};
	struct fixture f = {.now = 1000 * MS, .next_id = 1};

	assert_int_equal(sched_create(&o, &sched_policy_hpf, &f.s), 0);
	assert_int_equal(sched_join(f.s, f.now, 1, 0, 1, NULL, &f.low), 0);
	assert_int_equal(sched_join(f.s, f.now, 2, 2, 1, NULL, &f.high), 0);
	tell(&f);
	return f;
}

static struct sched_launch *submit(struct fixture *f, struct sched_tenant *t, uint64_t blocks)
{
	struct sched_launch_info i = {.id = f->next_id++,
		.kernel = 1,
		.total = blocks,
		.threads = 256,
		.workers_per_sm = 2};
	struct sched_launch *l = NULL;

	assert_int_equal(sched_submit(f->s, f->now, t, &i, &l), 0);
	assert_int_equal(sched_state(l), LAUNCH_QUEUED);
	return l;
}

static void expect(struct fixture *f, const struct sched_launch *l, enum launch_state state)
{
	assert_string_equal(launch_state_name(sched_state(l)), launch_state_name(state));
	assert_true(sched_count(f->s, state) > 0);
}

static struct sched_launch *launch(struct fixture *f, struct sched_tenant *t, uint64_t blocks,
	enum sched_began began, enum launch_state state)
{
	struct sched_launch *l = submit(f, t, blocks);

	tell(f);
	sched_arrive(f->s, f->now, l, began);
	expect(f, l, state);
	return l;
}

/* Ends the launch in its current state. */
static void end(struct fixture *f, struct sched_launch *l)
{
	sched_end(f->s, f->now, l, true, 0);
	tell(f);
	f->now += 20 * MS; /* the engine no longer waits for its tenant */
	tell(f);
}

static void through_the_queue(struct fixture *f)
{
	struct sched_launch *first = submit(f, f->low, 8), *second = submit(f, f->low, 8), *l;

	tell(f);
	expect(f, first, LAUNCH_NEXT);
	expect(f, second, LAUNCH_QUEUED);
	sched_arrive(f->s, f->now, second, SCHED_BEGAN_TOLD); /* in another stream */
	expect(f, second, LAUNCH_RUNNING);
	tell(f);
	expect(f, first, LAUNCH_QUEUED);
	end(f, first);
	end(f, second);
	end(f, submit(f, f->low, 8));
	l = submit(f, f->low, 8);
	tell(f);
	end(f, l);
	/* The engine first hears of these launches when they have arrived. */
	l = submit(f, f->low, 8);
	sched_arrive(f->s, f->now, l, SCHED_BEGAN_UNKNOWN);
	expect(f, l, LAUNCH_UNSURE);
	end(f, l);
	launch(f, f->high, 800, SCHED_BEGAN_FREE, LAUNCH_RUNNING);
	tell(f);
	l = submit(f, f->low, 8);
	sched_arrive(f->s, f->now, l, SCHED_BEGAN_TOLD);
	expect(f, l, LAUNCH_HELD);
	end(f, l);
	end(f, f->high->launches.arrived.first);
}

static void through_preemptions(struct fixture *f)
{
	struct sched_launch *l = launch(f, f->low, 800, SCHED_BEGAN_UNKNOWN, LAUNCH_UNSURE), *h;

	tell(f);
	expect(f, l, LAUNCH_RUNNING);
	h = launch(f, f->high, 2, SCHED_BEGAN_TOLD, LAUNCH_RUNNING);
	tell(f);
	expect(f, l, LAUNCH_SHRINKING);
	sched_shrunk(f->s, f->now, l);
	expect(f, l, LAUNCH_RUNNING);
	end(f, h);
	expect(f, l, LAUNCH_RUNNING); /* the launch has grown */
	h = launch(f, f->high, 2, SCHED_BEGAN_TOLD, LAUNCH_RUNNING);
	tell(f);
	expect(f, l, LAUNCH_SHRINKING);
	sched_absent(f->s, l);
	expect(f, l, LAUNCH_RUNNING);
	end(f, h);
	/* Some SMs of launch l are revoked, then more, then all. */
	h = launch(f, f->high, 2, SCHED_BEGAN_TOLD, LAUNCH_RUNNING);
	tell(f);
	sched_arrive(f->s, f->now, submit(f, f->high, 4), SCHED_BEGAN_TOLD);
	tell(f);
	expect(f, l, LAUNCH_SHRINKING);
	sched_arrive(f->s, f->now, submit(f, f->high, 800), SCHED_BEGAN_TOLD);
	tell(f);
	expect(f, l, LAUNCH_DRAINING);
	sched_drained(f->s, f->now, l);
	expect(f, l, LAUNCH_WAITING);
	tell(f);
	while (f->high->launches.arrived.first)
		end(f, f->high->launches.arrived.first);
	expect(f, l, LAUNCH_RUNNING);
	h = launch(f, f->high, 800, SCHED_BEGAN_TOLD, LAUNCH_RUNNING);
	tell(f);
	expect(f, l, LAUNCH_DRAINING);
	sched_absent(f->s, l);
	expect(f, l, LAUNCH_WAITING);
	end(f, l);
	/* The launch began with an outdated word. It must leave. */
	l = launch(f, f->low, 800, SCHED_BEGAN_UNKNOWN, LAUNCH_UNSURE);
	tell(f);
	expect(f, l, LAUNCH_DRAINING);
	end(f, l);
	l = launch(f, f->low, 800, SCHED_BEGAN_TOLD, LAUNCH_HELD);
	tell(f);
	sched_drained(f->s, f->now, l);
	expect(f, l, LAUNCH_WAITING);
	end(f, l);
	end(f, h);
	/* The launch ends before the workers on its revoked SMs have left. */
	l = launch(f, f->low, 800, SCHED_BEGAN_FREE, LAUNCH_RUNNING);
	h = launch(f, f->high, 2, SCHED_BEGAN_TOLD, LAUNCH_RUNNING);
	tell(f);
	expect(f, l, LAUNCH_SHRINKING);
	end(f, l);
	end(f, h);
}

static void plant(struct fixture *f, struct sched_launch *l, enum launch_state to)
{
	strict_allow(true);
	assert_false(sched_to(f->s, l, to));
	strict_allow(false);
	expect(f, l, LAUNCH_STRAY);
}

static void through_faults(struct fixture *f)
{
	struct sched_launch *l = launch(f, f->low, 800, SCHED_BEGAN_FREE, LAUNCH_RUNNING);

	plant(f, l, LAUNCH_WAITING);
	end(f, l);
	l = launch(f, f->low, 800, SCHED_BEGAN_FREE, LAUNCH_RUNNING);
	plant(f, l, LAUNCH_WAITING);
	tell(f);
	expect(f, l, LAUNCH_NATIVE);
	end(f, l);
}

/* The engine takes each transition of the table. A row that no event causes would be a mistake. */
static void all_are_taken(void **state)
{
	struct fixture f = begin();
	unsigned untaken = 0;

	memset(strict_taken, 0, sizeof(strict_taken));
	through_the_queue(&f);
	through_preemptions(&f);
	through_faults(&f);
	for (unsigned s = 0; s < LAUNCH_STATES; s++) {
		assert_int_equal(sched_count(f.s, s), 0);
		for (unsigned to = 0; to < LAUNCH_STATES; to++) {
			if (!launch_may(s, to) || strict_taken[s][to])
				continue;
			fprintf(stderr, "never taken: %s -> %s\n", launch_state_name(s),
				launch_state_name(to));
			untaken++;
		}
	}
	assert_int_equal(untaken, 0);
	sched_destroy(f.s);
}

/* ---- astray ---- */

/* A stray launch is one that made an illegal transition. From whatever state, it gets one word with
 * all SMs, and no later event changes that. Other launches are scheduled as if it did not exist. */
static void stray_is_native(void **state)
{
	for (unsigned from = LAUNCH_QUEUED; from <= LAUNCH_WAITING; from++) {
		struct fixture f = begin();
		struct sched_launch *l = submit(&f, f.low, 800), *other, *h;
		enum launch_state was, to;

		tell(&f);
		l->state = from; /* an illegal change; reporting it also corrects the lists */
		f.s->n_in[LAUNCH_NEXT]--;
		f.s->n_in[from]++;
		if (!launch_is(from, LAUNCH_SUBMITTED)) {
			f.low->launches.arrived = f.low->launches.submitted;
			f.low->launches.submitted = (struct sched_launches){0};
			f.low->launches.n_submitted_of[0] = 0;
			f.low->launches.head = NULL;
		}
		plant(&f, l, LAUNCH_NATIVE);
		sched_refused(l, &was, &to);
		assert_int_equal(was, from);
		assert_int_equal(to, LAUNCH_NATIVE);
		assert_int_equal(sched_deadline(f.s), 0); /* a decision is due */
		f.words = 0;
		tell(&f);
		expect(&f, l, LAUNCH_NATIVE);
		sched_arrive(f.s, f.now, l, SCHED_BEGAN_TOLD);
		sched_drained(f.s, f.now, l);
		sched_absent(f.s, l);
		sched_shrunk(f.s, f.now, l);
		sched_idle(f.s, f.now, l, true);
		tell(&f);
		assert_int_equal(f.words, 1);
		assert_int_equal(f.natives, 1);
		other = launch(&f, f.low, 800, SCHED_BEGAN_TOLD, LAUNCH_RUNNING);
		tell(&f);
		h = launch(&f, f.high, 800, SCHED_BEGAN_TOLD, LAUNCH_RUNNING);
		tell(&f);
		expect(&f, other, LAUNCH_DRAINING);
		expect(&f, l, LAUNCH_NATIVE);
		sched_drained(f.s, f.now, other);
		tell(&f);
		end(&f, h);
		expect(&f, other, LAUNCH_RUNNING);
		assert_int_equal(f.natives, 1);
		f.now += MS;
		end(&f, l);
		sched_leave(f.s, f.now, f.low);
		assert_int_equal(sched_count(f.s, LAUNCH_RUNNING), 0);
		sched_destroy(f.s);
	}
}

/* When a launch goes astray, decisions about it that were not carried out are dropped. */
static void stray_withdraws(void **state)
{
	struct fixture f = begin();
	struct sched_launch *l = launch(&f, f.low, 800, SCHED_BEGAN_FREE, LAUNCH_RUNNING);
	struct sched_action a;

	tell(&f);
	submit(&f, f.high, 800);
	assert_int_equal(sched_decide(f.s, f.now), 0);
	expect(&f, l, LAUNCH_DRAINING);
	plant(&f, l, LAUNCH_RUNNING);
	while (sched_next(f.s, &a))
		assert_null(a.launch);
	tell(&f);
	assert_int_equal(f.natives, 1);
	sched_destroy(f.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_state_is_reached),
		cmocka_unit_test(rules),
		cmocka_unit_test(illegal_ones_are_refused),
		cmocka_unit_test(all_are_taken),
		cmocka_unit_test(stray_is_native),
		cmocka_unit_test(stray_withdraws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
