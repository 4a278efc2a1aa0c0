/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the daemon's core in virtual time: the test writes the tenants' pages and the device's
 * reports, and checks what the daemon stores in response. */
#include "unit.h"

#include "fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void preempts_and_resumes(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high;
	struct wire_slot *l, *h;
	uint32_t seq;

	assert_int_equal(low.page->watch, 0); /* alone, so it need not wake the daemon by a kick */
	l = submit(d, &low, 0, 800);
	assert_int_equal(hd_run(d), UINT64_MAX);
	arrive(low.page, l);
	high = join(d, 2, false);
	assert_int_equal(low.page->watch, 1);
	assert_int_equal(high.page->watch, 1);
	hd_run(d);
	assert_int_equal(allowed(l), 4);
	seq = l->host.seq;
	now += MS;
	l->host.finished = 100;
	h = submit(d, &high, 5, 400);
	assert_true(hd_run(d) < MS);
	assert_int_equal(allowed(l), 0);
	assert_int_equal(l->host.seq, seq + 1);
	assert_int_equal(l->host.store_ns, now);
	assert_int_equal(l->granted, 0);
	assert_int_equal(l->preemptions, 1);
	assert_int_equal(allowed(h), 4);
	assert_int_equal(low.page->hold, 1);
	assert_int_equal(high.page->hold, 0);
	assert_true(hd_in_handover(d));
	now += 30000;
	drain(l);
	arrive(high.page, h);
	hd_run(d);
	assert_false(hd_in_handover(d));
	assert_int_equal(d->n_handovers, 1);
	assert_int_equal(d->handover_ns[0], 30000);
	now += MS;
	wakes = hold_wakes = 0;
	finish(h);
	hd_run(d);
	assert_int_equal(allowed(l), 4);
	assert_int_equal(l->granted, 1);
	assert_int_equal(low.page->hold, 0);
	assert_int_equal(wakes, 1);
	assert_int_equal(hold_wakes, 1);
	/* The slot is free again once the tenant has closed it. */
	close_slot(d, &high, h);
	assert_int_equal(h->state, WIRE_SLOT_FREE);
	leave(d, &high);
	assert_int_equal(low.page->watch, 0);
	/* after these events the daemon still runs periodically for a while */
	assert_true(hd_run(d) < 100 * MS);
	now += 2000 * MS;
	assert_int_equal(hd_run(d), UINT64_MAX);
	leave(d, &low);
	assert_null(d->devices);
	hd_destroy(d);
}

/* While a tenant is pinned (its page's `pin` is odd), the daemon preempts no launch of the tenant.
 * It confirms each value of `pin` in `pinned`. */
