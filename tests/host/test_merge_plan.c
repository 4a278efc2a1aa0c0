/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests how the workers of a merged launch are divided among its kernels, and which plans are
 * refused. */
#include "unit.h"

#include "host/merged.h"

#include <string.h>

#define SMS        10
#define OWN_PER_SM 16 /* workers per SM of a kernel's own launch */

static struct host_merge_shape shapes[3];
static struct pass_merged form;

static void blocks(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t n[] = {a, b, c};

	memset(&form, 0, sizeof(form));
	for (unsigned k = 0; k < 3; k++)
		shapes[k] = (struct host_merge_shape){
			{.grid = {n[k], 1, 1}, .block = {32, 1, 1}}, true};
}

static enum host_merge_status plan_of(const struct host_merging *merging, unsigned n,
	uint32_t per_sm, struct host_merge_plan *ret, unsigned *ret_which)
{
	uint64_t needed;

	struct host_merge_part all = {.form = &form, .per_sm = per_sm}, own[3];

	for (unsigned k = 0; k < 3; k++)
		own[k] = (struct host_merge_part){.form = &form, .per_sm = OWN_PER_SM};
	return host_merge_plan(merging, &all, own, n, shapes, SMS, ret, ret_which, &needed);
}

/* Counts each kernel's workers by the formula that the device uses (merge.h). */
static void count_kinds(const struct host_merge_plan *p, unsigned n, uint32_t count[3])
{
	memset(count, 0, 3 * sizeof(*count));
	for (uint32_t w = 0; w < p->workers; w++) {
		uint32_t i = w * p->merge.stride % p->workers % p->merge.upto[n - 1];
		unsigned k = 0;

		while (i >= p->merge.upto[k])
			k++;
		assert_true(k < n);
		count[k]++;
	}
}

static void workers(void **state)
{
	struct host_merging merging = {.order = CTL_STEAL};
	struct host_merge_plan p;
	unsigned which;

	blocks(1000, 1000, 0);
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.workers, 40);
	blocks(7, 8, 0);
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.workers, 15);
	merging.workers_per_sm = 1;
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.workers, 10);
	merging.workers = 3;
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.workers, 3);
	/* With the order "apart", SMs are divided, so there are workers for every place of the
	 * device. */
	merging = (struct host_merging){.order = CTL_APART, .share = {1, 1}};
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.workers, 40);
}

static void partitions(void **state)
{
	static const struct {
		uint32_t share[3], workers, count[3];
	} cases[] = {
		{{1, 1, 1}, 9, {3, 3, 3}},
		{{1, 3, 0}, 40, {10, 30, 0}},
		{{1, 3, 0}, 10, {3, 7, 0}}, /* 2.5 and 7.5: the first kernel is rounded up */
		{{1, 39, 0}, 40, {1, 39, 0}},
		{{1, 1000000, 0}, 40, {1, 39, 0}},
		{{1000000, 1, 1}, 40, {38, 1, 1}},
		{{3, 13, 0}, 16, {3, 13, 0}},
		{{1, 1, 1}, 40, {14, 13, 13}},
		{{5, 3, 1}, 3, {1, 1, 1}},
		{{7, 5, 0}, 12, {7, 5, 0}},
	};

	blocks(1000, 1000, 1000);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct host_merging merging = {.order = CTL_PARTITION, .workers = cases[i].workers};
		unsigned n = cases[i].share[2] ? 3 : 2, which;
		struct host_merge_plan p;
		uint32_t count[3];

		memcpy(merging.share, cases[i].share, sizeof(cases[i].share));
		assert_int_equal(plan_of(&merging, n, 4, &p, &which), HOST_MERGE_OK);
		assert_int_equal(p.workers, cases[i].workers);
		count_kinds(&p, n, count);
		assert_memory_equal(count, cases[i].count, sizeof(count));
	}
}

/* The hardware places workers in the order of their numbers. So in any range of consecutive
 * workers, each kernel must have about its share. */
static void neighbours(void **state)
{
	struct host_merging merging = {.order = CTL_PARTITION, .share = {1, 3}};
	struct host_merge_plan p;
	unsigned which;

	blocks(1000, 1000, 0);
	assert_int_equal(plan_of(&merging, 2, 12, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.workers, 120);
	for (uint32_t first = 0; first + 16 <= p.workers; first++) {
		unsigned n = 0;

		for (uint32_t w = first; w < first + 16; w++)
			n += w * p.merge.stride % p.workers < p.merge.upto[0];
		assert_in_range(n, 2, 6);
	}
}

static void by_sm(void **state)
{
	struct host_merging merging = {.order = CTL_APART, .share = {1, 4}};
	struct host_merge_plan p;
	unsigned which;

	blocks(1000, 1000, 1000);
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.merge.upto[0], 2); /* SMs 0 and 1 of ten */
	assert_int_equal(p.merge.upto[1], 10);
	/* the pattern 1:4 needs five workers per SM, and there are four */
	merging.order = CTL_MIXED;
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.merge.upto[0], 1);
	assert_int_equal(p.merge.upto[1], 4);
	merging.share[0] = 20;
	merging.share[1] = 60;
	assert_int_equal(plan_of(&merging, 2, 16, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.merge.upto[0], 1); /* 1 to 3, over and over */
	assert_int_equal(p.merge.upto[1], 4);
}

