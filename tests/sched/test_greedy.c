/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests policy greedy with made-up views: compares its plan with the best of all plans, found by
 * trying them all. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "sched/engine/planner.h"
#include "sched/policy/policy.h"

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

/* n kernels of separate tenants: 256 threads, 8 blocks per SM, 1000 blocks, nothing known of their
 * times. */
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

/* Returns the count of each kernel; all SMs are alike. */
static void decide_with(struct world *w, const char *options, uint32_t ret[KERNELS])
{
	const struct heddle_policy *policy = sched_policy_greedy.table;
	void *state;

	memset(w->quota, 0, sizeof(w->quota));
	memset(w->held, 0, sizeof(w->held));
	w->plan.wake_ns = HEDDLE_POLICY_UNKNOWN;
	state = policy->create(&w->device, options);
	assert_non_null(state);
	policy->decide(state, &w->view, &w->plan);
	policy->destroy(state);
	for (unsigned i = 0; i < w->view.n_kernels; i++) {
		const uint8_t *row = &w->quota[i * SMS];

		for (unsigned s = 1; s < SMS; s++)
			assert_int_equal(row[s], row[0]);
		ret[i] = row[0] == HEDDLE_POLICY_UNBOUNDED ? w->kernel[i].blocks_per_sm : row[0];
		assert_int_equal(w->held[i], 0);
	}
}

static void decide(struct world *w, uint32_t ret[KERNELS])
{
	decide_with(w, "", ret);
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
	/* Sometimes a further block does not help, or even harms. */
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

/* Returns the shortest possible time of the longest kernel over all plans that fit; negative if
 * none fits. */
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
	assert_true(n > 1000 && shared > 500); /* the cases were not trivial */
}

/* No room is left that a kernel could use. */
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
			/* Raise the count until the kernel is faster. */
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

	make(&w, 2); /* each alone would fill an SM */
	decide(&w, got);
	assert_int_equal(got[0] + got[1], 8);
	assert_true(got[0] >= 1 && got[1] >= 1);
	/* One kernel's total time is predicted: the unknown one may take longer. */
	w.kernel[1].predicted_ns = 5 * MS;
	decide(&w, got);
	assert_true(got[0] == 7 && got[1] == 1);
	/* Three times the time gets three times the blocks. */
	w.kernel[0].predicted_ns = 15 * MS;
	decide(&w, got);
	assert_true(got[0] == 6 && got[1] == 2);
}

/* A curve with one point at any count: the other counts are assumed as fast per block. */
static void one_point(void **state)
{
	for (unsigned n = 1; n <= 8; n++) {
		uint32_t got[KERNELS];
		struct world w;

		make(&w, 2);
		w.kernel[0].curve_ns[n] = 8 * MS / n;
		w.kernel[1].curve_ns[9 - n] = 8 * MS / (9 - n);
		decide(&w, got);
		assert_true(got[0] == 4 && got[1] == 4);
		w.kernel[1].blocks_per_sm = 1; /* no other count is possible */
		w.kernel[1].threads = 2048;
		decide(&w, got);
		/* not enough room for both: the hardware queues */
		assert_true(got[0] == 1 && got[1] == 1);
	}
}

static void alone(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	make(&w, 1);
	decide(&w, got);
	assert_int_equal(w.quota[0], HEDDLE_POLICY_UNBOUNDED);
}

/* A kernel's last block has started: the others share everything while it ends. */
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

/* A kernel that is nearly done has no use for more blocks. */
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
	/* A pool without tasks takes nothing. */
	w.kernel[0].idle = 1;
	decide(&w, got);
	assert_int_equal(got[1], 8);
	assert_int_equal(got[0] + got[2], 0);
}

/* An unranked kernel can only leave whole SMs: the others get the room beside it. */
static void unranked(void **state)
{
	const uint8_t now[SMS] = {0};
	uint32_t got[KERNELS];
	struct world w;

	make(&w, 2);
	w.kernel[0].unranked = 1;
	w.kernel[0].blocks_per_sm = 5;
	w.kernel[0].quota = now;
	decide(&w, got);
	assert_int_equal(w.quota[0], HEDDLE_POLICY_UNBOUNDED);
	assert_int_equal(got[1], 3);
}

