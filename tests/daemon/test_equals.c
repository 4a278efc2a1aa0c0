/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the daemon's core with tenants of equal priority: when it polls for the next launch, and
 * that it reads the progress of running launches before it decides. */
#include "unit.h"

#include "daemon/pages.h"
#include "fake.h"

#include <string.h>

/* heddled polls only if the next launch of a tenant may preempt another one. */
static void next_may_preempt(void **state)
{
	struct hd *d = make(NULL);
	struct fake a = join(d, 1, false), b = join(d, 1, false), high, x, y;
	struct hd_config c = d->config;
	struct wire_slot *w;

	assert_false(hd_may_preempt(d)); /* two equals that have never had work */
	w = submit(d, &a, 0, 800);
	hd_run(d);
	assert_false(hd_may_preempt(d)); /* only one of the equals has work */
	run_through(d, &a, w);
	now += 30000 * MS;
	w = submit(d, &b, 0, 400);
	hd_run(d);
	assert_true(hd_may_preempt(d));
	run_through(d, &b, w);
	assert_true(hd_may_preempt(d));
	/* Policy none preempts no one. */
	c.policy = &sched_policy_none;
	hd_reconfigure(d, &c);
	assert_false(hd_may_preempt(d));
	c.policy = &sched_policy_hpf;
	hd_reconfigure(d, &c);
	assert_true(hd_may_preempt(d));
	now += 40000 * MS;
	hd_run(d);
	assert_false(hd_may_preempt(d)); /* only one had work lately */
	high = join(d, 2, false);
	/* a higher-priority tenant counts even if it never had work */
	assert_true(hd_may_preempt(d));
	leave(d, &high);
	assert_false(hd_may_preempt(d));
	leave(d, &a);
	leave(d, &b);
	/* On the virtual GPU the daemon does not poll: the device needs the same processors. */
	x = join(d, 1, true);
	y = join(d, 1, true);
	submit(d, &x, 0, 400);
	submit(d, &y, 0, 400);
	hd_run(d);
	assert_false(hd_may_preempt(d));
	leave(d, &x);
	leave(d, &y);
	hd_destroy(d);
}

/* Lets h run for 5 ms and end; l has already ended. */
static void both_end(
	struct hd *d, struct fake *a, struct wire_slot *l, struct fake *b, struct wire_slot *h)
{
	now += 5 * MS;
	finish(h);
	hd_run(d);
	close_slot(d, a, l);
	close_slot(d, b, h);
}

/* heddled reads the progress of a launch that runs alone before it decides on a new one. A launch
 * that has nearly ended keeps the device. */
static void nearly_through(void **state)
{
	struct hd *d = make(NULL);
	struct fake a = join(d, 1, false), b = join(d, 1, false);
	struct wire_slot *l, *h;

	l = submit(d, &a, 0, 800);
	arrive(a.page, l);
	hd_run(d);
	now += 10 * MS;
	finish(l);
	hd_run(d);
	h = submit(d, &b, 0, 400);
	arrive(b.page, h);
	hd_run(d);
	both_end(d, &a, l, &b, h);
	l = submit(d, &a, 1, 800);
	hd_run(d);
	arrive(a.page, l);
	now += 2 * MS;
	assert_true(hd_run(d) > 1000 * MS);
	now += 7 * MS;
	l->host.finished = 720;
	h = submit(d, &b, 1, 400);
	hd_run(d);
	assert_int_equal(allowed(l), 4);
	assert_int_equal(l->host.seq, 0);
	assert_int_equal(b.page->begin.quota[0], 0);
	/* A launch that still needs longer than the new one makes room for it. */
	now += 1 * MS;
	finish(l);
	arrive(b.page, h);
	hd_run(d);
	both_end(d, &a, l, &b, h);
	l = submit(d, &a, 2, 800);
	hd_run(d);
	arrive(a.page, l);
	now += 2 * MS;
	l->host.finished = 160;
	submit(d, &b, 2, 400);
	assert_int_equal(allowed(l), 0);
	leave(d, &a);
	leave(d, &b);
	hd_destroy(d);
}

/* On a machine where waking a thread is slow, heddled tells a tenant to poll while its launch is
 * held. */
static void looks_out(void **state)
{
	struct hd *d = make(NULL);
	struct fake a = join(d, 1, false), b = join(d, 1, false);
	struct wire_slot *l, *h;

	for (unsigned slow = 0; slow < 2; slow++) {
		d->slow_wake = slow;
		l = submit(d, &a, slow, 400);
		hd_run(d);
		arrive(a.page, l);
		hd_run(d);
		h = submit(d, &b, slow, 400);
		hd_run(d);
		assert_int_equal(b.page->begin.quota[0], 0);
		wakes = 0;
		arrive(b.page, h);
		hd_run(d);
		assert_int_equal(h->granted, 0);
		assert_int_equal(wakes, slow);
		drain(h);
		finish(l);
		hd_run(d);
		assert_int_equal(h->granted, 1);
		assert_int_equal(wakes, slow + 1);
		finish(h);
		hd_run(d);
		close_slot(d, &a, l);
		close_slot(d, &b, h);
	}
	leave(d, &a);
	leave(d, &b);
	hd_destroy(d);
}

/* Returns the tenant's row of heddle ps. */
static struct wire_row row_of(struct hd *d, const struct fake *f)
{
	struct wire_row row = {0}, ret = {0};
	struct strbuf out = {0};
	struct wire_head head;

