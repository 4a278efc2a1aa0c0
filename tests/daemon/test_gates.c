/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests how the daemon lets launches that wait in their streams begin (gates), words that give all
 * SMs the same quota, and how copies delay the release of held tenants. */
#include "fake.h"

#include <string.h>

#define US 1000ull

/* ---- who has gates ---- */

static void with_mps(struct hd_config *c)
{
	c->mps = true;
}

static void without_gates(struct hd_config *c)
{
	c->gates = false;
}

static void for_those_below(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high, same, mid;

	assert_int_equal(low.page->gates, 0); /* no other tenant */
	same = join(d, 0, false);
	assert_int_equal(low.page->gates, 0);
	assert_int_equal(same.page->gates, 0);
	high = join(d, 2, false);
	assert_int_equal(low.page->gates, 1);
	assert_int_equal(same.page->gates, 1);
	assert_int_equal(high.page->gates, 0);
	mid = join(d, 1, false);
	assert_int_equal(mid.page->gates, 1);
	assert_int_equal(high.page->gates, 0);
	leave(d, &high);
	assert_int_equal(low.page->gates, 1); /* mid is still above */
	assert_int_equal(mid.page->gates, 0);
	leave(d, &mid);
	assert_int_equal(low.page->gates, 0);
	assert_int_equal(same.page->gates, 0);
	leave(d, &same);
	leave(d, &low);
	hd_destroy(d);
}

static void for_one_device(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), other = join(d, 2, true), high;

	assert_int_equal(low.page->gates, 0);
	high = join(d, 2, false);
	assert_int_equal(low.page->gates, 1);
	leave(d, &high);
	assert_int_equal(low.page->gates, 0);
	leave(d, &other);
	leave(d, &low);
	hd_destroy(d);
}

static void where_turns_are_taken(void **state)
{
	void (*const changes[])(struct hd_config *) = {with_mps, without_gates, NULL};

	for (unsigned i = 0; i < ARRAY_LEN(changes); i++) {
		bool cpu = !changes[i];
		struct hd *d = make(changes[i]);
		struct fake low = join(d, 0, cpu), high = join(d, 2, cpu);

		assert_int_equal(low.page->gates, 0);
		assert_int_equal(high.page->gates, 0);
		leave(d, &high);
		leave(d, &low);
		hd_destroy(d);
	}
}

/* ---- which launches may begin ---- */

/* True if a stream that waits for this number may continue. */
static bool may_begin(const struct fake *f, uint32_t number)
{
	return (int32_t)(f->page->allowed - number) >= 0;
}

/* Returns how many of the unfinished launches may begin, 0 to 2; 2 means all of them. */
static unsigned may_pass(const struct fake *f)
{
	uint32_t ended = f->page->opaque_completed;
	unsigned n = may_begin(f, ended + 1);

	/* All later launches may begin if the next two may; otherwise none of them may. */
	for (uint32_t i = 1; i < WIRE_FAR_AHEAD; i *= 2) {
		if (may_begin(f, ended + 1 + i) != (n != 0 && may_begin(f, ended + 2)))
			return 3;
	}
	return n + may_begin(f, ended + 2);
}

/* Reports that `ended` more unmanaged launches of the tenant have ended, and that `flying` are in
 * flight. */
static void goes_on(struct hd *d, struct fake *f, uint32_t ended, uint32_t flying)
{
	f->page->opaque_completed += ended;
	f->page->opaque_submitted = f->page->opaque_completed + flying;
	hd_kicked(d, f->t);
	hd_run(d);
}

static void hold(struct hd *d, struct fake *low, struct fake *high)
{
	now += 2 * MS;
	high->page->opaque_submitted++;
	hd_kicked(d, high->t);
	assert_int_equal(low->page->hold, 1);
}