/* The first kernel has the guard form, supports counts 2 to 4 and 6, and currently has `now`. */
static void make_guard(struct world *w, unsigned n, uint8_t now)
{
	static uint8_t quota[SMS];

	make(w, n);
	memset(quota, now, sizeof(quota));
	w->kernel[0].unranked = 1;
	w->kernel[0].counts = 0x5c;
	w->kernel[0].quota = quota;
	w->kernel[0].cost_ns = MS;
}

/* Shared memory limits the guard kernel to 4 blocks and leaves enough for the other kernel. */
static void guard(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	make_guard(&w, 2, 0);
	decide(&w, got);
	assert_int_equal(got[0], 4);
	assert_int_equal(got[1], 4);
	w.kernel[1].shared_bytes = 20 << 10;
	decide(&w, got);
	assert_true(got[0] * (w.device.shared_per_sm / (got[0] + 1) + 1) + got[1] * (20 << 10) <=
		    w.device.shared_per_sm);
	w.kernel[1].shared_bytes = 0;
	/* 7 blocks would use the other half of the threads, but 7 is not available. */
	w.kernel[0].threads = 128;
	w.kernel[0].blocks_per_sm = 16;
	w.kernel[1].blocks_per_sm = 2;
	decide(&w, got);
	assert_int_equal(got[0], 6);
	assert_int_equal(got[1], 2);
	/* Two blocks are the smallest available count and all that fit, so there is no bound. */
	w.kernel[0].threads = 1024;
	w.kernel[0].blocks_per_sm = 2;
	w.kernel[1].blocks_per_sm = 8;
	decide(&w, got);
	assert_int_equal(w.quota[0], HEDDLE_POLICY_UNBOUNDED);
}

/* A new count must gain more than it costs. */
static void guard_keeps_count(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	for (unsigned gains = 0; gains < 2; gains++) {
		make_guard(&w, 2, 2);
		for (unsigned i = 0; i < 2; i++) {
			w.kernel[i].predicted_ns = 2 * MS;
			w.kernel[i].finished = gains ? 0 : 900;
		}
		decide(&w, got);
		assert_int_equal(got[0], gains ? 4 : 2);
		assert_int_equal(got[1], 4);
	}
	/* Alone it needs no bound, but removing the bound does not pay at the very end. */
	for (unsigned gains = 0; gains < 2; gains++) {
		make_guard(&w, 1, 4);
		w.kernel[0].predicted_ns = 100 * MS;
		w.kernel[0].finished = gains ? 0 : 995;
		decide(&w, got);
		assert_int_equal(got[0], gains ? 8 : 4);
	}
	/* The guard kernel has more than its share, so the kernel beside it does not fit. */
	make_guard(&w, 2, 6);
	w.kernel[0].predicted_ns = w.kernel[1].predicted_ns = 2 * MS;
	decide(&w, got);
	assert_int_equal(got[0], 4);
}

/* Shared memory cannot limit two kernels at once: each keeps its count. */
static void two_guards(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	uint8_t none[SMS] = {0};

	for (uint8_t now = 0; now < 5; now += 4) {
		make_guard(&w, 2, now);
		w.kernel[1].unranked = 1;
		w.kernel[1].counts = 0xfe;
		w.kernel[1].quota = none;
		decide(&w, got);
		assert_int_equal(w.quota[0], now ? now : HEDDLE_POLICY_UNBOUNDED);
		assert_int_equal(w.quota[SMS], HEDDLE_POLICY_UNBOUNDED);
	}
}

/* ---- the option pairs ---- */

/* time of a kernel beside another, in percent of its curve's time; 0: unknown */
static uint32_t slowed,
	slowed_by_second; /* like `slowed`, for pairs with the second kernel; 0: use `slowed` */