	hd_list(d, &out);
	for (size_t at = 0; at < out.len; at += head.bytes) {
		memcpy(&head, out.at + at, sizeof(head));
		if (head.type != WIRE_ROW)
			continue;
		memcpy(&row, out.at + at, sizeof(row));
		if (row.kind == 0 && row.tenant == f->t->id)
			ret = row;
	}
	strbuf_finish(&out);
	assert_int_equal(ret.tenant, f->t->id);
	assert_true(ret.ran_ns + ret.waited_ns <= ret.age_ns);
	return ret;
}

static void assert_times(struct hd *d, const struct fake *f, uint64_t ran_ms, uint64_t waited_ms)
{
	struct wire_row r = row_of(d, f);

	assert_int_equal((r.ran_ns + MS / 2) / MS, ran_ms);
	assert_int_equal((r.waited_ns + MS / 2) / MS, waited_ms);
}

static struct wire_slot *submit_now(struct hd *d, struct fake *f, unsigned slot, uint64_t total)
{
	uint32_t watch = f->page->watch;
	struct wire_slot *w;

	f->page->watch = 0; /* defers the kick */
	w = submit(d, f, slot, total);
	f->page->watch = watch;
	w->submit_ns = now;
	w->launches = 1;
	f->page->launched[WIRE_WHY_WORKERS]++;
	hd_kicked(d, f->t);
	return w;
}

/* Closes a slot as the shim does. */
static void close_spanned(struct hd *d, struct fake *f, struct wire_slot *w)
{
	f->page->spanned_ns += w->host.done_ns - w->host.arrived_ns;
	close_slot(d, f, w);
}

/* A launch whose end heddled has seen counts once, whether the shim has closed its slot or not. */
static void ends_once(void **state)
{
	struct hd *d = make(NULL);
	struct fake a = join(d, 1, false);

	for (unsigned i = 0; i < 2; i++) {
		struct wire_slot *w = submit_now(d, &a, i, 400);

		arrive(a.page, w);
		hd_run(d);
		now += 5 * MS;
		finish(w);
		hd_run(d);
		if (i == 0)
			close_slot(d, &a, w);
		hd_scan_last(d, a.t); /* scans the slots as at the tenant's end */
		assert_int_equal(a.t->launches, i + 1);
		assert_int_equal(a.t->ran_ns, 5 * MS * (i + 1));
	}
	leave(d, &a);
	hd_destroy(d);
}

/* A long launch and short ones of an equal tenant take turns. Time spent waiting does not count as
 * running time, whether the launch was preempted or began without SMs. */
static void times_of_turns(void **state)
{
	struct hd *d = make(NULL);
	struct fake a = join(d, 1, false), b = join(d, 1, false);
	struct wire_slot *l, *h;

	/* heddled learns that b's launches take 5 ms. */
	h = submit_now(d, &b, 0, 400);
	arrive(b.page, h);
	hd_run(d);
	now += 5 * MS;
	finish(h);
	hd_run(d);
	close_spanned(d, &b, h);
	l = submit_now(d, &a, 0, 800);
	hd_run(d);
	arrive(a.page, l);
	hd_run(d);
	for (unsigned i = 1; i <= 3; i++) {
		now += 10 * MS;
		l->host.finished = 10 * i;
		h = submit_now(d, &b, i, 400);
		hd_run(d);
		assert_int_equal(allowed(l), 0);
		arrive(b.page, h);
		hd_run(d);
		drain(h);
		now += MS; /* a's blocks end */
		drain(l);
		hd_run(d);
		assert_int_equal(allowed(h), 4);
		assert_times(d, &a, 11 * i, 5 * (i - 1));
		now += 5 * MS;
		finish(h);
		hd_run(d);
		assert_int_equal(allowed(l), 4);
		l->launches++; /* as the shim does after another grant */
		close_spanned(d, &b, h);
		assert_times(d, &a, 11 * i, 5 * i);
		assert_times(d, &b, 5 + 6 * i, 0);
	}
	/* b's last launch takes longer than the remaining time of a's launch, so it waits from the
	 * start. */
	l->host.finished = 780;
	h = submit_now(d, &b, 4, 8000);
	hd_run(d);
	arrive(b.page, h);
	hd_run(d);
	drain(h);
	hd_run(d);
	assert_int_equal(h->granted, 0);
	now += 10 * MS;
	finish(l);
	hd_run(d);
	close_spanned(d, &a, l);
	assert_times(d, &a, 43, 15);
	assert_int_equal(h->granted, 1);
	now += 5 * MS;
	finish(h);
	hd_run(d);
	close_spanned(d, &b, h);
	assert_times(d, &b, 28, 10);
	leave(d, &a);
	leave(d, &b);
	hd_destroy(d);
}

/* heddled does not see every launch arrive. The time that such a launch ran before heddled saw it
 * counts once. */
static void times_of_unseen(void **state)
{
	struct hd *d = make(NULL);
	struct fake a = join(d, 1, false), b = join(d, 1, false);
	struct wire_slot *w;

	for (unsigned i = 0; i < 4; i++) {
		w = submit_now(d, &a, i, 800);
		hd_run(d);
		now += i ? MS : 0;
		arrive(a.page, w);
		now += 3 * MS;
		if (i % 2)
			hd_run(d);
		now += 6 * MS;
		finish(w);
		now += 20 * MS;
		assert_times(d, &a, 9 * (i + 1), i);
		close_spanned(d, &a, w);
		assert_times(d, &a, 9 * (i + 1), i);
	}
	leave(d, &a);
	leave(d, &b);
	hd_destroy(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(next_may_preempt),
		cmocka_unit_test(nearly_through),
		cmocka_unit_test(looks_out),
		cmocka_unit_test(ends_once),
		cmocka_unit_test(times_of_turns),
		cmocka_unit_test(times_of_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
