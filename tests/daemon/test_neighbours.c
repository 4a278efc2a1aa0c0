/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests through the core what one tenant can do to others. A tenant gets at most one user's limits
 * and cannot keep equals waiting for ever, and what it reports about a kernel counts only for its
 * own user. */
#include "fake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void of_defaults(struct hd_config *c)
{
	c->max_tenants = 1024;
	c->user_tenants = 0;
}

static void tenants_of_a_user(void **state)
{
	struct hd *d = make(of_defaults);
	struct fake f[300], other;
	unsigned n = 0;

	while (n < 300 && join_as(d, 7, "GPU-0", &f[n]) == 0)
		n++;
	assert_int_equal(n, 256);
	assert_int_equal(join_as(d, 7, "GPU-0", &other), -EDQUOT);
	assert_int_equal(join_as(d, 8, "GPU-0", &other), 0);
	leave(d, &f[--n]);
	assert_int_equal(join_as(d, 7, "GPU-0", &f[n]), 0);
	for (unsigned i = 0; i <= n; i++)
		leave(d, &f[i]);
	leave(d, &other);
	hd_destroy(d);
}

static void devices_of_a_user(void **state)
{
	struct hd *d = make(of_defaults);
	struct fake f[100], other;
	char name[16];
	unsigned n;

	for (n = 0; n < 100; n++) {
		snprintf(name, sizeof(name), "GPU-%u", n);
		if (join_as(d, 7, name, &f[n]) < 0)
			break;
	}
	assert_int_equal(n, 64);
	assert_int_equal(join_as(d, 7, "GPU-invented", &other), -EDQUOT);
	/* Other users still get the real device, and so does this user. */
	assert_int_equal(join_as(d, 7, "GPU-3", &other), 0);
	leave(d, &other);
	assert_int_equal(join_as(d, 8, "GPU-real", &other), 0);
	leave(d, &other);
	leave(d, &f[5]);
	assert_int_equal(join_as(d, 7, "GPU-invented", &f[5]), 0);
	for (unsigned i = 0; i < n; i++)
		leave(d, &f[i]);
	hd_destroy(d);
}

/* Makes a launch of tenant a arrive on all SMs (*ret_at_work). Returns a launch of b, a tenant of
 * equal priority, that waits. */
static struct wire_slot *one_waits(
	struct hd *d, struct fake *a, struct fake *b, struct wire_slot **ret_at_work)
{
	struct wire_slot *w;

	assert_int_equal(join_as(d, 7, "GPU-0", a), 0);
	assert_int_equal(join_as(d, 8, "GPU-0", b), 0);
	*ret_at_work = submit(d, a, 0, 400);
	hd_run(d);
	arrive(a->page, *ret_at_work);
	hd_run(d);
	w = submit(d, b, 0, 80);
	hd_run(d);
	return w;
}

/* A launch stops reporting progress just after a launch of equal priority has arrived and waits. */
static void stands_still(void **state)
{
	struct hd *d = make(NULL);
	struct fake a, b;
	struct wire_slot *l, *w;
	uint64_t next;

	w = one_waits(d, &a, &b, &l);
	assert_int_equal(b.page->begin.quota[0], 0);
	now += 10 * MS;
	hd_run(d);
	assert_int_equal(l->granted, 1);
	now += 20 * MS; /* it no longer counts as the shortest (sched/policy/policy_hpf.c) */
	hd_run(d);
	assert_int_equal(l->granted, 0);
	assert_int_not_equal(b.page->begin.quota[0], 0);
	/* The launch does not leave either: the daemon then stops polling for its drain every few
	 * microseconds. */
	now += 200 * MS;
	next = hd_run(d);
	assert_true(next >= MS / 4);
	assert_false(hd_in_handover(d));
	arrive(b.page, w);
	finish(w);
	close_slot(d, &b, w);
	/* A stalled launch that does not leave gets no more turns, as if it were gone, */
	now += 9000 * MS;
	hd_run(d);
	w = submit(d, &b, 0, 400);
	hd_run(d);
	arrive(b.page, w);
	for (int ms = 0; ms < 3000; ms += 100) {
		now += 100 * MS;
		w->host.finished += 13;
		hd_run(d);
		assert_int_equal(w->granted, 1);
	}
	/* until its workers have left. */
	drain(l);
	hd_run(d);
	now += 1001 * MS;
	hd_run(d);
	hd_run(d);
	assert_int_equal(l->granted, 1);
	assert_int_equal(w->granted, 0);
	leave(d, &a);
	leave(d, &b);
	hd_destroy(d);
}

static void for_ever(struct hd_config *c)
{
	c->still_ns = UINT64_MAX;
}

