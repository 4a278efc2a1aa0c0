/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests when the shim gives up a silent daemon, with made-up times. */
#include "host/silence.h"
#include "unit.h"

/* Checks every `every` ms whether to give up a daemon whose last sign of life was at 1000 ms.
 * Returns the time until that, or `end`. */
static uint32_t given_up(struct silence *s, uint32_t from, uint32_t every, uint32_t end)
{
	uint32_t now = from;

	while (now < from + end && !silence_too_long(s, 1000, now, true))
		now += every;
	return now - from;
}

static void stuck(void **state)
{
	struct silence often = {0}, seldom = {0};

	assert_in_range(given_up(&often, 1000, 20, 5000), SILENCE_MS, SILENCE_MS + 40);
	assert_in_range(given_up(&seldom, 1000, 200, 5000), SILENCE_MS, SILENCE_MS + 400);
}

static void talks(void **state)
{
	struct silence s = {0};

	for (uint32_t now = 1; now < 10000; now += 20)
		assert_false(silence_too_long(&s, now - now % 200 + 1, now, true));
}

/* While no launch waits, the daemon may be silent. Its silence counts from the time when a launch
 * waits. */
static void idle(void **state)
{
	struct silence s = {0};

	for (uint32_t now = 1000; now < 20000; now += 200)
		assert_false(silence_too_long(&s, 1000, now, false));
	assert_in_range(given_up(&s, 20000, 100, 5000), SILENCE_MS - 200, SILENCE_MS + 200);
}

/* Both the checking process and the daemon were stopped for seconds. When they continue, the daemon
 * must get time to answer. */
static void both_stood_still(void **state)
{
	struct silence s = {0};

	assert_false(silence_too_long(&s, 1000, 1000, true));
	assert_false(silence_too_long(&s, 1000, 9000, true));
	assert_false(silence_too_long(&s, 1000, 9400, true));
	assert_false(silence_too_long(&s, 9500, 9600, true));
	assert_int_equal(s.ms, 0);
	assert_false(silence_too_long(&s, 9500, UINT32_MAX, true));
	assert_false(silence_too_long(&s, 9500, 100, true)); /* the 32-bit clock wraps around */
	assert_int_equal(s.ms, SILENCE_LOOK_MS + 101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stuck),
		cmocka_unit_test(talks),
		cmocka_unit_test(idle),
		cmocka_unit_test(both_stood_still),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
