/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests policy split with made-up views: how many blocks each kernel may have on each SM. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "sched/policy/policy_split.c"

#define SMS     5u
#define KERNELS 3u
#define ALL     HEDDLE_POLICY_UNBOUNDED

static struct {
	struct heddle_policy_device device;
	struct heddle_policy_kernel kernel[KERNELS];
	struct heddle_policy_tenant tenant[KERNELS];
	struct heddle_policy_view view;
	uint8_t quota[KERNELS * SMS], held[KERNELS];
} w;

/* Kernel i belongs to tenant i and has 8 blocks per SM. */
static void make(unsigned n)
{
	memset(&w, 0, sizeof(w));
	w.device = (struct heddle_policy_device){
		.size = sizeof(w.device), .n_sms = SMS, .simultaneous = 1};
	for (unsigned i = 0; i < n; i++) {
		w.kernel[i] = (struct heddle_policy_kernel){
			.tenant_index = i, .order = i, .blocks_per_sm = 8, .blocks = 1000};
		w.tenant[i].priority = 1;
	}
	w.view = (struct heddle_policy_view){.size = sizeof(w.view),
		.kernel_size = sizeof(w.kernel[0]),
		.tenant_size = sizeof(w.tenant[0]),
		.device = &w.device,
		.kernels = w.kernel,
		.tenants = w.tenant,
		.n_kernels = n,
		.n_tenants = n};
}

static void decide(const char *options)
{
	const struct heddle_policy *policy = heddle_policy();
	struct heddle_policy_plan plan = {.size = sizeof(plan), .quota = w.quota, .held = w.held};
	void *state = policy->create(&w.device, options);

	assert_non_null(state);
	memset(w.quota, 0, sizeof(w.quota));
	policy->decide(state, &w.view, &plan);
	policy->destroy(state);
	for (unsigned i = 0; i < KERNELS; i++)
		assert_int_equal(w.held[i], 0);
}

static void has(unsigned kernel, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e)
{
	const uint8_t want[SMS] = {(uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d, (uint8_t)e};

	assert_memory_equal(w.quota + kernel * SMS, want, SMS);
}

static void whole_sms(void **state)
{
	make(2);
	w.tenant[1].priority = 2;
	decide("whole=40");
	has(1, ALL, ALL, 0, 0, 0);
	has(0, 0, 0, ALL, ALL, ALL);
	/* Each side has at least one SM. */
	decide("whole=1");
	has(1, ALL, 0, 0, 0, 0);
	decide("whole=99");
	has(0, 0, 0, 0, 0, ALL);
	decide("");
	has(1, ALL, ALL, ALL, 0, 0);
}

static void mixed_quotas(void **state)
{
	make(2);
	w.tenant[0].priority = 2;
	w.kernel[1].blocks_per_sm = 3;
	decide("mixed=75");
	has(0, 6, 2, 6, 2, 6);
	has(1, 1, 2, 1, 2, 1);
	w.kernel[0].blocks_per_sm = 32;
	decide("mixed=98");
	has(0, 31, 1, 31, 1, 31);
}

/* Among tenants of equal priority, the one whose launch came first forms the first side, with all
 * its launches. */
static void sides_of_equals(void **state)
{
	make(3);
	w.kernel[2].tenant_index = 0;
	decide("whole=40");
	has(0, ALL, ALL, 0, 0, 0);
	has(1, 0, 0, ALL, ALL, ALL);
	has(2, ALL, ALL, 0, 0, 0);
}

/* Without two kernels that can still use room, there are no sides, and no kernel is limited. */
static void one_side(void **state)
{
	make(1);
	decide("whole=40");
	has(0, ALL, ALL, ALL, ALL, ALL);
	make(2);
	w.kernel[0].started = 1000;
	decide("whole=40");
	has(0, ALL, ALL, ALL, ALL, ALL);
	has(1, ALL, ALL, ALL, ALL, ALL);
	make(2);
	w.kernel[1].kind = HEDDLE_POLICY_OPAQUE;
	decide("mixed=75");
	has(0, ALL, ALL, ALL, ALL, ALL);
	has(1, 0, 0, 0, 0, 0);
	make(2);
	w.device.simultaneous = 0;
	w.tenant[1].priority = 2;
	decide("whole=40");
	has(0, ALL, ALL, ALL, ALL, ALL);
	has(1, 0, 0, 0, 0, 0);
}

static void wrong_options(void **state)
{
	static const struct {
		const char *options, *why;
	} wrong[] = {
		{"halves", "policy split has no option 'halves'; there are whole=PERCENT and "
			   "mixed=PERCENT"},
		{"whole=0", "whole: '0' is not a whole number from 1 to 99"},
		{"whole=100", "whole: '100' is not a whole number from 1 to 99"},
		{"mixed=", "mixed: '' is not a whole number from 1 to 99"},
		{"mixed=7x", "mixed: '7x' is not a whole number from 1 to 99"},
		{"whole=-5", "whole: '-5' is not a whole number from 1 to 99"},
	};
	char why[160];

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_int_equal(
			heddle_policy()->check(wrong[i].options, why, sizeof(why)), -EINVAL);
		assert_string_equal(why, wrong[i].why);
	}
	assert_int_equal(heddle_policy()->check("", why, sizeof(why)), 0);
	assert_int_equal(heddle_policy()->check("mixed=99", why, sizeof(why)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(whole_sms),
		cmocka_unit_test(mixed_quotas), cmocka_unit_test(sides_of_equals),
		cmocka_unit_test(one_side), cmocka_unit_test(wrong_options)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
