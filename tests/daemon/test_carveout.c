/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the carveout, the split of L1 cache and shared memory, that the daemon tells all tenants to
 * use. */
#include "../sched/named.h"
#include "fake.h"

static const struct sched_policy *policy;

static void change(struct hd_config *c)
{
	c->policy = policy;
}

static struct fake joined(struct hd *d)
{
	return join(d, 1, true);
}

/* Submits a launch with per_sm blocks per SM, each with this much shared memory. */
static void launches(
	struct hd *d, struct fake *f, unsigned slot, uint32_t per_sm, uint32_t shared_bytes)
{
	struct wire_slot *w;

	f->page->watch = 0; /* the daemon must not look before the slot is complete */
	w = submit(d, f, slot, 1000);
	f->page->watch = 1;
	w->workers_per_sm = per_sm;
	w->shared_bytes = shared_bytes;
	hd_kicked(d, f->t);
	hd_run(d);
}

static void is_told(const struct fake *a, const struct fake *b, uint32_t value)
{
	assert_int_equal(a->page->carveout, value);
	assert_int_equal(b->page->carveout, value);
}

/* The daemon requests the whole capacity as shared memory (carveout 100) once two tenants have
 * launched, and the launch that needs most shared memory needs over 32 KiB for a full SM. This
 * includes the 1 KiB that CUDA reserves for each block. */
static void all_have_one(void **state)
{
	struct fake a, b;
	struct hd *d;

	(void)state;
	policy = policy_named(NULL, "fixed");
	d = make(change);
	a = joined(d);
	b = joined(d);
	launches(d, &a, 0, 8, 20000);
	is_told(&a, &b, 0);
	launches(d, &b, 0, 4, 1024);
	is_told(&a, &b, 100);
	leave(d, &b);
	assert_int_equal(a.page->carveout, 0);
	leave(d, &a);
	a = joined(d);
	b = joined(d);
	launches(d, &a, 0, 8, 3072);
	launches(d, &b, 0, 32, 0);
	is_told(&a, &b, 0);
	launches(d, &b, 1, 8, 3073);
	is_told(&a, &b, 100);
	leave(d, &b);
	leave(d, &a);
	hd_destroy(d);
}

/* The daemon sets no carveout, so each kernel keeps the driver's choice, under a policy where
 * tenants do not share SMs and under one that measures. */
static void nobody_is_told(void **state)
{
	struct fake a, b;
	struct hd *d;

	(void)state;
	policy = &sched_policy_hpf;
	d = make(change);
	a = joined(d);
	b = joined(d);
	launches(d, &a, 0, 8, 2048);
	launches(d, &b, 0, 4, 20000);
	is_told(&a, &b, 0);
	leave(d, &a);
	leave(d, &b);
	hd_destroy(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_have_one),
		cmocka_unit_test(nobody_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