static void too_few(void **state)
{
	struct host_merging merging = {.order = CTL_PARTITION, .share = {1, 1, 1}, .workers = 2};
	struct host_merge_plan p;
	unsigned which = 9;

	blocks(1000, 1000, 1000);
	assert_int_equal(plan_of(&merging, 3, 4, &p, &which), HOST_MERGE_NO_WORKER);
	assert_int_equal(which, 2);
	merging.help_others = true;
	assert_int_equal(plan_of(&merging, 3, 4, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.merge.upto[2], 2);
	merging = (struct host_merging){.order = CTL_MIXED, .share = {1, 1}};
	assert_int_equal(plan_of(&merging, 2, 1, &p, &which), HOST_MERGE_NO_WORKER);
	assert_int_equal(plan_of(&merging, 2, 2, &p, &which), HOST_MERGE_OK);
}

/* If a kernel's blocks may all wait for each other, all of them must be resident at once. */
static void together(void **state)
{
	struct host_merging merging = {.order = CTL_STEAL, .yield_every = 3};
	struct host_merge_plan p;
	unsigned which = 9;

	blocks(1000, 30, 10);
	form.of[1].rising_order = form.of[2].rising_order = true;
	assert_int_equal(plan_of(&merging, 3, 4, &p, &which), HOST_MERGE_OK);
	assert_true(!p.together[0] && p.together[1] && p.together[2]);
	shapes[1].shape.grid[0] = 31;
	assert_int_equal(plan_of(&merging, 3, 4, &p, &which), HOST_MERGE_TOO_FEW);
	/* Not even a native launch can hold all these blocks at once, so a block can only wait for
	 * blocks with lower numbers. */
	shapes[1].fits = false;
	assert_int_equal(plan_of(&merging, 3, 4, &p, &which), HOST_MERGE_OK);
	assert_true(!p.together[1] && p.together[2]);
	merging.workers = 9;
	assert_int_equal(plan_of(&merging, 3, 4, &p, &which), HOST_MERGE_TOO_FEW);
	assert_int_equal(which, 2);
	merging = (struct host_merging){.order = CTL_APART, .share = {1, 1, 1}};
	assert_int_equal(plan_of(&merging, 3, 4, &p, &which), HOST_MERGE_ORDER);
	assert_int_equal(which, 2);
	shapes[2].shape.grid[0] = 1; /* no block to wait for */
	assert_int_equal(plan_of(&merging, 3, 4, &p, &which), HOST_MERGE_OK);
}

/* Plans in which some kernels have their own launches, and the workers that remain in the merged
 * launch. */
static void own(void **state)
{
	struct host_merging merging = {.order = CTL_STEAL, .own = 2, .share = {1, 3}};
	struct host_merge_plan p;
	unsigned which = 9;

	blocks(1000, 1000, 1000);
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_OK);
	/* half of the places, because one of two kernels remains in the merged launch */
	assert_int_equal(p.workers, 20);
	assert_int_equal(p.own[0].workers, 0);
	assert_int_equal(p.own[1].workers, OWN_PER_SM * SMS);
	merging.workers_per_sm = 3;
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.workers, 30);
	merging.workers_per_sm = 0;
	merging.order = CTL_MIXED; /* the first of every four workers stays in the merged launch */
	assert_int_equal(plan_of(&merging, 2, 8, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.workers, 20);
	assert_true(p.merge.upto[0] && p.merge.upto[1] == p.merge.upto[0]);
	assert_int_equal(p.merge.of, p.merge.upto[0]);
	assert_int_equal(plan_of(&merging, 2, 1, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.workers, 10); /* at least one per SM */
	merging.order = CTL_PARTITION;
	assert_int_equal(plan_of(&merging, 2, 8, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.workers, 20);
	assert_int_equal(p.merge.upto[1], 20);
	/* SMs 0 and 1 belong to the first kernel. On the other SMs, workers of the merged launch
	 * leave at once. */
	merging = (struct host_merging){.order = CTL_APART, .own = 2, .share = {1, 4}};
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_OK);
	assert_int_equal(p.workers, 40);
	assert_true(p.merge.upto[0] == 2 && p.merge.upto[1] == 2 && p.merge.of == SMS);
	for (uint32_t sm = 0; sm < SMS; sm++)
		assert_true(
			((sm + p.own[1].merge.shift) % SMS < p.own[1].merge.upto[0]) == (sm >= 2));
	merging.help_others = true;
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_NO_HELP);
	assert_int_equal(which, 1);
	/* Blocks that may all wait for each other must come from one launch. */
	merging = (struct host_merging){.order = CTL_STEAL, .own = 2};
	blocks(1000, 10, 10);
	form.of[1].rising_order = true;
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_ORDER);
	merging.own = 1;
	assert_int_equal(plan_of(&merging, 2, 4, &p, &which), HOST_MERGE_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers),
		cmocka_unit_test(partitions),
		cmocka_unit_test(neighbours),
		cmocka_unit_test(by_sm),
		cmocka_unit_test(too_few),
		cmocka_unit_test(together),
		cmocka_unit_test(own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
