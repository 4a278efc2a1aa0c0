/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests how a new daemon adopts tenants that outlive their daemon. The page of such a tenant was
 * last written by the old daemon, by the tenant without a daemon, and by the device, and each may
 * have been interrupted at any moment. */
#include "daemon/pages.h"
#include "fake.h"

#include <string.h>

#define N_SMS 4

/* The daemon dies: it no longer writes to the page. */
static void forget(struct fake *f)
{
	f->t = NULL;
}

static void come_back(struct hd *d, struct fake *f, int priority)
{
	struct wire_hello h = {.priority = priority, .weight = 1, .n_sms = N_SMS};
	struct ucred cred = {.pid = 1, .uid = 2, .gid = 3};

	strcpy(h.device, "GPU-0");
	strcpy(h.name, "fake");
	hd_page_renew(f->page);
	assert_int_equal(hd_tenant_add(d, &cred, &h, priority, 1, f->page, NULL, &f->t), 0);
}

/* Raises the quotas as the shim does without a daemon. */
static void raise_alone(struct wire_slot *w)
{
	uint8_t all[CTL_MAX_SMS];

	memset(all, CTL_NO_QUOTA, sizeof(all));
	ctl_tell(w->host.quota, &w->host.word, w->host.seq + 1, all);
	w->granted = 1;
}

struct two {
	struct hd *d;
	struct fake low, high;
	struct wire_slot *l, *h;
};

/* A high-priority launch runs. A low-priority one was preempted and has drained partly or fully. */
static struct two preempted(bool drained)
{
	struct two t = {.d = make(NULL)};

	t.low = join(t.d, 0, false);
	t.high = join(t.d, 2, false);
	t.l = submit(t.d, &t.low, 0, 800);
	arrive(t.low.page, t.l);
	t.l->launches = 1;
	hd_kicked(t.d, t.low.t);
	hd_run(t.d);
	t.h = submit(t.d, &t.high, 5, 800);
	hd_run(t.d);
	assert_int_equal(allowed(t.l), 0);
	if (drained)
		drain(t.l);
	hd_run(t.d);
	arrive(t.high.page, t.h);
	hd_kicked(t.d, t.high.t);
	hd_run(t.d);
	assert_int_equal(t.low.page->hold, 1);
	assert_int_not_equal(t.low.page->begin.seq, 0);
	return t;
}

static void leave_both(struct two *t)
{
	leave(t->d, &t->low);
	leave(t->d, &t->high);
	hd_destroy(t->d);
}

/* The tenants wrote nothing to their pages between the old daemon's death and the new one. */
static void as_it_was_left(void **state)
{
	for (int how = 0; how < 4; how++) {
		struct two t = preempted(how & 1);
		uint32_t low_seq = t.l->host.seq, high_seq = t.h->host.seq, grow;
		struct hd *d = make(NULL);

		now += 2000 * MS;
		forget(&t.low);
		forget(&t.high);
		come_back(d, how & 2 ? &t.low : &t.high, how & 2 ? 0 : 2);
		hd_run(d);
		/* The first tenant to return gets the device. */
		assert_int_equal(allowed(how & 2 ? t.l : t.h), N_SMS);
		come_back(d, how & 2 ? &t.high : &t.low, how & 2 ? 2 : 0);
		hd_run(d);
		assert_int_equal(allowed(t.h), N_SMS);
		assert_int_equal(t.h->granted, 1);
		assert_int_equal(t.h->preemptions, 0);
		assert_int_equal(allowed(t.l), 0);
		assert_int_equal(t.l->granted, 0);
		assert_int_equal(t.low.page->hold, 1);
		assert_int_equal(t.high.page->hold, 0);
		assert_true(t.l->host.seq > low_seq && t.h->host.seq >= high_seq);
		/* The low-priority launch continues once it is its turn. */
		grow = t.l->grow;
		if (t.l->host.seq != low_seq + 1 || !(how & 1))
			drain(t.l);
		finish(t.h);
		hd_kicked(d, t.high.t);
		hd_run(d);
		now += 10 * MS;
		hd_run(d);
		assert_int_equal(allowed(t.l), N_SMS);
		assert_int_equal(t.l->granted, 1);
		assert_true(t.l->grow != grow || t.l->host.drains);
		hd_destroy(t.d); /* only now, because it writes to the tenants' pages again */
		t.d = d;
		leave_both(&t);
	}
}

/* A preempted launch continues while there is no daemon, and the next daemon can preempt it
 * again. */
static void after_it_was_alone(void **state)
{
	struct two t = preempted(true);
	struct hd *d = make(NULL);

	now += 2000 * MS;
	forget(&t.low);
	forget(&t.high);
	t.low.page->begin.seq = t.high.page->begin.seq = 0;
	raise_alone(t.l);
	t.l->launches = 2;
	come_back(d, &t.low, 0);
	hd_run(d);
	assert_int_equal(allowed(t.l), N_SMS);
	come_back(d, &t.high, 2);
	hd_run(d);
	assert_int_equal(allowed(t.h), N_SMS);
	assert_int_equal(allowed(t.l), 0);
	t.l->host.rounds = 1;
	t.l->host.drains++;
	hd_run(d);
	finish(t.h);
	hd_kicked(d, t.high.t);
	hd_run(d);
	now += 10 * MS;
	hd_run(d);
	assert_int_equal(allowed(t.l), N_SMS);
	finish(t.l);
	t.l->state = WIRE_SLOT_CLOSED;
	hd_kicked(d, t.low.t);
	assert_int_equal(t.l->state, WIRE_SLOT_FREE);
	hd_destroy(t.d);
	t.d = d;
	leave_both(&t);
}