static void release(struct hd *d, struct fake *low, struct fake *high)
{
	now += 50 * US;
	high->page->opaque_completed = high->page->opaque_waited = high->page->opaque_submitted;
	hd_run(d);
	assert_int_equal(low->page->hold, 0);
	assert_int_equal(low->page->allowed, low->page->opaque_submitted + WIRE_FAR_AHEAD);
}

static void held_back(void **state)
{
	/* These include the points where the launch numbers, and their differences, wrap around. */
	uint32_t starts[] = {0, 0x3ffffffc, 0x7ffffffc, 0xbffffffc, UINT32_MAX - 3};

	for (unsigned i = 0; i < ARRAY_LEN(starts); i++) {
		struct hd *d = make(NULL);
		struct fake low = join(d, 0, false), high;

		assert_int_equal(low.page->allowed, WIRE_FAR_AHEAD);
		low.page->opaque_submitted = low.page->opaque_completed = starts[i];
		low.page->allowed = starts[i] + WIRE_FAR_AHEAD;
		high = join(d, 2, false);
		assert_int_equal(may_pass(&low), 2);
		goes_on(d, &low, 3, 4);
		assert_int_equal(may_pass(&low), 2);
		hold(d, &low, &high);
		assert_int_equal(may_pass(&low), 0);
		goes_on(d, &low, 1, 3); /* the launch was in flight */
		assert_int_equal(may_pass(&low), 0);
		release(d, &low, &high);
		assert_int_equal(may_pass(&low), 2);
		/* If launches of the tenant ended since the last hold, no launch may begin during
		 * the next one. */
		for (int round = 0; round < 3; round++) {
			goes_on(d, &low, 1, 3);
			hold(d, &low, &high);
			assert_int_equal(may_pass(&low), 0);
			release(d, &low, &high);
		}
		assert_int_equal(may_pass(&high), 2);
		leave(d, &high);
		leave(d, &low);
		hd_destroy(d);
	}
}

/* If no launch ends between two holds, the tenant may begin one launch in each hold, so that it
 * does not starve. */
static void not_starved(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);

	goes_on(d, &low, UINT32_MAX - 4, 3); /* the numbers wrap around */
	hold(d, &low, &high);
	assert_int_equal(may_pass(&low), 0);
	release(d, &low, &high);
	for (int round = 0; round < 8; round++) {
		hold(d, &low, &high);
		assert_int_equal(low.page->allowed, low.page->opaque_completed + 1);
		assert_int_equal(may_pass(&low), 1);
		goes_on(d, &low, 1, 3);
		assert_int_equal(may_pass(&low), 0); /* each hold lets only one launch begin */
		release(d, &low, &high);
		/* The launch that ended during the last hold counts as progress, so the next hold
		 * lets none begin. */
		hold(d, &low, &high);
		assert_int_equal(may_pass(&low), 0);
		release(d, &low, &high);
	}
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* A tenant with nothing in flight when the hold begins cannot starve. The launches that it submits
 * during the hold wait. */
static void nothing_to_starve(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);

	hold(d, &low, &high);
	goes_on(d, &low, 0, 1);
	assert_int_equal(may_pass(&low), 0);
	release(d, &low, &high);
	goes_on(d, &low, 1, 4);
	goes_on(d, &low, 4, 0);
	for (int round = 0; round < 4; round++) {
		hold(d, &low, &high);
		release(d, &low, &high);
		hold(d, &low, &high);
		goes_on(d, &low, 0, 1);
		assert_int_equal(may_pass(&low), 0);
		release(d, &low, &high);
		goes_on(d, &low, 1, 0);
	}
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

static bool far_ahead(const struct fake *f)
{
	uint32_t ahead = f->page->allowed - f->page->opaque_submitted;

	return ahead >= WIRE_FAR_AHEAD / 2 && ahead <= WIRE_FAR_AHEAD;
}

