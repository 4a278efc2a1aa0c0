/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests policy greedy with made-up views. Compares its plan with the best plan that fits, which the
 * test finds by trying them all. */
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

/* Makes a view of n kernels of separate tenants. Each has blocks of 256 threads, of which 8 fit on
 * an SM, and 1000 blocks. Their times are unknown. */
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

/* Makes a decision. Returns each kernel's number of blocks per SM, which is the same on all SMs. */
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
	/* Sometimes one more block makes the kernel no faster, or even slower. */
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

/* Returns the time of the longest kernel under the plan that makes it shortest, over all plans that
 * fit; negative if none fits. */
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

/* The plan leaves no room on an SM with which a kernel would be faster. */
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
			/* Find the next number of blocks with which the kernel is faster. */
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

	make(&w, 2); /* each alone could fill an SM */
	decide(&w, got);
	assert_int_equal(got[0] + got[1], 8);
	assert_true(got[0] >= 1 && got[1] >= 1);
	/* Only kernel 1's time is predicted. Kernel 0 may take longer, so it gets more blocks. */
	w.kernel[1].predicted_ns = 5 * MS;
	decide(&w, got);
	assert_true(got[0] == 7 && got[1] == 1);
	/* A kernel that takes three times as long gets three times as many blocks. */
	w.kernel[0].predicted_ns = 15 * MS;
	decide(&w, got);
	assert_true(got[0] == 6 && got[1] == 2);
}

/* Each curve has one point. Other numbers of blocks are assumed to be as fast per block. */
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
		w.kernel[1].blocks_per_sm = 1; /* only one of its blocks fits on an SM */
		w.kernel[1].threads = 2048;
		decide(&w, got);
		/* both do not fit on an SM together, so the hardware queues one */
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

/* The last block of a kernel has started, so the kernel needs no room. While it ends, the others
 * are not limited. */
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

/* Kernel 0 has two blocks per SM left, so it gets no more than two, though it is predicted to take
 * very long. */
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

/* heddle cannot limit the blocks of an unranked kernel on an SM: it has all that fit, or none. The
 * other kernel gets the remaining room. */
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

/* Kernel 0 has the guard form, which can run 2, 3, 4 or 6 blocks on an SM, and now has `now`. */
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

/* To limit the guard form to 4 blocks per SM, heddle gives its blocks additional shared memory.
 * This must leave enough for the other kernel's blocks. */
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
	/* The other kernel takes half of the threads. 7 blocks would also fit, but the form cannot
	 * run 7. */
	w.kernel[0].threads = 128;
	w.kernel[0].blocks_per_sm = 16;
	w.kernel[1].blocks_per_sm = 2;
	decide(&w, got);
	assert_int_equal(got[0], 6);
	assert_int_equal(got[1], 2);
	/* Two blocks are all that fit and the fewest that the form can run, so it has no bound. */
	w.kernel[0].threads = 1024;
	w.kernel[0].blocks_per_sm = 2;
	w.kernel[1].blocks_per_sm = 8;
	decide(&w, got);
	assert_int_equal(w.quota[0], HEDDLE_POLICY_UNBOUNDED);
}

/* The number of blocks of the guard form changes only if this gains more than it costs. */
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
	/* A kernel that is alone needs no bound, but removing its bound does not pay just before
	 * its end. */
	for (unsigned gains = 0; gains < 2; gains++) {
		make_guard(&w, 1, 4);
		w.kernel[0].predicted_ns = 100 * MS;
		w.kernel[0].finished = gains ? 0 : 995;
		decide(&w, got);
		assert_int_equal(got[0], gains ? 8 : 4);
	}
	/* The guard form has so many blocks that the other kernel does not fit beside it. */
	make_guard(&w, 2, 6);
	w.kernel[0].predicted_ns = w.kernel[1].predicted_ns = 2 * MS;
	decide(&w, got);
	assert_int_equal(got[0], 4);
}

/* Shared memory cannot limit two kernels on an SM at once, so each keeps its number of blocks. */
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

/* time of a kernel in a pair, in percent of the time on its curve; 0: unknown */
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

/* Makes a view of n kernels that take 8 ms each, with eight blocks per SM as with four. */
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
	/* Each takes 8 ms alone, so both take 16 ms one after the other. Together they take 8 to
	 * 14.8 ms here, which pays. */
	for (uint32_t percent = 100; percent <= 185; percent += 17) {
		decide_pairs(&w, percent, got);
		assert_memory_equal(got, plain, 2 * sizeof(got[0]));
	}
	/* A gain of less than 5 %, or a loss, does not pay. The second kernel gets no SM, and the
	 * first gets all. */
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

/* Only the remaining work counts. A has a tenth left. It takes 1.6 ms beside B, which does 0.8 ms
 * of its work in this time and then needs 7.2 ms. In sum 8.8 ms: as long as one after the other, so
 * sharing gains nothing. */
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

/* One after the other is as fast as together if each kernel takes 200 % of its time in the pair. A
 * pair that runs already is separated only if it is slower than that by more than 5 % and the cost
 * of preempting. */
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

/* All three together would be too slow because of the third kernel, so it waits. A later kernel
 * does not overtake one that waits. */
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

/* Two kernels run at a third of their pace side by side, in either order. In the end, one must have
 * all places on each SM while the other waits. */
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

/* All blocks of the first of two launches have started. While the last of them run, the SMs would
 * keep more shared memory than the second launch needs. So the second launch waits for them, but
 * not for long. */
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

/* If a pair was measured, the policy uses this and does not ask for a prediction. */
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
		/* The pair runs better in this order than one after the other, and no order is good
		 * enough to repay a swap. */
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
