/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests a low-priority program that is preempted again and again before the device has noticed the
 * grant. After some such grants in a row, the daemon protects the next one: a high-priority launch
 * must wait. */
#include "fake.h"

#define US 1000ull

static struct hd *d;
static struct fake low, high;

static void begin(void)
{
	d = make(NULL);
	low = join(d, 0, false);
	high = join(d, 2, false);
}

static void end(void)
{
	leave(d, &low);
	leave(d, &high);
	hd_destroy(d);
}

static struct wire_slot *runs(unsigned slot)
{
	struct wire_slot *l = submit(d, &low, slot, 800);

	hd_run(d);
	arrive(low.page, l);
	hd_run(d);
	assert_int_equal(allowed(l), 4);
	return l;
}

/* A high-priority launch comes and goes. Returns whether it took the low-priority launch's SMs. */
static bool comes_and_goes(struct wire_slot *l)
{
	struct wire_slot *h;
	bool taken;

	now += MS;
	h = submit(d, &high, 5, 400);
	hd_run(d);
	taken = allowed(l) == 0;
	arrive(high.page, h);
	if (taken)
		drain(l);
	hd_run(d);
	finish(h);
	hd_run(d);
	close_slot(d, &high, h);
	hd_run(d);
	assert_int_equal(allowed(l), 4);
	return taken;
}

static void notices(struct wire_slot *l)
{
	l->host.seen_ns = now;
	hd_run(d);
}

/* The first preemption interrupts a running launch. The next four take back a grant that the device
 * has not noticed. The fifth such grant is protected. */
static void bounce(struct wire_slot *l)
{
	for (int i = 0; i < 5; i++)
		assert_true(comes_and_goes(l));
	assert_false(comes_and_goes(l));
}

static void holds_until_it_had_the_device(void **state)
{
	struct wire_slot *l;

	begin();
	l = runs(0);
	bounce(l);
	/* A protected grant lasts however long the launch waits for its turn on the device, */
	now += 20 * MS;
	assert_true(hd_run(d) <= 100 * US);
	assert_false(comes_and_goes(l));
	notices(l);
	/* and for a millisecond after the device has noticed the grant. */
	now += 900 * US;
	assert_true(hd_run(d) <= 100 * US);
	assert_int_equal(allowed(l), 4);
	now += 100 * US;
	hd_run(d);
	assert_true(comes_and_goes(l));
	/* Until the launch has run again undisturbed, every second grant is protected. */
	assert_true(comes_and_goes(l));
	assert_false(comes_and_goes(l));
	notices(l);
	now += MS;
	hd_run(d);
	/* From now on the device notices each grant, so none is protected. */
	for (int i = 0; i < 20; i++) {
		notices(l);
		assert_true(comes_and_goes(l));
	}
	end();
}

static void not_for_ever(void **state)
{
	struct wire_slot *l;

	begin();
	l = runs(0);
	bounce(l);
	now += 50 * MS;
	hd_run(d);
	assert_true(comes_and_goes(l));
	end();
}

/* A launch whose grants are noticed now and then is not protected. */
static void only_in_a_row(void **state)
{
	struct wire_slot *l;

	begin();
	l = runs(0);
	for (int i = 0; i < 20; i++) {
		if (i % 4 == 3)
			notices(l);
		assert_true(comes_and_goes(l));
	}
	end();
}

/* A tenant whose launches end after a few grants is not protected either. */
static void not_if_it_ends(void **state)
{
	struct wire_slot *l, *h;

	begin();
	for (int i = 0; i < 6; i++) {
		l = runs(0);
		for (int k = 0; k < 4; k++)
			assert_true(comes_and_goes(l));
		finish(l);
		hd_run(d);
		close_slot(d, &low, l);
		/* This launch has a grant without effect, too: it arrives while the high-priority
		 * launch runs. */
		h = submit(d, &high, 5, 400);
		hd_run(d);
		arrive(high.page, h);
		l = submit(d, &low, 0, 800);
		hd_run(d);
		arrive(low.page, l);
		hd_run(d);
		finish(h);
		hd_run(d);
		close_slot(d, &high, h);
		drain(l);
		hd_run(d);
		assert_int_equal(allowed(l), 4);
		finish(l);
		hd_run(d);
		close_slot(d, &low, l);
	}
	end();
}

/* If the protected launch ends, its tenant's next launch is protected for a millisecond. */
static void the_next_ones_too(void **state)
{
	struct wire_slot *l, *next, *h;

	begin();
	l = runs(0);
	bounce(l);
	h = submit(d, &high, 5, 400);
	next = submit(d, &low, 1, 800);
	hd_run(d);
	finish(l);
	arrive(low.page, next);
	hd_run(d);
	assert_int_equal(low.page->begin.seq, 0);
	assert_int_equal(allowed(next), 4);
	now += MS - 1;
	hd_run(d);
	assert_int_equal(allowed(next), 4);
	now += 1;
	hd_run(d);
	assert_int_equal(allowed(next), 0);
	finish(h);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_until_it_had_the_device),
		cmocka_unit_test(not_for_ever),
		cmocka_unit_test(only_in_a_row),
		cmocka_unit_test(not_if_it_ends),
		cmocka_unit_test(the_next_ones_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