static int ask(const struct heddle_policy_plan *plan, const uint32_t kernel[2],
	const uint8_t quota[2], uint64_t ret_ns[2])
{
	const struct world *w = CONTAINER_OF(plan, const struct world, plan);
	bool second = slowed_by_second && (kernel[0] == 1 || kernel[1] == 1);
	uint32_t percent = second ? slowed_by_second : slowed;

	if (!percent)
		return -ENOENT;
	for (unsigned i = 0; i < 2; i++)
		ret_ns[i] = w->kernel[kernel[i]].curve_ns[quota[i]] * percent / 100;
	return 0;
}

/* n kernels that take 8 ms with all blocks, and also with four of them. */
static void make_pairs(struct world *w, unsigned n)
{
	make(w, n);
	w->plan.ask = ask;
	for (unsigned i = 0; i < n; i++) {
		for (unsigned c = 1; c <= 8; c++)
			w->kernel[i].curve_ns[c] = MAX(32 * MS / c, 8 * MS);
		w->kernel[i].cost_ns = MS / 10;
	}
}

static void decide_pairs(struct world *w, uint32_t percent, uint32_t ret[KERNELS])
{
	slowed = percent;
	decide_with(w, "pairs=on", ret);
}

static void together_if_it_pays(void **state)
{
	uint32_t got[KERNELS], plain[KERNELS];
	struct world w;

	make_pairs(&w, 2);
	decide(&w, plain);
	assert_true(plain[0] == 4 && plain[1] == 4);
	/* 8 ms each, 16 ms one after the other; together 8 ms to 14.8 ms. */
	for (uint32_t percent = 100; percent <= 185; percent += 17) {
		decide_pairs(&w, percent, got);
		assert_memory_equal(got, plain, 2 * sizeof(got[0]));
	}
	/* A gain of up to 5 %, or a loss, is not worth it: the second kernel gets no SM, the first
	 * all. */
	for (uint32_t percent = 192; percent <= 300; percent += 12) {
		decide_pairs(&w, percent, got);
		assert_int_equal(w.quota[0], HEDDLE_POLICY_UNBOUNDED);
		assert_int_equal(got[1], 0);
	}
	/* With an unknown ratio, or without a model, greedy decides as without the option. */
	decide_pairs(&w, 0, got);
	assert_memory_equal(got, plain, 2 * sizeof(got[0]));
	w.plan.ask = NULL;
	decide_pairs(&w, 300, got);
	assert_memory_equal(got, plain, 2 * sizeof(got[0]));
	make_pairs(&w, 2);
	w.kernel[1].tenant_index = 0; /* launches of one program always share */
	decide_pairs(&w, 300, got);
	assert_memory_equal(got, plain, 2 * sizeof(got[0]));
}

/* Only the remaining part counts. A has a tenth left, which takes 1.6 ms beside B; B completes 0.8
 * ms of its 8 ms meanwhile. 1.6 + 7.2 = 8.8 ms, the same as one after the other: no gain. */
static void what_is_left_counts(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	make_pairs(&w, 2);
	w.kernel[0].finished = w.kernel[0].started = 900;
	for (unsigned c = 1; c <= 8; c++)
		w.kernel[0].curve_ns[c] = 8 * MS; /* one block per SM is as fast as eight */
	decide_pairs(&w, 110, got);
	assert_true(got[0] && got[1]);
	w.kernel[0].finished = w.kernel[0].started = 999;
	decide_pairs(&w, 250, got);
	assert_int_equal(got[1], 0);
}

/* A running pair stays together up to 5 % and the cost of preempting above the break-even at 200
 * %. */
static void running_pairs_stay(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	make_pairs(&w, 2);
	w.kernel[0].running = 1;
	decide_pairs(&w, 200, got);
	assert_int_equal(got[1], 0);
	w.kernel[1].running = 1;
	decide_pairs(&w, 200, got);
	assert_true(got[0] && got[1]);
	decide_pairs(&w, 210, got);
	assert_true(got[0] && got[1]);
	decide_pairs(&w, 212, got);
	assert_int_equal(got[1], 0);
}

