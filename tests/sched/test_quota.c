/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares the functions of sched/engine/quota.h, which handle eight SMs at a time, with simple
 * versions for one SM at a time. */
#include "unit.h"

#include "sched/engine/quota.h"

#include <stdlib.h>

#define ROUNDS 5000

/* Returns random quotas of one of four kinds: all random, mostly one value, on few SMs only, or all
 * equal. */
static struct quota any_quota(unsigned round)
{
	uint8_t same = round % 3 ? CTL_NO_QUOTA : (uint8_t)rand();
	struct quota q;

	for (unsigned i = 0; i < CTL_MAX_SMS; i++) {
		bool other = round % 5 != 4 && rand() % (1 + (int)(round % 5) * 40) == 0;

		q.at[i] = other ? (uint8_t)(rand() % 3 ? rand() : 0) : same;
	}
	return q;
}

static void sets(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct quota q = any_quota(round), of;
		struct sms set = {0};
		uint32_t n = 0;

		for (unsigned i = 0; i < CTL_MAX_SMS; i++) {
			if (q.at[i])
				sms_add(&set, i);
		}
		of = quota_of(&set);
		for (unsigned i = 0; i < CTL_MAX_SMS; i++) {
			assert_int_equal(sms_has(&set, i), q.at[i] != 0);
			assert_int_equal(of.at[i], q.at[i] ? CTL_NO_QUOTA : 0);
			n += q.at[i] != 0;
		}
		assert_int_equal(quota_count(&q), n);
		assert_int_equal(quota_any(&q), n != 0);
	}
}

static void workers(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct quota q = any_quota(round);
		uint32_t per_sm = 1 + (uint32_t)rand() % 32, n = 0;

		for (unsigned i = 0; i < CTL_MAX_SMS; i++)
			n += MIN(q.at[i], per_sm);
		assert_int_equal(quota_workers(&q, per_sm), n);
	}
}

static void compares(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct quota a = any_quota(round), b = a;
		bool less = false, same = true;

		for (unsigned i = 0; i < round % 4; i++)
			b.at[rand() % CTL_MAX_SMS] = (uint8_t)rand();
		for (unsigned i = 0; i < CTL_MAX_SMS; i++) {
			less |= a.at[i] < b.at[i];
			same &= a.at[i] == b.at[i];
		}
		assert_int_equal(quota_less(&a, &b), less);
		assert_int_equal(quota_same(&a, &b), same);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets),
		cmocka_unit_test(workers),
		cmocka_unit_test(compares),
	};

	srand(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
