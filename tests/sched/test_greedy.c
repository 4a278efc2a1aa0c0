/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Policy greedy by views made here: its plan against the best of all plans, tried one by one. */
#include "unit.h"

#include <string.h>

#include "sched/planner.h"
#include "sched/policy.h"

#define SMS     4u
#define KERNELS 3u
#define MS      1000000ull

struct world {
	struct heddle_policy_device device;
	struct heddle_policy_kernel kernel[KERNELS];
	struct heddle_policy_tenant tenant[KERNELS];
	struct heddle_policy_view view;
	struct heddle_policy_plan plan;
	uint8_t quota[KERNELS * SMS], held[KERNELS];
};

/* n kernels of a tenant each, of 256 threads, 8 blocks on an SM, 1000 blocks; nothing is known. */
static void make(struct world *w, unsigned n)
{
	*w = (struct world){.device = {.size = sizeof(w->device),
				    .n_sms = SMS,
				    .threads_per_sm = 2048,
				    .blocks_per_sm = 32,
				    .regs_per_sm = 65536,
				    .shared_per_sm = 228 << 10,
				    .simultaneous = 1}};
	for (unsigned i = 0; i < n; i++) {
		struct heddle_policy_kernel *k = &w->kernel[i];

		*k = (struct heddle_policy_kernel){.tenant_index = i,
			.order = i,
			.threads = 256,
			.regs = 16,
			.blocks_per_sm = 8,
			.blocks = 1000,
			.predicted_ns = HEDDLE_POLICY_UNKNOWN,
			.remaining_ns = HEDDLE_POLICY_UNKNOWN};
		for (unsigned c = 0; c < HEDDLE_POLICY_CURVE; c++)
			k->curve_ns[c] = HEDDLE_POLICY_UNKNOWN;
		w->tenant[i].id = i + 1;
	}
	w->view = (struct heddle_policy_view){.size = sizeof(w->view),
		.abi = HEDDLE_POLICY_ABI,
		.kernel_size = sizeof(w->kernel[0]),
		.tenant_size = sizeof(w->tenant[0]),
		.device = &w->device,
		.kernels = w->kernel,
		.tenants = w->tenant,
		.n_kernels = n,
		.n_tenants = n};
	w->plan = (struct heddle_policy_plan){
		.size = sizeof(w->plan), .quota = w->quota, .held = w->held};
}

/* The count that each kernel got; all SMs are alike. */
static void decide(struct world *w, uint32_t ret[KERNELS])
{
	memset(w->quota, 0, sizeof(w->quota));
	memset(w->held, 0, sizeof(w->held));
	w->plan.wake_ns = HEDDLE_POLICY_UNKNOWN;
	sched_policy_greedy.planner->policy->decide(NULL, &w->view, &w->plan);
	for (unsigned i = 0; i < w->view.n_kernels; i++) {
		const uint8_t *row = &w->quota[i * SMS];

		for (unsigned s = 1; s < SMS; s++)
			assert_int_equal(row[s], row[0]);
		ret[i] = row[0] == HEDDLE_POLICY_UNBOUNDED ? w->kernel[i].blocks_per_sm : row[0];
		assert_int_equal(w->held[i], 0);
	}
}

static uint64_t next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static void random_kernel(struct heddle_policy_kernel *k, uint64_t *seed)
{
	uint64_t ns = (1 + next(seed) % 1000) * MS;

	k->threads = 32u << next(seed) % 5;
	k->regs = 16 + (uint32_t)(next(seed) % 3) * 24;
	k->shared_bytes = (uint32_t)(next(seed) % 4) * 12000;
	k->blocks_per_sm = 2 + (uint32_t)(next(seed) % 7);
	k->finished = next(seed) % 900;
	/* Now and then a further block does not help, or harms. */
	for (unsigned c = 1; c <= k->blocks_per_sm; c++) {
		k->curve_ns[c] = ns;
		ns = ns * (60 + next(seed) % 50) / 100;
	}
}

static double remaining(const struct heddle_policy_kernel *k, uint32_t count)
{
	return (double)k->curve_ns[count] * (double)(k->blocks - k->finished) / (double)k->blocks;
}

static bool fits(const struct world *w, const uint32_t count[KERNELS])
{
	uint64_t threads = 0, blocks = 0, regs = 0, shared = 0;

	for (unsigned i = 0; i < w->view.n_kernels; i++) {
		const struct heddle_policy_kernel *k = &w->kernel[i];

		threads += (uint64_t)count[i] * k->threads;
		blocks += count[i];
		regs += (uint64_t)count[i] * k->threads * k->regs;
		shared += (uint64_t)count[i] * k->shared_bytes;
	}
	return threads <= w->device.threads_per_sm && blocks <= w->device.blocks_per_sm &&
	       regs <= w->device.regs_per_sm && shared <= w->device.shared_per_sm;
}

static double longest(const struct world *w, const uint32_t count[KERNELS])
{
	double most = 0;

	for (unsigned i = 0; i < w->view.n_kernels; i++)
		most = MAX(most, remaining(&w->kernel[i], count[i]));
	return most;
}