/* All three together would be too slow because of the third; no kernel overtakes it. */
static void three(void **state)
{
	uint32_t got[KERNELS];
	struct world w;

	make_pairs(&w, 3);
	for (unsigned i = 0; i < 3; i++)
		w.kernel[i].threads = 128; /* there is room for four blocks of each */
	decide_pairs(&w, 120, got);
	assert_true(got[0] == 4 && got[1] == 4 && got[2] == 4);
	decide_pairs(&w, 189, got);
	assert_true(got[0] == 4 && got[1] == 4);
	assert_int_equal(got[2], 0);
	decide_pairs(&w, 250, got);
	assert_true(got[0] && !got[1] && !got[2]);
	slowed_by_second = 250;
	decide_pairs(&w, 100, got);
	slowed_by_second = 0;
	assert_true(got[0] && !got[1] && !got[2]);
}

/* Two kernels that run at a third of their pace side by side, in either order: in the end one has
 * every place on each SM, and the other waits. */
static void who_waits_leaves_all_to_the_other(void **state)
{
	const struct heddle_policy *policy = sched_policy_greedy.table;
	struct world w;
	void *greedy;

	(void)state;
	make(&w, 2);
	for (unsigned i = 0; i < 2; i++) {
		struct heddle_policy_kernel *k = &w.kernel[i];

		k->code = 10 + i;
		k->launch = 1;
		k->running = 1;
		k->blocks = k->remaining_ns = 1000000;
		k->cost_ns = MS / 10;
		/* a wrong prediction, learnt from launches beside others */
		k->predicted_ns = 0;
		k->curve_ns[8] = 100 * MS;
	}
	greedy = policy->create(&w.device, "");
	for (unsigned t = 0; t < 120; t++) {
		bool both = w.kernel[0].running && w.kernel[1].running;

		w.plan.wake_ns = HEDDLE_POLICY_UNKNOWN;
		policy->decide(greedy, &w.view, &w.plan);
		for (unsigned i = 0; i < 2; i++) {
			struct heddle_policy_kernel *k = &w.kernel[i];

			k->running = w.quota[i * SMS] > 0;
			k->finished += k->running ? both ? 800 : 2500 : 0;
			k->started = k->finished + 4 * SMS;
		}
		w.view.now_ns += MS / 4;
	}
	policy->destroy(greedy);
	assert_int_equal(w.quota[0] + w.quota[SMS], HEDDLE_POLICY_UNBOUNDED);
	assert_true(!w.quota[0] || !w.quota[SMS]);
}

/* The first of two launches has started its last blocks, and the SMs would keep its shared memory
 * split while these run. The second launch, with less shared memory, waits for them, but not for
 * long. */
static void the_last_blocks_are_awaited(void **state)
{
	const struct heddle_policy *policy = sched_policy_greedy.table;
	struct world w;
	void *greedy;

	(void)state;
	make(&w, 2);
	for (unsigned i = 0; i < 2; i++)
		w.kernel[i].curve_ns[8] = 100 * MS; /* a block takes 3.2 ms */
	w.kernel[0].launch = 1;
	w.kernel[0].running = 1;
	w.kernel[0].started = 1000;
	w.kernel[0].finished = 990;
	w.kernel[0].shared_bytes = 8000;
	w.view.now_ns = 5 * MS;
	greedy = policy->create(&w.device, "");
	for (unsigned t = 0; t < 16; t++, w.view.now_ns += 635000) {
		w.plan.wake_ns = HEDDLE_POLICY_UNKNOWN;
		memset(w.quota, 0, sizeof(w.quota));
		policy->decide(greedy, &w.view, &w.plan);
		assert_int_equal(w.quota[SMS] > 0, w.view.now_ns >= 11400000);
		if (!w.quota[SMS])
			assert_int_equal(w.plan.wake_ns,
				MAX(11400000, w.view.now_ns + HEDDLE_POLICY_MIN_WAKE));
	}
	policy->destroy(greedy);
	for (unsigned i = 0; i < 5; i++) {
		uint32_t got[KERNELS];

		w.kernel[1].running = i == 1;
		w.kernel[1].shared_bytes = i == 2 ? 8000 : 7999;
		w.kernel[1].curve_ns[8] = i == 3 ? 63 * MS : 65 * MS;
		w.kernel[0].started -= i == 4;
		decide(&w, got);
		assert_int_equal(got[1] > 0, i > 0);
	}
}

