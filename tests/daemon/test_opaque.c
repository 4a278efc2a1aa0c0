/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests when the daemon limits the unmanaged work that lower-priority tenants may have in flight,
 * and when it holds such work. */
#include "fake.h"

static void opaque_work(struct hd *d, struct fake *f, bool begins)
{
	if (begins)
		f->page->opaque_submitted++;
	else
		f->page->opaque_completed = f->page->opaque_waited = f->page->opaque_submitted;
	hd_kicked(d, f->t);
	hd_run(d);
}

/* While a higher-priority tenant has work, and for a second afterwards, the unmanaged work of lower
 * tenants in flight is limited to bound_us. */
static void bounds(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, true), equal = join(d, 0, true), high;
	uint64_t from;

	opaque_work(d, &equal, true);
	assert_int_equal(low.page->bound_us, 0);
	assert_int_equal(low.page->follow, 0); /* no tenant has a higher priority than another */
	assert_int_equal(equal.page->follow, 0);
	assert_int_equal(low.page->hold, 0);
	high = join(d, 2, true);
	hd_run(d);
	assert_int_equal(low.page->bound_us, 0);
	assert_int_equal(high.page->follow, 1);
	opaque_work(d, &high, true);
	assert_int_equal(low.page->bound_us, 1000);
	assert_int_equal(equal.page->bound_us, 1000);
	assert_int_equal(high.page->bound_us, 0);
	assert_int_equal(low.page->follow, 1);
	assert_int_equal(low.page->hold, 1);
	from = now += 50000;
	opaque_work(d, &high, false);
	opaque_work(d, &equal, false);
	while (now < from + 900 * MS) {
		uint64_t next = hd_run(d);

		assert_int_equal(low.page->bound_us, 1000);
		assert_true(next <= from + 1100 * MS - now);
		now += MAX(next, 1000);
	}
	now = from + 1100 * MS;
	hd_run(d);
	assert_int_equal(low.page->bound_us, 0);
	assert_int_equal(low.page->follow, 0);
	assert_int_equal(hd_run(d), UINT64_MAX);
	/* The bound also ends when the last higher-priority tenant leaves. */
	opaque_work(d, &high, true);
	assert_int_equal(low.page->bound_us, 1000);
	leave(d, &high);
	hd_run(d);
	assert_int_equal(low.page->bound_us, 0);
	leave(d, &equal);
	leave(d, &low);
	hd_destroy(d);
}

static void leave_opaque_alone(struct hd_config *c)
{
	c->opaque_ns = 0;
}

/* Unmanaged work is not held unless a higher-priority tenant has managed work. */
static void left_alone(void **state)
{
	struct hd *d = make(leave_opaque_alone);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *h;

	opaque_work(d, &low, true);
	opaque_work(d, &high, true);
	assert_int_equal(low.page->hold, 0);
	assert_int_equal(low.page->bound_us, 0);
	h = submit(d, &high, 0, 400);
	hd_run(d);
	arrive(high.page, h);
	hd_run(d);
	assert_int_equal(low.page->hold, 1);
	finish(h);
	hd_run(d);
	now += 10 * MS;
	hd_run(d);
	assert_int_equal(low.page->hold, 0);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

static void not_asked_for(struct hd_config *c)
{
	c->opaque_auto = true;
}

static void not_asked_for_mps(struct hd_config *c)
{
	c->opaque_auto = c->mps = true;
}

/* On a GPU without MPS, the device itself alternates between tenants. By default their unmanaged
 * work is then not limited for the sake of other unmanaged work. It is limited for managed work,
 * which must not wait for everything in flight. */
static void turns_are_enough(void **state)
{
	struct hd *d = make(not_asked_for);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *h;

	opaque_work(d, &low, true);
	opaque_work(d, &high, true);
	assert_int_equal(low.page->bound_us, 0);
	assert_int_equal(low.page->hold, 0);
	opaque_work(d, &high, false);
	now += 100 * MS;
	h = submit(d, &high, 0, 400);
	hd_run(d);
	assert_int_equal(low.page->bound_us, 1000);
	arrive(high.page, h);
	hd_run(d);
	assert_int_equal(low.page->hold, 1);
	finish(h);
	close_slot(d, &high, h);
	hd_run(d);
	now += 500 * MS;
	opaque_work(d, &high, true);
	/* high had managed work a short time ago, and may have more */
	assert_int_equal(low.page->bound_us, 1000);
	assert_int_equal(low.page->hold, 0);
	now += 600 * MS;
	hd_run(d);
	assert_int_equal(low.page->bound_us, 0);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* Under MPS and on the virtual GPU, the device does not alternate between tenants. By default
 * unmanaged work is then limited. */
static void not_side_by_side(void **state)
{
	for (int is_cpu = 0; is_cpu < 2; is_cpu++) {
		struct hd *d = make(is_cpu ? not_asked_for : not_asked_for_mps);
		struct fake low = join(d, 0, is_cpu), high = join(d, 2, is_cpu);

		opaque_work(d, &low, true);
		opaque_work(d, &high, true);
		assert_int_equal(low.page->bound_us, 1000);
		assert_int_equal(low.page->hold, 1);
		leave(d, &high);
		leave(d, &low);
		hd_destroy(d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds),
		cmocka_unit_test(left_alone),
		cmocka_unit_test(turns_are_enough),
		cmocka_unit_test(not_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