static void renewed(void **state)
{
	const uint32_t steps[] = {1u << 24, WIRE_FAR_AHEAD / 4, WIRE_FAR_AHEAD / 2};
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);

	for (unsigned i = 0; i < ARRAY_LEN(steps); i++) {
		for (uint64_t sum = 0; sum < 3ull << 32; sum += steps[i]) {
			/* A kick renews the limit on launches that may begin. */
			goes_on(d, &low, steps[i], 0);
			assert_true(far_ahead(&low));
			assert_true(far_ahead(&high));
		}
	}
	/* The limit is also renewed without a kick, while some launches are in flight. */
	goes_on(d, &low, 0, 1);
	for (unsigned i = 0; i < 8; i++) {
		low.page->opaque_completed += WIRE_FAR_AHEAD / 2;
		low.page->opaque_submitted = low.page->opaque_completed + 1;
		now += MS;
		hd_run(d);
		assert_true(far_ahead(&low));
	}
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* A tenant that is alone submits launches without telling the daemon. When another tenant joins,
 * the daemon reads their number and renews the limit. */
static void renewed_for_company(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high;

	low.page->opaque_submitted = low.page->opaque_completed = WIRE_FAR_AHEAD + 5;
	hd_run(d);
	assert_int_equal(low.page->allowed, WIRE_FAR_AHEAD);
	high = join(d, 2, false);
	assert_true(far_ahead(&low));
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* While a tenant is held, the daemon does not renew its limit. */
static void not_renewed_while_held(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false), other;
	uint32_t word;

	goes_on(d, &low, 5, 2);
	hold(d, &low, &high);
	word = low.page->allowed;
	for (unsigned i = 0; i < 100; i++) {
		low.page->opaque_submitted++;
		hd_kicked(d, low.t);
		now += 100 * US;
		hd_run(d);
		assert_int_equal(low.page->allowed, word);
	}
	other = join(d, 0, false);
	assert_int_equal(low.page->allowed, word);
	leave(d, &other);
	assert_int_equal(low.page->allowed, word);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* ---- a word whose value is the same on all SMs ---- */

static void assert_told(uint64_t word, uint32_t seq, uint32_t same)
{
	/* The relay reads both halves of the word in one load. */
	assert_int_equal((uint32_t)word, seq);
	assert_int_equal(word >> 32, same);
}

static void same_on_all_sms(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);
	struct wire_slot *l = submit(d, &low, 0, 800), *h;
	uint32_t seq;

	hd_run(d);
	arrive(low.page, l);
	hd_run(d);
	assert_told(low.page->begin.word, 0, 0); /* no word was stored */
	seq = l->host.seq;
	h = submit(d, &high, 0, 400);
	hd_run(d);
	assert_int_equal(allowed(l), 0);
	assert_told(l->host.word, seq + 1, 1);
	assert_int_equal(low.page->begin.quota[CTL_MAX_SMS - 1], 0);
	assert_told(low.page->begin.word, low.t->begin, 1);
	assert_int_not_equal(low.page->begin.seq, 0);
	arrive(high.page, h);
	drain(l);
	hd_run(d);
	finish(h);
	hd_run(d);
	assert_int_equal(l->host.quota[0], CTL_NO_QUOTA);
	assert_told(l->host.word, seq + 2, 1 + CTL_NO_QUOTA);
	assert_told(low.page->begin.word, 0, 1 + CTL_NO_QUOTA);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

static void not_the_same(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, true), high = join(d, 2, true);
	struct wire_slot *l = submit(d, &low, 0, 800), *h;
	uint32_t seq;

	hd_run(d);
	arrive(low.page, l);
	hd_run(d);
	seq = l->host.seq;
	h = submit(d, &high, 1, 2);
	hd_run(d);
	assert_int_equal(allowed(l), 2);
	assert_told(l->host.word, seq + 1, 0);
	assert_told(low.page->begin.word, low.t->begin, 0);
	assert_int_not_equal(low.page->begin.seq, 0);
	run_through(d, &high, h);
	assert_int_equal(allowed(l), 4);
	assert_told(l->host.word, seq + 2, 1 + CTL_NO_QUOTA);
	assert_told(low.page->begin.word, 0, 1 + CTL_NO_QUOTA);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

/* A quota that differs from the others is noticed on every SM. */
static void any_differs(void **state)
{
	struct ctl_tenant b = {0};
	uint8_t quota[CTL_MAX_SMS];

	for (unsigned i = 0; i <= CTL_MAX_SMS; i++) {
		memset(quota, CTL_NO_QUOTA, sizeof(quota));
		if (i < CTL_MAX_SMS)
			quota[i] = 3;
		ctl_tell(b.quota, &b.word, i + 1, quota);
		assert_told(b.word, i + 1, i < CTL_MAX_SMS ? 0 : 1 + CTL_NO_QUOTA);
		assert_memory_equal(b.quota, quota, sizeof(quota));
	}
}

/* ---- copies ---- */

/* Returns the time in ns from the end of the high-priority work to the release of the lower tenant.
 * copies: the high-priority tenant has copied just before that end. further: the time in ns after
 * that end when it copies again, or 0. */
static uint64_t released_after(
	struct hd *d, struct fake *low, struct fake *high, bool copies, uint64_t further)
{
	uint64_t idle;

	hold(d, low, high);
	now += 50 * US;
	idle = now;
	if (copies)
		high->page->copied_ns = high->page->last_copy_ns = now - 5 * US;
	high->page->opaque_completed = high->page->opaque_waited = high->page->opaque_submitted;
	hd_run(d);
	for (; low->page->hold && now < idle + MS; now += US) {
		if (further && now == idle + further)
			high->page->last_copy_ns = now;
		assert_true(hd_run(d) <= 30 * US || !low->page->hold);
	}
	return now > idle ? now - US - idle : 0;
}

/* After two rounds with a copy at the end of the work, the daemon expects further copies: it
 * releases the lower tenant only 30 us after the last copy. After twenty rounds without a copy it
 * releases the tenant at once again. */
static void copies_are_heard_of(void **state)
{
	struct hd *d = make(NULL);
	struct fake low = join(d, 0, false), high = join(d, 2, false);

	goes_on(d, &low, 0, 1);
	for (int round = 0; round < 2; round++)
		assert_int_equal(released_after(d, &low, &high, true, 0), 0);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(released_after(d, &low, &high, true, 0), 30 * US);
		assert_int_equal(released_after(d, &low, &high, true, 20 * US), 50 * US);
	}
	for (int round = 0; round < 20; round++)
		released_after(d, &low, &high, false, 0);
	assert_int_equal(released_after(d, &low, &high, false, 0), 0);
	leave(d, &high);
	leave(d, &low);
	hd_destroy(d);
}

static void copies_elsewhere(void **state)
{
	for (int cpu = 0; cpu < 2; cpu++) {
		struct hd *d = make(cpu ? NULL : with_mps);
		struct fake low = join(d, 0, cpu), high = join(d, 2, cpu);

		goes_on(d, &low, 0, 1);
		for (int round = 0; round < 6; round++)
			assert_int_equal(released_after(d, &low, &high, true, 0), 0);
		leave(d, &high);
		leave(d, &low);
		hd_destroy(d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(for_those_below),
		cmocka_unit_test(for_one_device),
		cmocka_unit_test(where_turns_are_taken),
		cmocka_unit_test(held_back),
		cmocka_unit_test(not_starved),
		cmocka_unit_test(nothing_to_starve),
		cmocka_unit_test(renewed),
		cmocka_unit_test(renewed_for_company),
		cmocka_unit_test(not_renewed_while_held),
		cmocka_unit_test(same_on_all_sms),
		cmocka_unit_test(not_the_same),
		cmocka_unit_test(any_differs),
		cmocka_unit_test(copies_are_heard_of),
		cmocka_unit_test(copies_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