/* The least that the longest can take, over all plans that fit; below 0: none does. */
static double best(const struct world *w)
{
	double least = -1;
	uint32_t c[KERNELS];

	for (c[0] = 1; c[0] <= w->kernel[0].blocks_per_sm; c[0]++)
		for (c[1] = 1; c[1] <= w->kernel[1].blocks_per_sm; c[1]++)
			for (c[2] = 1; c[2] <= w->kernel[2].blocks_per_sm; c[2]++)
				if (fits(w, c) && (least < 0 || longest(w, c) < least))
					least = longest(w, c);
	return least;
}

static void as_good_as_the_best(void **state)
{
	unsigned n = 0, shared = 0;
	uint64_t seed = 7;

	for (unsigned k = 0; k < 2000; k++) {
		uint32_t got[KERNELS];
		struct world w;

		make(&w, KERNELS);
		for (unsigned i = 0; i < KERNELS; i++)
			random_kernel(&w.kernel[i], &seed);
		decide(&w, got);
		if (best(&w) < 0) {
			for (unsigned i = 0; i < KERNELS; i++)
				assert_int_equal(got[i], 1);
			continue;
		}
		assert_true(fits(&w, got));
		assert_true(longest(&w, got) <= best(&w) * 1.0000001);
		shared += got[0] < w.kernel[0].blocks_per_sm || got[1] < w.kernel[1].blocks_per_sm;
		n++;
	}
	assert_true(n > 1000 && shared > 500); /* it was about something */
}

/* Nothing is left that somebody could use. */
static void nothing_is_wasted(void **state)
{
	uint64_t seed = 11;

	for (unsigned k = 0; k < 500; k++) {
		uint32_t got[KERNELS], more[KERNELS];
		struct world w;

		make(&w, KERNELS);
		for (unsigned i = 0; i < KERNELS; i++)
			random_kernel(&w.kernel[i], &seed);
		decide(&w, got);
		if (best(&w) < 0)
			continue;
		for (unsigned i = 0; i < KERNELS; i++) {
			memcpy(more, got, sizeof(more));
			/* The next count at which it is faster. */
			for (more[i]++; more[i] <= w.kernel[i].blocks_per_sm &&
					remaining(&w.kernel[i], more[i]) >=
						remaining(&w.kernel[i], got[i]);)
				more[i]++;
			assert_true(more[i] > w.kernel[i].blocks_per_sm || !fits(&w, more));
		}
	}
}

static void unknown(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	make(&w, 2); /* each would fill an SM */
	decide(&w, got);
	assert_int_equal(got[0] + got[1], 8);
	assert_true(got[0] >= 1 && got[1] >= 1);
	/* Of one the whole is predicted: the unknown one may take longer. */
	w.kernel[1].predicted_ns = 5 * MS;
	decide(&w, got);
	assert_true(got[0] == 7 && got[1] == 1);
	/* Three times as long: three times as many. */
	w.kernel[0].predicted_ns = 15 * MS;
	decide(&w, got);
	assert_true(got[0] == 6 && got[1] == 2);
}

static void alone(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	make(&w, 1);
	decide(&w, got);
	assert_int_equal(w.quota[0], HEDDLE_POLICY_UNBOUNDED);
}

/* Its last block has begun: the others share what there is, while it ends. */
static void last_block(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	make(&w, 2);
	w.kernel[0].started = 999;
	decide(&w, got);
	assert_true(got[1] < 8);
	w.kernel[0].started = 1000;
	decide(&w, got);
	assert_int_equal(w.quota[0], HEDDLE_POLICY_UNBOUNDED);
	assert_int_equal(w.quota[SMS], HEDDLE_POLICY_UNBOUNDED);
}

/* What is nearly through has no use for more. */
static void nearly_through(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	make(&w, 2);
	w.kernel[0].finished = 1000 - 2 * SMS;
	w.kernel[0].predicted_ns = 10000 * MS;
	w.kernel[1].predicted_ns = MS;
	decide(&w, got);
	assert_true(got[0] == 2 && got[1] == 6);
}

static void in_turns(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	make(&w, 3);
	w.device.simultaneous = 0;
	w.kernel[2].tenant_index = 0;
	decide(&w, got);
	assert_true(got[0] + got[2] == 8 && got[0] && got[2]);
	assert_int_equal(got[1], 0);
	/* A pool without work is in nobody's way. */
	w.kernel[0].idle = 1;
	decide(&w, got);
	assert_int_equal(got[1], 8);
	assert_int_equal(got[0] + got[2], 0);
}

/* It leaves by whole SMs alone: what there is beside it is for the others. */
static void unranked(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	make(&w, 2);
	w.kernel[0].unranked = 1;
	w.kernel[0].blocks_per_sm = 5;
	decide(&w, got);
	assert_int_equal(w.quota[0], HEDDLE_POLICY_UNBOUNDED);
	assert_int_equal(got[1], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_good_as_the_best),
		cmocka_unit_test(nothing_is_wasted),
		cmocka_unit_test(unknown),
		cmocka_unit_test(alone),
		cmocka_unit_test(last_block),
		cmocka_unit_test(nearly_through),
		cmocka_unit_test(in_turns),
		cmocka_unit_test(unranked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