/* Even if the stall limit is off, an equal gets its turn. */
static void stands_still_allowed(void **state)
{
	struct hd *d = make(for_ever);
	struct fake a, b;
	struct wire_slot *l;

	one_waits(d, &a, &b, &l);
	now += 200 * MS;
	hd_run(d);
	assert_int_equal(l->granted, 0);
	assert_int_not_equal(b.page->begin.quota[0], 0);
	leave(d, &a);
	leave(d, &b);
	hd_destroy(d);
}

/* A pool without tasks yields at once. */
static void idle_pool(void **state)
{
	struct hd *d = make(NULL);
	struct fake a, b;
	struct wire_slot *l, *w;

	w = one_waits(d, &a, &b, &l);
	assert_int_equal(l->granted, 1);
	l->idle = 1;
	hd_kicked(d, a.t);
	hd_run(d);
	assert_int_equal(l->granted, 0);
	drain(l);
	run_through(d, &b, w);
	assert_int_equal(l->granted, 1);
	leave(d, &a);
	leave(d, &b);
	hd_destroy(d);
}

static uint64_t predicted(struct hd *d, const struct fake *f, unsigned slot)
{
	struct sched_info info;

	sched_launch_state(f->t->device->sched, now, f->t->slots[slot].launch, &info);
	return info.predicted_ns;
}

static void teach(struct hd *d, struct fake *f, uint64_t ran_ns)
{
	struct wire_slot *w = submit(d, f, 0, 400);

	hd_run(d);
	arrive(f->page, w);
	hd_run(d);
	now += ran_ns;
	finish(w);
	hd_run(d);
	close_slot(d, f, w);
}

/* The tenant itself reports a kernel's hash and duration. */
static void learns_of_its_user(void **state)
{
	struct hd *d = make(NULL);
	struct fake liar, victim, same_user;

	assert_int_equal(join_as(d, 7, "GPU-0", &liar), 0);
	assert_int_equal(join_as(d, 8, "GPU-0", &victim), 0);
	teach(d, &liar, 500 * MS);
	submit(d, &victim, 1, 400);
	assert_true(predicted(d, &victim, 1) == SCHED_UNKNOWN);
	leave(d, &victim);
	assert_int_equal(join_as(d, 8, "GPU-0", &victim), 0);
	teach(d, &victim, 2 * MS);
	submit(d, &victim, 1, 400);
	assert_int_equal(predicted(d, &victim, 1), 2 * MS);
	/* Another program of the same user gets this prediction. */
	assert_int_equal(join_as(d, 8, "GPU-0", &same_user), 0);
	submit(d, &same_user, 1, 400);
	assert_int_equal(predicted(d, &same_user, 1), 2 * MS);
	leave(d, &liar);
	leave(d, &victim);
	leave(d, &same_user);
	hd_destroy(d);
}

/* ---- log lines that a tenant causes ---- */

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void come_and_go(struct hd *d, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		struct fake f = join(d, 1, true);

		hd_tenant_set(d, f.t, 0, 1);
		leave(d, &f);
	}
}

/* A tenant that joins, changes priority and leaves over and over does not fill the log. If its join
 * was not logged, neither is its leave; one line counts the omitted lines. */
static void few_words(void **state)
{
	struct hd *d = make(NULL);
	FILE *log = tmpfile();
	int err = dup(STDERR_FILENO);
	char text[1 << 15] = "";

	assert_non_null(log);
	unsetenv("JOURNAL_STREAM"); /* JOURNAL_STREAM would change the format of the lines */
	fflush(stderr);
	dup2(fileno(log), STDERR_FILENO);
	come_and_go(d, 50);
	now += 1000 * MS;
	come_and_go(d, 1);
	fflush(stderr);
	dup2(err, STDERR_FILENO);
	close(err);
	rewind(log);
	assert_true(fread(text, 1, sizeof(text) - 1, log) > 0);
	fclose(log);
	assert_int_equal(count(text, " joins: "), 21);
	assert_int_equal(count(text, " leaves: "), 21);
	assert_int_equal(count(text, ": priority low, was normal"), 21);
	assert_int_equal(count(text, "heddled: tenants: 30 more\n"), 1);
	assert_int_equal(count(text, "heddled: priorities: set 30 more\n"), 1);
	hd_destroy(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tenants_of_a_user),
		cmocka_unit_test(devices_of_a_user),
		cmocka_unit_test(stands_still),
		cmocka_unit_test(stands_still_allowed),
		cmocka_unit_test(idle_pool),
		cmocka_unit_test(learns_of_its_user),
		cmocka_unit_test(few_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