/* The new daemon's begin word differs from the old daemon's, so that the new one recognizes a
 * launch that began with the old word. */
static void words_do_not_repeat(void **state)
{
	struct two t = preempted(true);
	uint32_t began = t.low.page->begin.seq;
	struct wire_slot *w;

	for (int i = 0; i < 20; i++) {
		struct hd *d = make(NULL);

		now += 2000 * MS + (uint64_t)i * MS;
		forget(&t.low);
		forget(&t.high);
		come_back(d, &t.high, 2);
		come_back(d, &t.low, 0);
		hd_run(d);
		assert_int_not_equal(t.low.page->begin.seq, 0);
		assert_int_not_equal(t.low.page->begin.seq, began);
		/* The launch began with the old word, so the daemon stores a word for this launch
		 * itself. */
		w = submit(d, &t.low, 20 + (unsigned)i, 800);
		w->host.began = began;
		w->host.arrived = w->gen + 1;
		hd_kicked(d, t.low.t);
		hd_run(d);
		assert_int_not_equal(w->host.seq, 0);
		assert_int_equal(allowed(w), 0);
		began = t.low.page->begin.seq;
		hd_destroy(t.d);
		t.d = d;
	}
	leave_both(&t);
}

static void who_it_was(void **state)
{
	struct two t = preempted(true);
	uint64_t joined = t.low.page->joined_ns;
	uint32_t id = t.low.page->tenant;
	struct fake other;
	struct hd *d;

	leave(t.d, &t.high);
	hd_run(t.d);
	finish(t.l);
	t.l->state = WIRE_SLOT_CLOSED;
	hd_kicked(t.d, t.low.t);
	now += 3000 * MS;
	hd_tell_figures(t.d, t.low.t, true);
	assert_int_equal(t.low.page->preempted, 1);
	forget(&t.low);
	d = make(NULL);
	now += 9000 * MS;
	come_back(d, &t.low, 1);
	assert_int_equal(t.low.t->id, id);
	assert_int_equal(t.low.page->tenant, id);
	assert_int_equal(t.low.t->joined_ns, joined);
	assert_int_equal(t.low.t->preemptions, 1);
	assert_int_equal(t.low.page->priority, 1);
	assert_int_equal(t.low.page->left, 0);
	assert_int_equal(t.low.page->watch, 0);
	/* The returning tenant's number belongs to another tenant, or its page has an invalid
	 * number. */
	other = join(d, 1, false);
	assert_int_not_equal(other.t->id, id);
	for (uint32_t i = 0; i < 3; i++) {
		forget(&other);
		hd_tenant_remove(d, hd_tenant_find(d, other.page->tenant));
		other.page->tenant = i == 0 ? id : i == 1 ? UINT32_MAX : 0;
		other.page->joined_ns = UINT64_MAX;
		come_back(d, &other, 1);
		assert_int_not_equal(other.t->id, id);
		assert_true(other.t->id && other.t->id < 1u << 31);
		assert_true(other.t->joined_ns <= now);
	}
	leave(d, &other);
	hd_destroy(t.d);
	t.d = d;
	leave(t.d, &t.low);
	hd_destroy(d);
}

/* A daemon was killed while it was storing words. The next daemon overwrites everything that it
 * left in the page. */
static void left_in_the_middle(void **state)
{
	struct hd *d = make(NULL), *e;
	struct fake f = join(d, 1, false);
	struct wire_slot *w = submit(d, &f, 3, 800);

	arrive(f.page, w);
	forget(&f);
	f.page->hold = f.page->follow = f.page->watch = f.page->gates = 1;
	f.page->bound_us = 77;
	f.page->pin = f.page->pinned = 7;
	f.page->begin.seq = 99;
	w->granted = 0;
	w->host.seq = UINT32_MAX;
	e = make(NULL);
	come_back(e, &f, 1);
	hd_run(e);
	assert_int_equal(f.page->hold, 0);
	assert_int_equal(f.page->follow, 0);
	assert_int_equal(f.page->watch, 0);
	assert_int_equal(f.page->gates, 0);
	assert_int_equal(f.page->bound_us, 0);
	assert_int_equal(f.page->pinned, 7);
	assert_int_equal(f.page->begin.seq, 0);
	assert_int_equal(w->granted, 1);
	assert_int_equal(allowed(w), N_SMS);
	assert_int_not_equal(w->host.seq, UINT32_MAX);
	assert_int_not_equal(w->host.seq, 0);
	hd_destroy(d);
	leave(e, &f);
	hd_destroy(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_it_was_left),
		cmocka_unit_test(after_it_was_alone),
		cmocka_unit_test(words_do_not_repeat),
		cmocka_unit_test(who_it_was),
		cmocka_unit_test(left_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
