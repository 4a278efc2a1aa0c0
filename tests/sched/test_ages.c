/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests which of two launches is made the older one (sched/policy/ages.h), on a simulated device.
 * There, the pace of each launch depends on which of the two is older. */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "sched/policy/ages.h"

#define SMS     132u
#define MS      1000000ull
#define BLOCKS  100000u
#define A       0u /* indices in world.at; A has the smaller code */
#define B       1u
#define TURN_NS (MS / 4)
#define LONGEST 1000u /* maximum number of turns */

struct world {
	struct ages ages;
	struct age_launch at[3];
	uint32_t n;
	double alone_ns[2], done[2]; /* blocks done */
	/* paces relative to the launch's pace alone: [older launch][launch] */
	double pace[2][2];
	double on[2]; /* fraction of the blocks that it may have that are on SMs */
	/* how long B must run without A until it gets room; 0: it has room at once */
	uint64_t needs_ns;
	uint64_t apart_ns; /* how long B has run without A */
	/* Two values from the time when a launch first returned: the fraction of the other launch's
	 * blocks that were on SMs, and how long the returning launch had been away. */
	double on_then;
	uint64_t gone_ns;
	uint32_t older;
	uint64_t now_ns, wake_ns, away_ns; /* when the last launch that had to leave left */
	uint32_t leaves;                   /* number of times that a launch was told to leave */
};

static void make(struct world *w, double alone_ns)
{
	*w = (struct world){.n = 2, .now_ns = 7 * MS, .older = A};
	for (unsigned i = 0; i < 3; i++)
		w->at[i] = (struct age_launch){.code = i == 2 ? 50 : 100 + i,
			.launch = 1,
			.tenant = 1 + i,
			.count = 4,
			.present = true,
			.blocks = BLOCKS,
			.started = 1,
			.alone_ns = alone_ns,
			.left_ns = alone_ns,
			.cost_ns = 0.3 * MS};
	w->alone_ns[A] = w->alone_ns[B] = alone_ns;
	w->on[A] = w->on[B] = 1;
	/* Each older launch runs almost as if alone. The younger one starves behind A, but not
	 * behind B. */
	w->pace[A][A] = 1;
	w->pace[A][B] = 0.1;
	w->pace[B][B] = 0.9;
	w->pace[B][A] = 0.8;
}

/* Launches the same kernels again. */
static void again(struct world *w, uint32_t older)
{
	w->older = older;
	for (unsigned i = 0; i < 2; i++) {
		w->at[i].launch++;
		w->at[i].finished = 0;
		w->at[i].left_ns = w->alone_ns[i];
		w->at[i].present = i == older;
		w->done[i] = 0;
	}
	ages_decide(&w->ages, w->now_ns, SMS, w->at, w->n, &w->wake_ns);
	w->at[!older].present = true;
	ages_decide(&w->ages, w->now_ns, SMS, w->at, w->n, &w->wake_ns);
}

/* Simulates one turn of the device. */
static void runs(struct world *w)
{
	bool both = w->at[A].present && w->at[B].present;

	for (unsigned i = 0; i < 2; i++) {
		struct age_launch *l = &w->at[i];
		double pace = both ? w->pace[w->older][i] : 1;

		if (!l->present)
			continue;
		w->done[i] += pace * TURN_NS / w->alone_ns[i] * BLOCKS;
		l->finished = (uint64_t)w->done[i];
		l->started = MIN(l->finished + (uint64_t)(l->count * w->on[i] * SMS), BLOCKS);
		l->left_ns = l->alone_ns * (1 - w->done[i] / BLOCKS);
	}
	w->now_ns += TURN_NS;
	w->apart_ns = both || !w->at[B].present || w->at[A].leaving ? 0 : w->apart_ns + TURN_NS;
	if (w->needs_ns && w->apart_ns >= w->needs_ns)
		w->on[B] = 1;
}