static void pinned(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high;
	struct wire_slot *l, *h;

	l = submit(d, &low, 0, 800);
	hd_run(d);
	arrive(low.page, l);
	low.page->pin = 1;
	hd_kicked(d, low.t); /* alone, so not watched */
	hd_run(d);
	assert_int_equal(low.page->pinned, 1);
	high = join(d, 2, false);
	hd_run(d);
	h = submit(d, &high, 5, 400);
	arrive(high.page, h);
	hd_run(d);
	assert_int_equal(allowed(l), 4);
	assert_int_equal(l->preemptions, 0);
	assert_int_equal(allowed(h), 4);
	now += MS;
	low.page->pin = 2;
	hd_run(d);
	assert_int_equal(low.page->pinned, 2);
	assert_int_equal(allowed(l), 0);
	assert_int_equal(l->granted, 0);
	/* A pin does not undo a preemption that was already decided. */
	low.page->pin = 3;
	hd_run(d);
	assert_int_equal(low.page->pinned, 3);
	assert_int_equal(allowed(l), 0);
	drain(l);
	finish(h);
	hd_run(d);
	assert_int_equal(allowed(l), 4);
	h = submit(d, &high, 6, 400);
	arrive(high.page, h);
	hd_run(d);
	assert_int_equal(allowed(l), 4);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* A launch that arrives while its tenant is held obeys the tenant's begin word (quota 0) and
 * leaves, so the daemon stores no word for the launch itself. To grant it SMs, the daemon stores
 * one. */
static void held_at_start(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *h, *l, *next;

	h = submit(d, &high, 0, 400);
	hd_run(d);
	arrive(high.page, h);
	hd_run(d);
	assert_int_equal(h->host.seq, 0); /* the device was free, so it began with all SMs */
	assert_int_equal(low.page->hold, 1);
	assert_int_not_equal(low.page->begin.seq, 0);
	assert_int_equal(low.page->begin.quota[0], 0);
	assert_int_equal(high.page->begin.seq, 0);
	l = submit(d, &low, 3, 80);
	next = submit(d, &low, 4, 80);
	hd_run(d);
	assert_int_equal(l->granted, 1); /* it has not reported a drain yet */
	arrive(low.page, l);
	drain(l);
	hd_run(d);
	assert_int_equal(l->host.seq, 0);
	assert_int_equal(l->granted, 0);
	assert_int_equal(l->preemptions, 0);
	finish(h);
	wakes = 0;
	hd_run(d);
	assert_int_equal(l->host.seq, 1);
	assert_int_equal(l->granted, 1);
	assert_int_equal(allowed(l), 4);
	assert_int_equal(low.page->begin.seq, 0);
	/* no word is stored for a launch that has not arrived */
	assert_int_equal(next->host.seq, 0);
	assert_int_equal(wakes, 1);
	/* If late workers of the first round drain after the grant, the daemon wakes the tenant
	 * again. */
	l->host.drains++;
	hd_run(d);
	assert_int_equal(wakes, 2);
	leave(d, &low);
	leave(d, &high);
	hd_destroy(d);
}

/* With a hundred launches queued behind the running one, a preemption and a grant still take one
 * word each. */
static void queue_costs_nothing(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *l[100], *h;
	uint32_t words = 0;

	for (unsigned i = 0; i < 100; i++)
		l[i] = submit(d, &low, i, 80);
	hd_run(d);
	arrive(low.page, l[0]);
	hd_run(d);
	for (int i = 0; i < 10; i++) {
		now += 2 * MS;
		/* the device has noticed the last grant before the next preemption */
		l[0]->host.seen_ns = now;
		h = submit(d, &high, 0, 400);
		hd_run(d);
		drain(l[0]);
		run_through(d, &high, h);
		close_slot(d, &high, h);
		assert_int_equal(l[0]->granted, 1);
	}
	for (unsigned i = 0; i < 100; i++)
		words += l[i]->host.seq;
	assert_int_equal(words, 20);
	/* A launch ends right after the preempting word was stored for it, and the next launch
	 * reads its tenant's begin word instead. This takes no additional word either. */
	h = submit(d, &high, 0, 400);
	hd_run(d);
	finish(l[0]);
	arrive(low.page, l[1]);
	drain(l[1]);
	arrive(high.page, h);
	hd_run(d);
	assert_int_equal(l[1]->host.seq, 0);
	finish(h);
	hd_run(d);
	assert_int_equal(l[1]->host.seq, 1);
	assert_int_equal(l[1]->granted, 1);
	leave(d, &low);
	leave(d, &high);
	hd_destroy(d);
}

/* In a long queue, the daemon reads the next few slots on every turn, and the slots behind them
 * only now and then. */
static void next_few(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *l[100];

	for (unsigned i = 0; i < 100; i++)
		l[i] = submit(d, &low, i, 80);
	now += MS;
	hd_run(d);
	now += 10000;
	arrive(low.page, l[3]);
	arrive(low.page, l[50]); /* arrives on another stream */
	hd_run(d);
	assert_int_equal(low.t->stage[3], HD_ARRIVED);
	assert_int_equal(low.t->stage[50], HD_SUBMITTED);
	now += 40000;
	hd_run(d);
	assert_int_equal(low.t->stage[50], HD_ARRIVED);
	leave(d, &low);
	leave(d, &high);
	hd_destroy(d);
}

/* A launch began with an outdated begin word. The daemon stores a word for the launch itself in any
 * case. Because some workers may have obeyed the old word and left, it also requests new
 * workers. */
static void began_with_old_word(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *h = submit(d, &high, 0, 400), *l;
	uint32_t grow, old;

	hd_run(d);
	arrive(high.page, h);
	hd_run(d);
	l = submit(d, &low, 3, 80);
	l->launches = 1;
	hd_run(d);
	grow = l->grow;
	old = low.page->begin.seq;
	finish(h);
	hd_run(d);
	assert_int_equal(low.page->begin.seq, 0);
	arrive(low.page, l);
	l->host.began = old;
	hd_run(d);
	assert_int_equal(l->host.seq, 1);
	assert_int_equal(allowed(l), 4);
	assert_int_equal(l->granted, 1);
	assert_int_equal(l->grow, grow + 1);
	leave(d, &low);
	leave(d, &high);
	hd_destroy(d);
}

/* The daemon withdraws a grant before the tenant has launched workers for it, so it must not wait
 * for a drain. (The launch had drained before the daemon first saw it.) */
static void withdrawn(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *h = submit(d, &high, 0, 400), *l;

	hd_run(d);
	arrive(high.page, h);
	hd_run(d);
	l = submit(d, &low, 3, 80);
	l->launches = 1;
	arrive(low.page, l);
	drain(l);
	hd_run(d);
	hd_run(d);
	for (int i = 0; i < 3; i++) {
		finish(h);
		now += MS;
		hd_run(d);
		hd_run(d);
		assert_int_equal(l->granted, 1);
		close_slot(d, &high, h);
		now += MS;
		h = submit(d, &high, 0, 400);
		hd_run(d);
		assert_int_equal(l->granted, 0);
		arrive(high.page, h);
		hd_run(d);
	}
	/* If the tenant has launched workers for the grant that is withdrawn, the daemon waits
	 * until they have left. */
	finish(h);
	now += MS;
	hd_run(d);
	hd_run(d);
	assert_int_equal(l->granted, 1);
	l->launches = 2;
	close_slot(d, &high, h);
	h = submit(d, &high, 0, 400);
	hd_run(d);
	run_through(d, &high, h);
	hd_run(d);
	assert_int_equal(l->granted, 0);
	drain(l);
	hd_run(d);
	hd_run(d);
	assert_int_equal(l->granted, 1);
	leave(d, &low);
	leave(d, &high);
	hd_destroy(d);
}

/* A launch that began with its tenant's begin word and got its own first word when the daemon saw
 * it arrive. All its workers obeyed the begin word and left. */
static struct wire_slot *granted_late(struct hd *d, struct fake *low, struct fake *high)
{
	struct wire_slot *h = submit(d, high, 0, 400), *l;
	uint32_t old;

	hd_run(d);
	arrive(high->page, h);
	hd_run(d);
	l = submit(d, low, 3, 80);
	l->launches = 1;
	hd_run(d);
	old = low->page->begin.seq;
	finish(h);
	now += MS;
	hd_run(d);
	close_slot(d, high, h);
	arrive(low->page, l);
	l->host.began = old;
	hd_run(d);
	assert_int_equal(l->granted, 1);
	assert_int_equal(l->host.seq, 1);
	return l;
}

static void answer(struct wire_slot *w)
{
	w->launches++;
}

static void report_late(struct wire_slot *w)
{
	w->host.drained_seq = w->host.rounds = 0;
	w->host.drains++;
}

/* The high-priority launch comes and goes. While it runs, launch l has no grant. If !reported, l
 * only now reports that it drained by the old begin word. */
static void preempt_late(struct hd *d, struct fake *high, struct wire_slot *l, bool reported)
{
	struct wire_slot *h;

	now += MS;
	h = submit(d, high, 0, 400);
	hd_run(d);
	assert_int_equal(l->granted, 0);
	if (!reported)
		report_late(l);
	arrive(high->page, h);
	hd_run(d);
	finish(h);
	for (int i = 0; i < 3; i++) {
		now += MS;
		hd_run(d);
	}
}

/* The daemon waits for the workers that were launched for the grant, whether the drain by the begin
 * word was reported before the grant was withdrawn or after. */
static void drained_late(void **state)
{
	for (int reported = 0; reported < 2; reported++) {
		struct hd *d = make(NULL);
		struct fake low = join(d, 0, false), high = join(d, 2, false);
		struct wire_slot *l = granted_late(d, &low, &high);

		answer(l);
		if (reported) {
			report_late(l);
			hd_run(d);
		}
		preempt_late(d, &high, l, reported);
		assert_int_equal(l->granted, 0);
		drain(l);
		hd_run(d);
		hd_run(d);
		assert_int_equal(l->granted, 1);
		leave(d, &low);
		leave(d, &high);
		hd_destroy(d);
	}
}

/* If the tenant launched no workers for the grant, the report of the drain by the old begin word
 * means that no worker is left. */
static void drained_late_unanswered(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *l = granted_late(d, &low, &high);

	preempt_late(d, &high, l, false);
	assert_int_equal(l->granted, 1);
	leave(d, &low);
	leave(d, &high);
	hd_destroy(d);
}

static void opaque_holds(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *l = submit(d, &low, 0, 800);

	hd_run(d);
	arrive(low.page, l);
	hd_run(d);
	high.page->opaque_submitted = 3;
	hd_kicked(d, high.t);
	/* The kick revokes the SMs at once, before the daemon's next turn. */
	assert_int_equal(allowed(l), 0);
	hd_run(d);
	assert_int_equal(low.page->hold, 1);
	now += 50000;
	drain(l);
	hd_run(d);
	high.page->opaque_completed = high.page->opaque_waited = 3;
	hd_kicked(d, high.t);
	hd_run(d);
	assert_int_equal(allowed(l), 4);
	assert_int_equal(low.page->hold, 0);
	/* An invalid count (more completed than submitted) counts as no work. */
	high.page->opaque_completed = 9;
	hd_kicked(d, high.t);
	hd_run(d);
	assert_int_equal(low.page->hold, 0);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* A held or preempted tenant sees regular signs of life from the daemon. If no tenant is held or
 * preempted, the daemon does not wake up for this. */
static void signs_of_life(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *h;

	assert_int_equal(hd_run(d), UINT64_MAX);
	now += 60000 * MS;
	h = submit(d, &high, 0, 400);
	hd_run(d);
	arrive(high.page, h);
	/* When the daemon stores a hold, it also renews the sign of life. */
	assert_int_equal(low.page->hold, 1);
	assert_int_equal(low.page->alive_ms, (uint32_t)(now / MS));
	for (int i = 0; i < 2000; i++) {
		uint64_t next = hd_run(d);

		assert_true(next <= 100 * MS);
		now += next ? next : 1000;
		assert_true((uint32_t)(now / MS) - low.page->alive_ms < 200);
	}
	/* A tenant that waits for the daemon in a launch call also gets signs of life. */
	finish(h);
	hd_run(d);
	low.page->opaque_waiting = 1;
	hd_kicked(d, low.t);
	assert_true(hd_run(d) <= 100 * MS);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* The daemon learns the duration of a launch even if it first sees the slot after the tenant has
 * closed it. */
static void learns_from_closed(void **state)
{
	struct hd *d = make(NULL);
	struct fake a = join(d, 1, false), b;
	struct wire_slot *w = submit(d, &a, 0, 100);
	struct sched_info info;

	w->host.arrived_ns = 5000;
	w->host.done_ns = 5000 + 3 * MS;
	w->host.done = w->gen + 1;
	w->host.arrived = w->gen + 1;
	w->state = WIRE_SLOT_CLOSED;
	b = join(d, 1, false);
	assert_int_equal(w->state, WIRE_SLOT_FREE);
	submit(d, &a, 0, 100);
	sched_launch_state(a.t->device->sched, now, a.t->slots[0].launch, &info);
	assert_int_equal(info.predicted_ns, 3 * MS);
	leave(d, &b);
	leave(d, &a);
	hd_destroy(d);
}

/* The daemon does not watch a launch without a competitor, so it may see the end seconds later. The
 * time since the end does not count towards the duration. */
static void end_seen_late(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, true), high = join(d, 2, true);
	struct wire_slot *l, *h;
	struct sched_info info;

	low.page->watch = 0; /* defers the kick */
	l = submit(d, &low, 0, 800);
	low.page->watch = 1;
	l->submit_ns = now;
	hd_kicked(d, low.t);
	arrive(low.page, l);
	hd_run(d);
	now += 5 * MS;
	/* l gives up some SMs to h, so the daemon measures l's time itself */
	h = submit(d, &high, 1, 2);
	arrive(high.page, h);
	hd_run(d);
	now += 5 * MS;
	finish(h);
	hd_run(d);
	assert_int_equal(allowed(l), 4);
	now += 5 * MS;
	finish(l);
	now += 3000 * MS;
	hd_run(d);
	assert_null(low.t->slots[0].launch);
	assert_in_range(low.t->ran_ns, 10 * MS, 15 * MS);
	submit(d, &low, 0, 800);
	sched_launch_state(low.t->device->sched, now, low.t->slots[0].launch, &info);
	assert_in_range(info.predicted_ns, 10 * MS, 15 * MS);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

static uint32_t random_word(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)x;
}

/* A page of random values that change between reads must not crash the daemon or affect other
 * pages. */
static void hostile_page(void **state)
{
	struct hd *d = make(NULL);
	struct fake bad = join(d, 1, false), good = join(d, 1, false);
	struct wire_slot *g = submit(d, &good, 0, 100);
	struct strbuf out = {0};

	hd_run(d);
	for (int round = 0; round < 400; round++) {
		for (unsigned i = 0; i < 2000; i++) {
			size_t words = sizeof(struct wire_page) / 4 - 4;
			uint32_t v = random_word() % 4 ? random_word() % 3 : random_word();

			((uint32_t *)bad.page)[4 + random_word() % words] = v;
		}
		for (unsigned i = 0; i < WIRE_SLOTS; i++)
			bad.page->slots[i].state = random_word() % 4;
		now += 100000;
		hd_kicked(d, bad.t);
		hd_run(d);
		if (round % 50 == 0) {
			hd_list(d, &out);
			for (size_t at = 0; at < out.len;) {
				struct wire_head head;

				memcpy(&head, out.at + at, sizeof(head));
				assert_int_equal(wire_check(out.at + at, head.bytes), 0);
				at += head.bytes;
			}
			strbuf_finish(&out);
		}
	}
	assert_int_equal(g->id, 1);
	assert_int_equal(good.page->n_slots, WIRE_SLOTS);
	leave(d, &bad);
	/* The good tenant gets the whole device again. */
	for (int i = 0; i < 50 && allowed(g) != 4; i++) {
		now += 5 * MS;
		arrive(good.page, g);
		hd_run(d);
		drain(g);
	}
	assert_int_equal(allowed(g), 4);
	leave(d, &good);
	hd_destroy(d);
}

static void limits_and_devices(void **state)
{
	struct hd *d = make(NULL);
	struct wire_hello h = {.weight = 1, .n_sms = 4};
	struct ucred cred = {0};
	struct fake f[8];
	struct hd_tenant *t;
	struct wire_status s;

	for (int i = 0; i < 8; i++)
		f[i] = join(d, 1, i % 2);
	assert_int_equal(hd_tenant_add(d, &cred, &h, 1, 1, f[0].page, NULL, &t), -EUSERS);
	hd_status(d, &s);
	assert_int_equal(wire_check(&s, sizeof(s)), 0);
	assert_int_equal(s.tenants, 8);
	assert_non_null(d->devices->next); /* the virtual GPU is a second device */
	assert_null(d->devices->next->next);
	for (int i = 0; i < 8; i++)
		leave(d, &f[i]);
	hd_destroy(d);
}

static void rights(void **state)
{
	struct hd_config c = {0};
	struct ucred own = {.uid = geteuid()}, other = {.uid = geteuid() + 12345, .gid = 12345};
	gid_t root_group = 0;
	uint32_t weight = 7;
	int priority = 2;

	hd_rights(&c, &own, NULL, 0, &priority, &weight);
	assert_int_equal(priority, 2);
	assert_int_equal(weight, 7);
	hd_rights(&c, &other, NULL, 0, &priority, &weight);
	assert_int_equal(priority, 1);
	assert_int_equal(weight, 1);
	priority = 0;
	hd_rights(&c, &other, NULL, 0, &priority, &weight);
	assert_int_equal(priority, 0);
	strcpy(c.privileged_group, "root");
	priority = 2;
	weight = 3;
	hd_rights(&c, &other, &root_group, 1, &priority, &weight);
	assert_int_equal(priority, 2);
	assert_int_equal(weight, 3);
	strcpy(c.privileged_group, "no-such-group");
	hd_rights(&c, &other, &root_group, 1, &priority, &weight);
	assert_int_equal(priority, 1);
}

/* Changes the configuration while launches run and wait. */
static void reconfigured(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *l = submit(d, &low, 0, 800), *h;
	struct hd_config c = d->config;

	arrive(low.page, l);
	hd_kicked(d, low.t);
	hd_run(d);
	h = submit(d, &high, 1, 800);
	hd_run(d);
	assert_int_equal(allowed(l), 0);
	drain(l);
	arrive(high.page, h);
	hd_kicked(d, high.t);
	hd_run(d);
	assert_int_equal(low.page->hold, 1);
	assert_int_equal(low.page->gates, 1);
	c.policy = &sched_policy_none;
	c.gates = false;
	hd_reconfigure(d, &c);
	assert_int_equal(low.page->gates, 0);
	hd_run(d);
	assert_int_equal(low.page->hold, 0);
	assert_int_equal(allowed(l), 4);
	assert_int_equal(allowed(h), 4);
	c.policy = &sched_policy_hpf;
	hd_reconfigure(d, &c);
	hd_run(d);
	assert_int_equal(allowed(l), 0);
	assert_int_equal(allowed(h), 4);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reconfigured),
		cmocka_unit_test(preempts_and_resumes),
		cmocka_unit_test(pinned),
		cmocka_unit_test(held_at_start),
		cmocka_unit_test(withdrawn),
		cmocka_unit_test(drained_late),
		cmocka_unit_test(drained_late_unanswered),
		cmocka_unit_test(queue_costs_nothing),
		cmocka_unit_test(next_few),
		cmocka_unit_test(began_with_old_word),
		cmocka_unit_test(opaque_holds),
		cmocka_unit_test(signs_of_life),
		cmocka_unit_test(learns_from_closed),
		cmocka_unit_test(end_seen_late),
		cmocka_unit_test(hostile_page),
		cmocka_unit_test(limits_and_devices),
		cmocka_unit_test(rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
