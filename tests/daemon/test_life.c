/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests two properties of the daemon's core. If it loses track of a launch, that launch runs
 * natively and the others continue. And all actions of one turn have the same timestamp. */
#include "unit.h"

#include "../sched/strict.h"
#include "fake.h"
#include "sched/engine/engine.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- astray ---- */

static void plant(const struct fake *f, unsigned slot, enum launch_state to)
{
	strict_allow(true);
	assert_false(sched_to(f->t->device->sched, f->t->slots[slot].launch, to));
	strict_allow(false);
}

static enum launch_state state_of(const struct fake *f, unsigned slot)
{
	return sched_state(f->t->slots[slot].launch);
}

/* Runs some turns of the daemon. Returns its log output in ret_text. */
static void turns(struct hd *d, char *ret_text, size_t size)
{
	FILE *log = tmpfile();
	int err = dup(STDERR_FILENO);
	size_t n;

	assert_non_null(log);
	fflush(stderr);
	dup2(fileno(log), STDERR_FILENO);
	for (unsigned i = 0; i < 5; i++) {
		hd_run(d);
		now += MS;
	}
	fflush(stderr);
	dup2(err, STDERR_FILENO);
	close(err);
	rewind(log);
	n = fread(ret_text, 1, size - 1, log);
	ret_text[n] = 0;
	fclose(log);
}

/* Checks that the text is one line with all the information needed to find the fault. */
static void assert_one_line(const char *text, const char *what)
{
	assert_non_null(strstr(text, what));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void stray_runs_natively(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *stray = submit(d, &low, 0, 800), *other = submit(d, &low, 1, 800), *h;
	uint32_t grow, seq;
	char text[4096];

	hd_run(d);
	arrive(low.page, stray);
	arrive(low.page, other);
	hd_run(d);
	h = submit(d, &high, 5, 400);
	arrive(high.page, h);
	hd_run(d);
	assert_int_equal(allowed(stray), 0);
	assert_int_equal(state_of(&low, 0), LAUNCH_DRAINING);
	grow = stray->grow;
	plant(&low, 0, LAUNCH_RUNNING);
	wakes = 0;
	turns(d, text, sizeof(text));
	assert_one_line(text, "launch 1 of tenant 1 (kernel): illegal transition from draining to "
			      "running: it runs natively");
	assert_int_equal(allowed(stray), 4);
	assert_int_equal(stray->granted, 1);
	/* the tenant launches workers again in place of those that left */
	assert_int_equal(stray->grow, grow + 1);
	assert_int_equal(wakes, 1);
	/* The other launch is still preempted and returns when it is its turn. */
	assert_int_equal(state_of(&low, 1), LAUNCH_DRAINING);
	assert_true(hd_in_handover(d) || now > d->devices->told_ns);
	seq = stray->host.seq;
	drain(other);
	hd_run(d);
	assert_int_equal(state_of(&low, 1), LAUNCH_WAITING);
	assert_int_equal(allowed(h), 4);
	finish(h);
	now += 50 * MS;
	hd_run(d);
	assert_int_equal(allowed(other), 4);
	close_slot(d, &high, h);
	h = submit(d, &high, 5, 400);
	arrive(high.page, h);
	hd_run(d);
	assert_int_equal(allowed(other), 0);
	/* The daemon takes no SMs from the stray launch and stores no words for it. */
	drain(stray);
	turns(d, text, sizeof(text));
	assert_string_equal(text, "");
	assert_int_equal(allowed(stray), 4);
	assert_int_equal(stray->host.seq, seq);
	finish(stray);
	hd_run(d);
	assert_null(low.t->slots[0].launch);
	leave(d, &low);
	leave(d, &high);
	hd_destroy(d);
}

/* The core loses track of the launch before it began. The launch does not wait for its tenant's
 * turn. */
static void stray_before_arrival(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *h = submit(d, &high, 0, 400), *stray;
	char text[4096];

	arrive(high.page, h);
	hd_run(d);
	stray = submit(d, &low, 3, 800);
	hd_run(d);
	assert_int_equal(low.page->begin.quota[0], 0);
	plant(&low, 3, LAUNCH_SHRINKING);
	turns(d, text, sizeof(text));
	assert_one_line(text, "to shrinking");
	assert_int_equal(allowed(stray), 4);
	assert_int_not_equal(stray->host.seq, 0);
	arrive(low.page, stray);
	turns(d, text, sizeof(text));
	assert_string_equal(text, "");
	assert_int_equal(state_of(&low, 3), LAUNCH_NATIVE);
	assert_int_equal(allowed(h), 4);
	/* The tenant leaves while its launch has not ended. */
	leave(d, &low);
	leave(d, &high);
	hd_destroy(d);
}

/* ---- the clock ---- */

static unsigned reads;

static uint64_t ticking(void *user)
{
	reads++;
	now += 1000;
	return now;
}

static unsigned reads_of_run(struct hd *d)
{
	reads = 0;
	hd_run(d);
	return reads;
}

static void clock_once_a_turn(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *l[8], *h;
	uint64_t stored;

	d->io.now_ns = ticking;
	for (unsigned i = 0; i < ARRAY_LEN(l); i++)
		l[i] = submit(d, &low, i, 800);
	assert_int_equal(reads_of_run(d), 1);
	for (unsigned i = 0; i < ARRAY_LEN(l); i++)
		arrive(low.page, l[i]);
	assert_int_equal(reads_of_run(d), 1); /* eight events share one reading */
	/* A kick is a turn, too. Each word that it stores costs one more clock reading. */
	reads = 0;
	h = submit(d, &high, 5, 400);
	assert_int_equal(reads, 1 + ARRAY_LEN(l));
	for (unsigned i = 1; i < ARRAY_LEN(l); i++)
		assert_int_equal(l[i]->host.store_ns - l[i - 1]->host.store_ns, 1000);
	stored = l[0]->host.store_ns;
	assert_int_equal(d->now_ns, l[7]->host.store_ns);
	arrive(high.page, h);
	assert_int_equal(reads_of_run(d), 1);
	/* The duration of the hand-over is exact, too. Since the first word was stored, the clock
	 * has advanced by 1 us for each of 7 further words, 1 us for the turn above, 20 us, and 2
	 * us for the readings at the start of the next turn and for the drain. */
	now += 20000;
	drain(l[0]);
	assert_int_equal(reads_of_run(d), 2);
	assert_int_equal(d->handover_ns[0], 7 * 1000 + 20000 + 3 * 1000);
	assert_int_equal(d->handover_ns[0], d->now_ns - stored);
	assert_int_equal(reads_of_run(d), 1);
	leave(d, &low);
	leave(d, &high);
	hd_destroy(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stray_runs_natively),
		cmocka_unit_test(stray_before_arrival),
		cmocka_unit_test(clock_once_a_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