/* Runs turns until a launch ends. */
static void goes_on(struct world *w)
{
	for (unsigned t = 0; t < LONGEST; t++) {
		uint32_t leaver;

		w->wake_ns = UINT64_MAX;
		leaver = ages_decide(&w->ages, w->now_ns, SMS, w->at, w->n, &w->wake_ns);
		for (unsigned i = 0; i < 2; i++) {
			struct age_launch *l = &w->at[i];

			if (i == leaver && !l->present && !l->leaving) {
				continue; /* the launch waits for the other to end */
			} else if (i == leaver && l->present) {
				l->present = false;
				l->leaving = true;
				w->away_ns = w->now_ns;
				w->leaves++;
			} else if (i == leaver && w->now_ns >= w->away_ns + 2 * TURN_NS) {
				l->leaving = false;
			} else if (i != leaver && !l->present) {
				/* a launch must have left before it returns */
				assert_false(l->leaving);
				l->present = true;
				w->older = !i;
				w->on_then = w->gone_ns ? w->on_then : w->on[!i];
				w->gone_ns = w->gone_ns ? w->gone_ns : w->now_ns - w->away_ns;
			}
		}
		assert_true(w->wake_ns > w->now_ns);
		runs(w);
		if (w->at[A].finished >= BLOCKS || w->at[B].finished >= BLOCKS)
			return;
	}
	fail_msg("neither ends");
}

static const struct age_pair *known(const struct world *w)
{
	for (unsigned i = 0; i < AGES_PAIRS; i++)
		if (w->ages.pairs[i].used)
			return &w->ages.pairs[i];
	return NULL;
}

static void the_better_order_is_found_and_kept(void **state)
{
	struct world w;

	(void)state;
	make(&w, 80.0 * MS);
	goes_on(&w);
	/* The policy has tried the other order, found it better, and kept it. */
	assert_int_equal(w.leaves, 1);
	assert_int_equal(w.older, B);
	assert_true(fabs(known(&w)->rate[A][0] - 1.1) < 0.02);
	assert_true(fabs(known(&w)->rate[B][1] - 1.7) < 0.02);
	/* Later launches of these kernels swap at once if A is older, and do not swap if B is. */
	again(&w, A);
	goes_on(&w);
	assert_int_equal(w.leaves, 2);
	assert_int_equal(w.older, B);
	assert_true(w.at[B].finished >= BLOCKS && w.at[A].finished >= BLOCKS / 2);
	again(&w, B);
	goes_on(&w);
	assert_int_equal(w.leaves, 2);
}

static void a_worse_order_is_left_again(void **state)
{
	struct world w;

	(void)state;
	make(&w, 80.0 * MS);
	w.older = B;
	w.at[A].present = false;
	ages_decide(&w.ages, w.now_ns, SMS, w.at, w.n, &w.wake_ns);
	w.at[A].present = true;
	goes_on(&w);
	assert_int_equal(w.leaves, 2);
	assert_int_equal(w.older, B);
	/* The order in which A is older is not tried again. */
	again(&w, B);
	goes_on(&w);
	assert_int_equal(w.leaves, 2);
}

static void orders_that_are_equal_are_tried_once(void **state)
{
	struct world w;

	(void)state;
	make(&w, 80.0 * MS);
	for (unsigned i = 0; i < 2; i++)
		w.pace[i][A] = w.pace[i][B] = i ? 0.51 : 0.5;
	goes_on(&w);
	assert_int_equal(w.leaves, 1);
	for (unsigned i = 0; i < 4; i++) {
		again(&w, i & 1);
		goes_on(&w);
	}
	assert_int_equal(w.leaves, 1);
}

static void nobody_leaves_where_it_cannot_pay(void **state)
{
	struct world w;

	(void)state;
	make(&w, 15.0 * MS); /* a short launch */
	goes_on(&w);
	assert_int_equal(w.leaves, 0);
	make(&w, 80.0 * MS); /* leaving takes long */
	w.at[A].cost_ns = w.at[B].cost_ns = 20.0 * MS;
	goes_on(&w);
	assert_int_equal(w.leaves, 0);
	/* the guard form, which leaves whenever its number of blocks changes */
	make(&w, 80.0 * MS);
	w.at[B].steady = true;
	goes_on(&w);
	assert_int_equal(w.leaves, 0);
	make(&w, 80.0 * MS); /* two launches of one kernel */
	w.at[B].code = w.at[A].code;
	goes_on(&w);
	assert_int_equal(w.leaves, 0);
	make(&w, 80.0 * MS); /* the duration alone, by which progress is measured, is unknown */
	w.at[B].alone_ns = 0;
	goes_on(&w);
	assert_int_equal(w.leaves, 0);
	make(&w, 80.0 * MS); /* three launches */
	w.n = 3;
	goes_on(&w);
	assert_int_equal(w.leaves, 0);
}