/* The policy does not ask for a prediction of a pair that was measured. */
static void what_was_measured_is_not_predicted(void **state)
{
	const struct heddle_policy *policy = sched_policy_greedy.table;
	struct world w;
	void *greedy;

	(void)state;
	make_pairs(&w, 2);
	for (unsigned i = 0; i < 2; i++) {
		w.kernel[i].code = 10 + i;
		w.kernel[i].launch = w.kernel[i].running = 1;
		w.kernel[i].blocks = 1000000;
		w.kernel[i].started = 4 * SMS;
		for (unsigned c = 1; c <= 8; c++)
			w.kernel[i].curve_ns[c] *= 100;
	}
	greedy = policy->create(&w.device, "pairs=on");
	for (unsigned t = 0; t < 40; t++) {
		slowed = t < 20 ? 100 : 300;
		w.plan.wake_ns = HEDDLE_POLICY_UNKNOWN;
		memset(w.quota, 0, sizeof(w.quota));
		policy->decide(greedy, &w.view, &w.plan);
		/* In the current order the pair is better than one by one, and no better result is
		 * possible: no swap would repay its cost. */
		assert_true(w.quota[0] && w.quota[SMS]);
		for (unsigned i = 0; i < 2; i++) {
			w.kernel[i].cost_ns = 500 * MS;
			w.kernel[i].finished += 500;
			w.kernel[i].started = w.kernel[i].finished + 4 * SMS;
		}
		w.view.now_ns += MS / 2;
	}
	policy->destroy(greedy);
	greedy = policy->create(&w.device, "pairs=on");
	w.kernel[1].running = 0;
	memset(w.quota, 0, sizeof(w.quota));
	policy->decide(greedy, &w.view, &w.plan);
	/* for an unmeasured pair, greedy asks for a prediction */
	assert_true(w.quota[0] && !w.quota[SMS]);
	policy->destroy(greedy);
}

static void options(void **state)
{
	char why[128];

	assert_int_equal(sched_policy_check(&sched_policy_greedy, "", why, sizeof(why)), 0);
	assert_int_equal(sched_policy_check(&sched_policy_greedy, "pairs=on", why, sizeof(why)), 0);
	assert_int_equal(
		sched_policy_check(&sched_policy_greedy, "pairs=off", why, sizeof(why)), 0);
	assert_int_equal(
		sched_policy_check(&sched_policy_greedy, "pairs=unknown", why, sizeof(why)),
		-EINVAL);
	assert_string_equal(why, "policy_options: pairs: 'unknown' is not one of on|off");
	assert_int_equal(
		sched_policy_check(&sched_policy_greedy, "pear=on", why, sizeof(why)), -EINVAL);
	assert_string_equal(why,
		"policy_options: policy greedy has no option 'pear=on'; there is pairs=on|off");
	/* Other policies ignore these options. */
	assert_int_equal(sched_policy_check(&sched_policy_ffs, "pear=on", why, sizeof(why)), 0);
	assert_null(sched_policy_greedy.table->create(NULL, "pairs=unknown"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_good_as_the_best),
		cmocka_unit_test(nothing_is_wasted),
		cmocka_unit_test(unknown),
		cmocka_unit_test(one_point),
		cmocka_unit_test(alone),
		cmocka_unit_test(last_block),
		cmocka_unit_test(nearly_through),
		cmocka_unit_test(in_turns),
		cmocka_unit_test(unranked),
		cmocka_unit_test(guard),
		cmocka_unit_test(guard_keeps_count),
		cmocka_unit_test(two_guards),
		cmocka_unit_test(together_if_it_pays),
		cmocka_unit_test(what_is_left_counts),
		cmocka_unit_test(running_pairs_stay),
		cmocka_unit_test(three),
		cmocka_unit_test(who_waits_leaves_all_to_the_other),
		cmocka_unit_test(the_last_blocks_are_awaited),
		cmocka_unit_test(what_was_measured_is_not_predicted),
		cmocka_unit_test(options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
