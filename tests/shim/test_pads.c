/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests by how much shared memory heddle limits a guard grid to a number of blocks per SM, on
 * devices with made-up occupancy, and which quotas such a grid supports. */
#include "unit.h"

#include "shim/form/form.h"
#include "shim/form/padding.h"

#include <string.h>

#define KIB 1024u

struct cu_api cu;
static struct session session;

/* The limits of a simulated SM, and how its driver behaves. */
static struct {
	int shared, reserved, unit, most_of_block, by_threads;
	int limit, fixed; /* the function's dynamic (limit) and static (fixed) shared memory */
	bool refuses;     /* does not raise the limit */
	bool by_two;      /* blocks are allocated in pairs */
} sm;
static struct form form;

static CUresult occupancy(int *blocks, CUfunction fn, int threads, size_t shared)
{
	int bytes = ((int)shared + sm.fixed + sm.reserved + sm.unit - 1) / sm.unit * sm.unit;
	int n = MIN(sm.by_threads, sm.shared / bytes);

	(void)fn;
	(void)threads;
	*blocks = (int)shared > sm.limit ? 0 : sm.by_two ? n / 2 * 2 : n;
	return CUDA_SUCCESS;
}

static CUresult get(int *value, CUfunction_attribute which, CUfunction fn)
{
	(void)fn;
	*value = which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES ? sm.fixed : sm.limit;
	return CUDA_SUCCESS;
}

static CUresult set(CUfunction fn, CUfunction_attribute which, int value)
{
	(void)fn;
	assert_int_equal(which, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
	assert_true(value + sm.fixed <= sm.most_of_block);
	if (sm.refuses)
		return CUDA_ERROR_INVALID_VALUE;
	sm.limit = value;
	return CUDA_SUCCESS;
}

static CUresult device_get(int *value, CUdevice_attribute which, CUdevice device)
{
	(void)device;
	assert_int_equal(which, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
	*value = sm.most_of_block;
	return CUDA_SUCCESS;
}

/* Sets the limits of an H100. */
static int begin(void **state)
{
	(void)state;
	sm.shared = 228 * KIB;
	sm.reserved = KIB;
	sm.unit = 128;
	sm.most_of_block = 227 * KIB;
	sm.by_threads = 16;
	sm.limit = 48 * KIB;
	sm.fixed = 128;
	sm.refuses = sm.by_two = false;
	form = (struct form){0};
	cu.cuOccupancyMaxActiveBlocksPerMultiprocessor = occupancy;
	cu.cuFuncGetAttribute = get;
	cu.cuFuncSetAttribute = set;
	cu.cuDeviceGetAttribute = device_get;
	return 0;
}

static uint32_t blocks_with(uint32_t shared)
{
	int n;

	occupancy(&n, NULL, 128, shared);
	return (uint32_t)n;
}

/* Each offered count must be the number of blocks that fit with its shared memory, and 128 bytes
 * less must let more fit. */
static void check(const struct pads *p, uint32_t shared)
{
	for (uint32_t n = 1; n <= PADS_MAX; n++) {
		if (!(p->counts >> n & 1))
			continue;
		assert_int_equal(blocks_with(p->shared[n]), n);
		assert_true(p->shared[n] > shared);
		assert_true(blocks_with(p->shared[n] - 128) > n);
	}
}

static void all_counts(void **state)
{
	static const uint32_t given[] = {0, 100, 4000, 10 * KIB};
	struct pads p;

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		pads_find(&session, &form, 128, given[i], &p);
		assert_int_equal(p.fit, 16);
		assert_int_equal(p.counts, 0xfffe);
		check(&p, given[i]);
	}
	/* An SM holds 32 blocks. */
	sm.by_threads = 32;
	pads_find(&session, &form, 32, 0, &p);
	assert_int_equal(p.counts, 0xfffffffeu);
	check(&p, 0);
	/* Each block uses 100 KiB itself, so two fit. */
	pads_find(&session, &form, 128, 100 * KIB, &p);
	assert_int_equal(p.fit, 2);
	assert_int_equal(p.counts, 2);
	check(&p, 100 * KIB);
}

static void some_counts(void **state)
{
	struct pads p;

	/* A block can have only 48 KiB, of which four fit, so smaller counts are not possible. */
	sm.refuses = true;
	pads_find(&session, &form, 128, 0, &p);
	assert_int_equal(p.counts, 0xfff0);
	check(&p, 0);
	begin(state);
	sm.by_two = true;
	pads_find(&session, &form, 128, 0, &p);
	assert_int_equal(p.counts, 0x5554);
	begin(state);
	sm.by_threads = 1;
	pads_find(&session, &form, 1024, 0, &p);
	assert_int_equal(p.counts, 0);
}

static void expect(const struct pads *p, uint32_t quota, uint32_t n, uint32_t least, uint32_t most)
{
	struct ctl_args args = {0};

	assert_int_equal(pads_choose(p, quota, &args), n);
	assert_int_equal(args.least, least);
	assert_int_equal(args.least + args.more, most);
}

/* 8 blocks of the grid fit on an SM; it can also be limited to 2, 3, 4 or 6. */
static void quotas(void **state)
{
	struct pads p = {.counts = 0x5c, .fit = 8}, none = {.fit = 8};
	uint8_t q[CTL_MAX_SMS];

	expect(&p, 1, 2, 1, 2);
	expect(&p, 2, 2, 1, 2);
	expect(&p, 3, 3, 3, 3);
	expect(&p, 4, 4, 4, 5);
	expect(&p, 5, 4, 4, 5);
	expect(&p, 6, 6, 6, 7);
	expect(&p, 7, 6, 6, 7);
	expect(&p, 8, 0, 8, CTL_NO_QUOTA);
	expect(&p, CTL_NO_QUOTA, 0, 8, CTL_NO_QUOTA);
	expect(&none, 3, 0, 1, CTL_NO_QUOTA);
	memset(q, 0, sizeof(q));
	assert_int_equal(pads_least(q, 4), 0);
	q[1] = 7;
	q[2] = 3;
	q[4] = 1; /* an SM that the device lacks */
	assert_int_equal(pads_least(q, 4), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_counts, begin),
		cmocka_unit_test_setup(some_counts, begin),
		cmocka_unit_test(quotas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