/* While A is older, B's blocks find room on only a few SMs. If this lasts, it counts as the result
 * of that order. */
static void one_that_finds_no_room_comes_first(void **state)
{
	struct world w;

	(void)state;
	make(&w, 80.0 * MS);
	w.on[B] = 0.01;
	w.pace[A][B] = 0.01;
	goes_on(&w);
	assert_int_equal(w.leaves, 1);
	assert_int_equal(w.older, B);
	assert_true(fabs(known(&w)->rate[A][0] - 1.01) < 0.02);
	/* Next time A leaves even if B is not on the device at all. */
	again(&w, A);
	w.at[B].present = false;
	ages_decide(&w.ages, w.now_ns, SMS, w.at, w.n, &w.wake_ns);
	assert_true(w.ages.leaves && w.ages.leaver == A);
}

/* The device needs a moment to place B on the SMs that A has left. A returns only after that. */
static void one_that_left_comes_again_behind_the_other(void **state)
{
	struct world w;

	(void)state;
	make(&w, 80.0 * MS);
	w.on[B] = w.pace[A][B] = 0.01;
	w.needs_ns = 2 * MS;
	goes_on(&w);
	assert_int_equal(w.leaves, 1);
	assert_true(w.on_then == 1);
	assert_true(w.gone_ns < 4 * MS);
	/* If B finds no room even then, A does not wait longer. */
	make(&w, 80.0 * MS);
	w.on[B] = w.pace[A][B] = w.pace[B][B] = 0.01;
	w.needs_ns = 60 * MS;
	goes_on(&w);
	assert_true(w.on_then < 1 && w.gone_ns > 5 * MS && w.gone_ns < 7 * MS);
}

/* If B has no room only for a short time, this does not count as the result of the order. */
static void one_that_comes_slowly_is_awaited(void **state)
{
	struct world w;

	(void)state;
	make(&w, 80.0 * MS);
	w.on[B] = 0.01;
	w.pace[A][B] = 0;
	for (unsigned t = 0; t < 4 * MS / TURN_NS; t++) {
		assert_int_equal(
			ages_decide(&w.ages, w.now_ns, SMS, w.at, w.n, &w.wake_ns), AGES_NOBODY);
		runs(&w);
	}
	w.on[B] = 1;
	w.pace[A][B] = 0.1;
	goes_on(&w);
	assert_true(fabs(known(&w)->rate[A][0] - 1.1) < 0.02);
}

/* In either order, both launches together are slower than one after the other. So the younger
 * launch must wait. */
static void two_that_are_no_good_together_run_one_by_one(void **state)
{
	struct world w;

	(void)state;
	make(&w, 80.0 * MS);
	for (unsigned i = 0; i < 2; i++)
		w.pace[i][A] = w.pace[i][B] = 0.3;
	goes_on(&w);
	/* A leaves once for the other order, and again as the younger one of the slow pair */
	assert_int_equal(w.leaves, 2);
	assert_int_equal(w.older, B);
	assert_true(w.at[B].finished >= BLOCKS && w.at[A].finished < BLOCKS / 2);
	for (unsigned i = 0; i < 40; i++) {
		uint32_t begun = w.leaves, anew = !known(&w)->n[i & 1][0];

		again(&w, i & 1);
		w.at[!(i & 1)].present = false;
		goes_on(&w);
		assert_true(anew || w.older == (i & 1));
		/* The younger launch does not start at all, except when the policy measures both
		 * orders anew. */
		assert_true(anew || w.leaves == begun);
		assert_true(anew || w.at[!(i & 1)].finished == 0);
	}
	assert_true(known(&w)->apart < 10);
	/* From now on the pair runs well together, which the policy must find out eventually. */
	for (unsigned i = 0; i < 2; i++)
		w.pace[i][A] = w.pace[i][B] = 0.8;
	for (unsigned i = 0; i < 80; i++) {
		again(&w, A);
		goes_on(&w);
	}
	assert_true(w.at[A].finished >= BLOCKS && w.at[B].finished > BLOCKS / 2);
}

/* When A returns behind B, it finds less room than when it arrives behind B for the first time. So
 * the order B, A has two different results. */
