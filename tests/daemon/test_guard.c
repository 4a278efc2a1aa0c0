/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests launches in the guard form as the daemon controls and observes them: which block counts it
 * accepts, and when a change of the count is complete. */
#include "fake.h"

#include "sched/engine/planner.h"

#include <string.h>

/* Blocks per SM that the policy gives each launch. */
static uint8_t gives;
static uint32_t counts_seen;

static void decide(void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	(void)state;
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		memset(heddle_policy_row(in, out, i), gives, in->device->n_sms);
		counts_seen = heddle_policy_kernel_at(in, i)->counts;
	}
	out->wake_ns = in->now_ns + HEDDLE_POLICY_MIN_WAKE;
}

static const struct heddle_policy table = {.size = sizeof(table),
	.abi = HEDDLE_POLICY_ABI,
	.name = "same",
	.decide = decide,
	.flags = HEDDLE_POLICY_STEERS_ONE};
static const struct sched_policy policy = {.name = "same", .table = &table};

static void change(struct hd_config *c)
{
	c->policy = &policy;
}

/* Returns a launch that has arrived. 8 of its blocks fit on an SM, and its shim says that it can
 * run with the numbers of blocks per SM in `counts`, a bit mask. */
static struct wire_slot *launched(struct hd *d, struct fake *f, uint32_t counts)
{
	struct wire_slot *w;

	gives = CTL_NO_QUOTA;
	f->page->watch = 0; /* the daemon must not look before the slot is complete */
	w = submit(d, f, 0, 1000);
	f->page->watch = 1;
	w->workers_per_sm = 8;
	w->guard = 1;
	w->counts = counts;
	w->launches = 1;
	hd_kicked(d, f->t);
	arrive(f->page, w);
	hd_run(d);
	return w;
}

static void give(struct hd *d, uint8_t n)
{
	gives = n;
	now += MS;
	hd_run(d);
}

static enum launch_state state_of(const struct fake *f)
{
	return sched_state(f->t->slots[0].launch);
}

/* The shim may write any counts; the daemon accepts only valid ones. */
static void believes(void **state)
{
	static const uint32_t written[] = {0, 0xfe, UINT32_MAX, 0x101, 1u << 31 | 4};
	static const uint32_t believed[] = {0, 0xfe, 0xfe, 0, 4};

	(void)state;
	for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++) {
		struct hd *d = make(change);
		struct fake f = join(d, 1, true);
		struct wire_slot *w = launched(d, &f, written[i]);

		give(d, 4);
		assert_int_equal(counts_seen, believed[i]);
		assert_int_equal(w->host.quota[0], believed[i] == 0xfe ? 4 : believed[i] ? 2 : 255);
		leave(d, &f);
		hd_destroy(d);
	}
}

/* When the daemon changes the number of blocks per SM, all blocks of the launch leave. The change
 * is complete once they have left because of that word. */
static void changed(void **state)
{
	struct hd *d = make(change);
	struct fake f = join(d, 1, true);
	struct wire_slot *w = launched(d, &f, 0xfe);

	(void)state;
	give(d, 4);
	assert_int_equal(w->host.quota[3], 4);
	assert_int_equal(state_of(&f), LAUNCH_SHRINKING);
	/* A drain that obeyed an earlier word, when no blocks were present, does not complete the
	 * change. */
	w->host.drains++;
	w->host.drained_seq = w->host.seq - 1;
	give(d, 2);
	assert_int_equal(state_of(&f), LAUNCH_SHRINKING);
	assert_int_equal(w->host.quota[3], 4);
	drain(w);
	wakes = 0;
	hd_run(d);
	assert_true(wakes > 0); /* a wake-up is due */
	assert_int_equal(w->granted, 1);
	give(d, 2);
	assert_int_equal(w->host.quota[3], 2);
	leave(d, &f);
	hd_destroy(d);
}

/* The number of blocks per SM changes while no block of the launch is on the device. The next grid
 * starts with the new number, so its blocks do not leave because of it. */
static void away(void **state)
{
	struct hd *d = make(change);
	struct fake f = join(d, 1, true);
	struct wire_slot *w = launched(d, &f, 0xfe);

	(void)state;
	give(d, 4);
	drain(w);
	give(d, 6);
	assert_int_equal(w->host.quota[0], 6);
	give(d, 3);
	assert_int_equal(w->host.quota[0], 3);
	assert_int_equal(state_of(&f), LAUNCH_RUNNING);
	/* The next grid starts, with 3 blocks per SM. */
	w->launches = 2;
	give(d, 5);
	assert_int_equal(w->host.quota[0], 5);
	give(d, 7);
	assert_int_equal(w->host.quota[0], 5);
	drain(w);
	give(d, 7);
	assert_int_equal(w->host.quota[0], 7);
	/* The next grid was launched but has not started when the word changes. It starts with the
	 * new word. */
	w->launches = 3;
	give(d, 2);
	w->padded = 2;
	give(d, 6);
	assert_int_equal(w->host.quota[0], 6);
	leave(d, &f);
	hd_destroy(d);
}

/* The tenant saw the drain before the daemon did, and has already launched the next grid. The
 * change is complete nevertheless. */
static void answered(void **state)
{
	struct hd *d = make(change);
	struct fake f = join(d, 1, true);
	struct wire_slot *w = launched(d, &f, 0xfe);
	uint32_t handovers = d->n_handovers;

	(void)state;
	give(d, 4);
	drain(w);
	w->launches = 2;
	w->padded = 4;
	hd_run(d);
	assert_int_equal(state_of(&f), LAUNCH_RUNNING);
	assert_int_equal(d->n_handovers, handovers + 1);
	/* The tenant has launched a grid that has not started. If the daemon preempts it now, an
	 * older drain does not count: the launch drains only when this grid has left. */
	give(d, 0);
	assert_int_equal(state_of(&f), LAUNCH_DRAINING);
	w->launches = 3;
	w->host.drains++;
	w->host.drained_seq = w->host.seq;
	hd_run(d);
	assert_int_equal(state_of(&f), LAUNCH_DRAINING);
	drain(w);
	hd_run(d);
	assert_int_equal(state_of(&f), LAUNCH_WAITING);
	leave(d, &f);
	hd_destroy(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(believes),
		cmocka_unit_test(changed),
		cmocka_unit_test(away),
		cmocka_unit_test(answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
