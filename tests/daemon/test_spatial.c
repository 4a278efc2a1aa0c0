/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the core with launches side by side: the SMs that one launch takes from another and later
 * gives back, and the workers that the core requests. Time is virtual, as in test_core.c. */
#include "unit.h"

#include "fake.h"

static void spatial_gives_back(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, true), high = join(d, 2, true);
	struct wire_slot *l = submit(d, &low, 0, 800), *h;
	uint32_t grow;

	hd_run(d);
	arrive(low.page, l);
	hd_run(d);
	h = submit(d, &high, 1, 2); /* its two blocks and two relays, at 2 per SM, need 2 SMs */
	hd_run(d);
	assert_int_equal(allowed(l), 2);
	assert_int_equal(l->granted, 1);
	assert_int_equal(allowed(h), 4);
	grow = l->grow;
	run_through(d, &high, h);
	assert_int_equal(allowed(l), 4);
	assert_int_equal(l->grow, grow + 1);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* The relay reports how many workers are present, which shows when those on the revoked SMs have
 * left. The time until then is a preemption cost, too. */
static void spatial_cost(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, true), high = join(d, 2, true);
	struct wire_slot *l = submit(d, &low, 0, 800), *h;
	uint64_t expected[] = {40000 + 20000, (40000 + 20000 + 90000 + 20000) / 2};
	struct sched_info info;

	hd_run(d);
	arrive(low.page, l);
	hd_run(d);
	for (int i = 0; i < 3; i++) {
		l->host.present = i < 2 ? 8 : 4; /* in the last round, fewer workers than fit */
		now += 10 * MS;
		h = submit(d, &high, 1, 2);
		/* submit has kicked the daemon, which has decided */
		assert_int_equal(allowed(l), 2);
		arrive(high.page, h);
		hd_run(d);
		now += i ? 80000 : 30000;
		l->host.present = 6;
		assert_true(hd_run(d) <= 200000 || i == 2); /* polled often */
		now += 10000;
		l->host.present = 5; /* two per SM on two SMs, plus the relay */
		hd_run(d);
		now += MS;
		l->host.present = 4;
		hd_run(d);
		sched_launch_state(low.t->device->sched, now, low.t->slots[0].launch, &info);
		assert_int_equal(info.cost_ns, expected[MIN(i, 1)]);
		finish(h);
		close_slot(d, &high, h);
		now += 50 * MS;
		hd_run(d);
		assert_int_equal(allowed(l), 4);
	}
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* Runs the daemon for this long, one tick at a time. Returns how often it requested more
 * workers. */
static uint32_t asked_within(struct hd *d, const struct wire_slot *w, uint64_t ns)
{
	uint32_t grow = w->grow;

	for (uint64_t end = now + ns; now < end; now += MS / 10)
		hd_run(d);
	return w->grow - grow;
}

/* A launch that keeps some SMs has fewer workers than they can hold. The daemon requests more
 * workers, at growing intervals. */
static void spatial_short(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, true), high = join(d, 2, true);
	struct wire_slot *l = submit(d, &low, 0, 800), *h;
	unsigned woken;

	hd_run(d);
	arrive(low.page, l);
	l->host.present = 1;
	assert_int_equal(asked_within(d, l, 100 * MS), 0); /* the launch has all SMs */
	h = submit(d, &high, 1, 2);
	hd_run(d);
	arrive(high.page, h);
	assert_int_equal(allowed(l), 2);
	assert_int_equal(asked_within(d, l, MS * 9 / 10), 0);
	woken = wakes;
	assert_int_equal(asked_within(d, l, 2 * MS / 10), 1);
	assert_int_equal(wakes, woken + 1);
	assert_int_equal(asked_within(d, l, MS * 18 / 10), 0);
	l->host.present = 3;
	assert_int_equal(asked_within(d, l, 100 * MS), 0); /* almost all SMs */
	l->host.present = 1;
	assert_int_equal(asked_within(d, l, MS), 1);
	l->host.ticket = 799; /* no blocks are left for more workers */
	assert_int_equal(asked_within(d, l, 100 * MS), 0);
	l->host.ticket = 700;
	assert_int_equal(asked_within(d, l, 100 * MS), 4);
	/* After that it requests workers every 64 ms, because the launch's SMs may stay full of
	 * another launch's blocks for long. */
	assert_int_equal(asked_within(d, l, 640 * MS), 10);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* A launch has too few workers. When another launch leaves, there may be room for more, so the
 * daemon requests workers again. */
static void another_has_left(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 1, true), high = join(d, 2, true), other = join(d, 0, true);
	struct wire_slot *l = submit(d, &low, 0, 800), *h, *o;

	hd_run(d);
	arrive(low.page, l);
	h = submit(d, &high, 1, 2);
	o = submit(d, &other, 2, 800);
	hd_run(d);
	arrive(high.page, h);
	arrive(other.page, o);
	l->host.present = 1;
	asked_within(d, l, 200 * MS); /* now the daemon requests workers every 64 ms only */
	while (!asked_within(d, l, MS))
		continue;
	drain(o);
	assert_int_equal(asked_within(d, l, MS * 9 / 10), 0);
	assert_int_equal(asked_within(d, l, 2 * MS / 10), 1);
	assert_int_equal(asked_within(d, l, 60 * MS), 0);
	leave(d, &other);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* A launch that arrived before the daemon first saw it gets no more SMs than one that the daemon
 * saw in time. */
static void spatial_seen_late(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, true), high = join(d, 2, true);
	struct wire_slot *l = submit(d, &low, 0, 800), *h;

	hd_run(d);
	arrive(low.page, l);
	hd_run(d);
	high.page->watch = 0; /* defers the kick */
	h = submit(d, &high, 1, 2);
	high.page->watch = 1;
	arrive(high.page, h);
	hd_kicked(d, high.t);
	hd_run(d);
	assert_int_equal(allowed(h), 4);
	assert_int_equal(allowed(l), 2);
	assert_int_equal(l->preemptions, 1);
	finish(h);
	hd_run(d);
	assert_int_equal(allowed(l), 4);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spatial_gives_back),
		cmocka_unit_test(spatial_cost),
		cmocka_unit_test(spatial_short),
		cmocka_unit_test(another_has_left),
		cmocka_unit_test(spatial_seen_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