static void an_order_after_a_swap_is_another_one(void **state)
{
	struct world w;

	(void)state;
	make(&w, 80.0 * MS);
	w.pace[A][A] = w.pace[A][B] = 0.3;
	w.pace[B][A] = w.pace[B][B] = 0.4;
	goes_on(&w);
	assert_int_equal(w.leaves, 2);
	w.pace[B][A] = w.pace[B][B] = 0.6;
	for (unsigned i = 0; i < 3; i++) {
		again(&w, B);
		w.leaves = 0;
		goes_on(&w);
		assert_int_equal(w.leaves, 0);
		assert_true(w.at[A].finished > BLOCKS / 2);
		again(&w, A);
		w.at[B].present = false;
		goes_on(&w);
		assert_int_equal(w.at[B].finished, 0); /* A and B still run one by one */
	}
	assert_true(fabs(known(&w)->rate[B][0] - 1.2) < 0.02);
	assert_true(fabs(known(&w)->rate[B][1] - 0.8) < 0.02);
}

/* If B is older, A finds no room. If A is older, the pair is hardly faster. But if A comes first,
 * leaves and returns, both have room, and B is older. */
static void two_swaps_may_be_the_best(void **state)
{
	struct world w;
	struct age_pair *p;

	(void)state;
	make(&w, 80.0 * MS);
	p = w.ages.pairs;
	*p = (struct age_pair){.code = {100, 101}, .used = 1, .n = {{1, 1}, {1, 1}}};
	w.ages.used = 1;
	p->rate[B][0] = 0.99;
	p->rate[A][0] = p->rate[A][1] = 1.01;
	p->rate[B][1] = 1.7;
	w.at[A].present = false;
	again(&w, B);
	goes_on(&w);
	assert_int_equal(w.leaves, 2);
	assert_int_equal(w.older, B);
	/* The policy does not swap if the swaps cost more than they save. */
	w.at[A].cost_ns = w.at[B].cost_ns = 20 * MS;
	w.leaves = 0;
	again(&w, B);
	goes_on(&w);
	assert_int_equal(w.leaves, 0);
}

/* The policy told a launch to leave, but the launch ends instead, and another one takes its
 * place. */
static void one_that_ends_is_not_waited_for(void **state)
{
	struct world w;

	(void)state;
	make(&w, 80.0 * MS);
	while (!w.leaves) {
		uint64_t wake_ns = UINT64_MAX;

		w.leaves += ages_decide(&w.ages, w.now_ns, SMS, w.at, w.n, &wake_ns) != AGES_NOBODY;
		runs(&w);
	}
	w.leaves = 0;
	again(&w, B);
	assert_int_equal(ages_decide(&w.ages, w.now_ns, SMS, w.at, w.n, &w.wake_ns), AGES_NOBODY);
	goes_on(&w);
	assert_int_equal(w.older, B);
}

/* There are more pairs of kernels than the policy remembers, and more launches than it can
 * track. */
static void many(void **state)
{
	struct age_launch at[AGES_LAUNCHES + 8] = {{0}};
	struct world w;
	uint64_t wake_ns = UINT64_MAX;

	(void)state;
	make(&w, 80.0 * MS);
	for (unsigned i = 0; i < 2 * AGES_PAIRS; i++) {
		w.at[A].code = 1000 + i;
		w.at[B].code = 2000 + i;
		again(&w, A);
		goes_on(&w);
		assert_int_equal(w.older, B);
	}
	for (unsigned i = 0; i < AGES_LAUNCHES + 8; i++)
		at[i] = (struct age_launch){.code = i, .tenant = i, .present = true};
	assert_int_equal(
		ages_decide(&w.ages, w.now_ns, SMS, at, AGES_LAUNCHES + 8, &wake_ns), AGES_NOBODY);
	assert_int_equal(ages_decide(&w.ages, w.now_ns, SMS, at, 0, &wake_ns), AGES_NOBODY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_better_order_is_found_and_kept),
		cmocka_unit_test(a_worse_order_is_left_again),
		cmocka_unit_test(orders_that_are_equal_are_tried_once),
		cmocka_unit_test(nobody_leaves_where_it_cannot_pay),
		cmocka_unit_test(one_that_finds_no_room_comes_first),
		cmocka_unit_test(one_that_left_comes_again_behind_the_other),
		cmocka_unit_test(one_that_comes_slowly_is_awaited),
		cmocka_unit_test(two_that_are_no_good_together_run_one_by_one),
		cmocka_unit_test(an_order_after_a_swap_is_another_one),
		cmocka_unit_test(two_swaps_may_be_the_best),
		cmocka_unit_test(one_that_ends_is_not_waited_for),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
