/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Adaptive simultaneous multi-tenancy, section 3.6, algorithm 1: every kernel stays on every SM,
 * with the numbers of blocks that minimize the greatest remaining time (equation 1). Priorities do
 * not count. Each kernel begins with the fewest blocks. The kernel with the longest remaining time
 * gets more, as long as the blocks of all kernels fit on an SM together. (Line 5 of the listing
 * goes one past the end of its list: it should have <, not <=.)
 *
 * The possible counts of blocks of a kernel are those at which it ran faster than at any smaller
 * count (section 3.5). A count that was not measured is assumed to have the same speed per block as
 * the nearest smaller measured count, or else as the prediction for a full SM. So a count that may
 * be faster is tried, and then measured.
 *
 * A kernel whose last block has begun needs no more room, and its room becomes free as its blocks
 * end. Such a kernel is left out, so that others are launched while it ends (section 3.3).
 *
 * If tenants cannot run side by side, only launches of one tenant share the device: the tenant
 * whose launch came first. With the option pairs=on, tenants that are predicted to be slower side
 * by side do not share the device, either. */
#include "ages.h"
#include "base/base.h"
#include "curve.h"
#include "heddle/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS (HEDDLE_POLICY_CURVE - 1) /* maximum number of blocks on an SM */
#define WARP   32u
/* Maximum number of launches for predictions, whose cost grows with the cube of the number. With
 * more launches nothing is predicted. */
#define PREDICTED 8u
/* The fraction of the time one after another by which tenants must differ in speed:
 * - Tenants begin to run side by side if that is predicted to save more than this fraction.
 * - Tenants that already run side by side stop if that is predicted to cost more than this fraction
 *   plus the cost of taking the device from them.
 *
 * Predicted durations have a mean error of 4.5 % (sched/model/durations.c), so a smaller difference means
 * nothing. The margin also keeps a running pair together while its predictions vary around
 * equality. */
#define MARGIN 0.05
/* A launch waits for the last blocks of another launch if a block of the other launch takes at most
 * END_PART of the waiting launch's own time. It waits at most as long as END_TIMES such blocks
 * take. */
#define END_PART  0.05
#define END_TIMES 2

struct resources {
	uint64_t threads, blocks, regs, shared;
};

struct greedy {
	bool pairs; /* predict first whether tenants gain by running together */
	struct ages ages;
	uint32_t end_tenant; /* tenant of the last launch for whose end others waited */
	/* that launch, and the time at which the others stop waiting */
	uint64_t end_launch, end_ns;
};

struct candidate {
	const struct heddle_policy_kernel *k;
	uint32_t index; /* index in the view */
	uint32_t most;  /* largest number of blocks that it can use on an SM */
	uint32_t least; /* number of blocks on each SM at which the plan starts */
	uint32_t count; /* number of blocks on each SM in the plan so far */
	bool padded;    /* it has the guard form: extra shared memory limits it to its count */
	bool chosen;    /* its tenant may run now; used only if pairs are predicted */
	double left;    /* fraction of its blocks that have not finished, 0 to 1 */
	double ns[COUNTS + 1];
};

/* ---- predicted duration for each number of blocks on an SM ---- */

static uint32_t most_blocks(const struct heddle_policy_kernel *k)
{
	return MIN(MAX(k->blocks_per_sm, 1u), COUNTS);
}

/* Returns false for a count that a launch of the guard form cannot have. */
static bool can_have(const struct heddle_policy_kernel *k, uint32_t n)
{
	return !k->unranked || n >= most_blocks(k) || k->counts >> n & 1;
}

static uint32_t least_blocks(const struct heddle_policy_kernel *k)
{
	uint32_t n = 1;

	while (!can_have(k, n))
		n++;
	return n;
}

/* Estimates, for each count of blocks on an SM, how long the whole launch would take. If no time of
 * the kernel is known, the estimates are computed from HEDDLE_POLICY_UNKNOWN, a very large number,
 * so they are longer than all others. */
static void estimate_durations(struct candidate *c)
{
	const struct heddle_policy_kernel *k = c->k;
	uint32_t most = most_blocks(k);
	double per_count = (double)k->predicted_ns * most; /* duration with one block on each SM */

	for (uint32_t n = most; n > 0; n--)
		if (k->curve_ns[n] != HEDDLE_POLICY_UNKNOWN)
			per_count = (double)k->curve_ns[n] * n; /* from the smallest known count */
	for (uint32_t n = 1; n <= most; n++) {
		if (k->curve_ns[n] != HEDDLE_POLICY_UNKNOWN)
			per_count = (double)k->curve_ns[n] * n;
		/* An impossible count gets the duration of the next smaller count, so it never
		 * looks faster than that smaller count. */
		c->ns[n] = can_have(k, n) || n == 1 ? per_count / n : c->ns[n - 1];
	}
}

static double remaining_ns(const struct candidate *c)
{
	return c->ns[c->count] * c->left;
}

/* ---- resources that blocks use on an SM ---- */

/* Adds the resources of `count` blocks of the kernel to `sum`. The hardware allocates threads and
 * registers by whole warps. */
static void add_blocks(struct resources *sum, const struct heddle_policy_kernel *k, uint32_t count,
	uint64_t shared_bytes)
{
	uint64_t threads = (k->threads + WARP - 1) / WARP * WARP;

	sum->threads += count * threads;
	sum->blocks += count;
	sum->regs += count * threads * k->regs;
	sum->shared += count * shared_bytes;
}

/* Returns the shared memory that a block needs so that the SM holds only `count` blocks of this
 * launch: one more block must not fit. */
static uint64_t padded_shared_bytes(const struct heddle_policy_device *d, const struct candidate *c)
{
	return c->padded && c->count < most_blocks(c->k) ? d->shared_per_sm / (c->count + 1) + 1
							 : c->k->shared_bytes;
}

static bool all_fit(const struct heddle_policy_device *d, const struct candidate *at, uint32_t n)
{
	struct resources sum = {0};

	for (uint32_t i = 0; i < n; i++)
		add_blocks(&sum, at[i].k, at[i].count, padded_shared_bytes(d, &at[i]));
	return sum.threads <= d->threads_per_sm && sum.blocks <= d->blocks_per_sm &&
	       sum.regs <= d->regs_per_sm && sum.shared <= d->shared_per_sm;
}

/* ---- choosing counts of blocks ---- */

static int longest_first(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;
	double ra = remaining_ns(a), rb = remaining_ns(b);

	if (ra != rb)
		return ra > rb ? -1 : 1;
	return a->k->order < b->k->order ? -1 : a->k->order > b->k->order;
}

/* Chooses the count of blocks on an SM for each launch, and sorts `at`. There are two cases in
 * which each launch keeps its least count: there is only one launch, or the least counts of all
 * launches do not fit on an SM together. In the second case the hardware queues the blocks that do
 * not fit. */
static void allocate_blocks(const struct heddle_policy_device *d, struct candidate *at, uint32_t n)
{
	uint32_t marked = 0;

	for (uint32_t i = 0; i < n; i++)
		at[i].count = at[i].least;
	if (n < 2 || !all_fit(d, at, n))
		return;
	qsort(at, n, sizeof(*at), longest_first);
	while (marked < n) {
		struct candidate *c = &at[marked];
		uint32_t before = c->count, next = curve_next(c->ns, c->most, before);

		if (next)
			c->count = next;
		if (next && all_fit(d, at, n)) {
			qsort(c, n - marked, sizeof(*at), longest_first);
			continue;
		}
		c->count = before;
		marked++;
	}
}

/* ---- whether tenants are faster side by side ----
 *
 * Two times are compared:
 * - Side by side: until the first launch ends, all run at the speed that the model of pairs
 *   predicts for their counts; slowdowns by several launches add up. The last launch runs alone.
 *   The time ends with the last launch.
 * - One tenant after another, each with all blocks that fit.
 *
 * The model corrects its prediction for a pair by a ratio of measurements. If such a ratio keeps
 * two kernels apart, the pair is not measured again, so the ratio stays. */

/* Returns the duration of the whole launch alone on the device. The throughput between measured
 * counts is linear, as in the model of pairs. The times side by side and one after another must use
 * the same interpolation, or their comparison would be wrong. */
static double alone_ns(const struct candidate *c)
{
	const uint64_t *curve = c->k->curve_ns;
	uint32_t below = c->most, above = c->most;
	double low, high;

	while (below && curve[below] == HEDDLE_POLICY_UNKNOWN)
		below--;
	while (above <= COUNTS && curve[above] == HEDDLE_POLICY_UNKNOWN)
		above++;
	if (!below || above > COUNTS || below == above)
		return c->ns[c->most];
	low = 1 / (double)curve[below];
	high = 1 / (double)curve[above];
	return 1 / (low + (high - low) * (c->most - below) / (above - below));
}

/* Sets slow[i][j] to the time in ns by which launch j beside launch i lengthens all of launch i.
 * Returns false if this is not known for two launches of different tenants. */
static bool ask_all(const struct heddle_policy_plan *out, const struct candidate *at, uint32_t n,
	double slow[PREDICTED][PREDICTED])
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = i + 1; j < n; j++) {
			uint32_t kernel[2] = {at[i].index, at[j].index};
			uint8_t quota[2] = {(uint8_t)at[i].count, (uint8_t)at[j].count};
			uint64_t ns[2];
			bool known = out->ask(out, kernel, quota, ns) == 0;

			if (!known && at[i].k->tenant_index != at[j].k->tenant_index)
				return false;
			slow[i][j] = known ? (double)ns[0] - at[i].ns[at[i].count] : 0;
			slow[j][i] = known ? (double)ns[1] - at[j].ns[at[j].count] : 0;
		}
	}
	return true;
}

/* Returns the duration of the whole launch i beside the launches that have work left. Several
 * ratios below 1 cannot make a launch faster than it is alone. */
static double beside_ns(
	const struct candidate *at, uint32_t n, uint32_t i, const double *left, const double *slow)
{
	double whole = alone_ns(&at[i]), ns = at[i].ns[at[i].count], least = MIN(ns, whole);
	bool alone = true;

	for (uint32_t j = 0; j < n; j++) {
		if (j == i || left[j] <= 0)
			continue;
		ns += slow[j];
		alone = false;
	}
	return alone ? whole : MAX(ns, least);
}

/* Returns the predicted time until the last launch ends, in ns; below 0: unknown. */
static double makespan(const struct heddle_policy_plan *out, const struct candidate *at, uint32_t n)
{
	double left[PREDICTED], slow[PREDICTED][PREDICTED] = {{0}}, total = 0;

	if (n > PREDICTED || !ask_all(out, at, n, slow))
		return -1;
	for (uint32_t i = 0; i < n; i++)
		left[i] = at[i].left;
	for (uint32_t running = n; running; running--) {
		double ns[PREDICTED], soonest = 0;
		uint32_t first = n;

		for (uint32_t i = 0; i < n; i++) {
			if (left[i] <= 0)
				continue;
			ns[i] = MAX(beside_ns(at, n, i, left, slow[i]), 1.0);
			if (first == n || ns[i] * left[i] < soonest) {
				first = i;
				soonest = ns[i] * left[i];
			}
		}
		if (first == n)
			break;
		for (uint32_t i = 0; i < n; i++)
			left[i] -= left[i] > 0 ? soonest / ns[i] : 0;
		left[first] = 0;
		total += soonest;
	}
	return total;
}

/* Copies to `ret` the launches of `tenant` and, if `chosen` is true, of all chosen tenants. Returns
 * their number. */
static uint32_t collect_launches(
	const struct candidate *at, uint32_t n, bool chosen, uint32_t tenant, struct candidate *ret)
{
	uint32_t len = 0;

	for (uint32_t i = 0; i < n; i++)
		if ((chosen && at[i].chosen) || at[i].k->tenant_index == tenant)
			ret[len++] = at[i];
	return len;
}

/* Returns whether any of the launches runs. Sets *ret_back_ns to the cost of taking the device from
 * those that run. */
static bool is_running(const struct candidate *at, uint32_t n, uint64_t *ret_back_ns)
{
	bool running = false;

	*ret_back_ns = 0;
	for (uint32_t i = 0; i < n; i++) {
		running |= at[i].k->running;
		*ret_back_ns += at[i].k->running ? at[i].k->cost_ns : 0;
	}
	return running;
}

/* Returns true if the tenant should run beside the chosen ones and not after them, or if this is
 * not known. `work` is a buffer for n candidates. */
static bool is_faster_together(const struct heddle_policy_view *v,
	const struct heddle_policy_plan *out, const struct candidate *at, uint32_t n,
	uint32_t tenant, struct candidate *work)
{
	uint32_t len = collect_launches(at, n, true, tenant, work);
	double together, after;
	uint64_t back_ns;
	bool run;

	allocate_blocks(v->device, work, len);
	together = makespan(out, work, len);
	if (together < 0)
		return true;
	len = collect_launches(at, n, true, UINT32_MAX, work);
	run = is_running(work, len, &back_ns);
	allocate_blocks(v->device, work, len);
	after = makespan(out, work, len);
	len = collect_launches(at, n, false, tenant, work);
	run = is_running(work, len, &back_ns) && run;
	allocate_blocks(v->device, work, len);
	after += makespan(out, work, len);
	return run ? together < after * (1 + MARGIN) + (double)back_ns
		   : together < after * (1 - MARGIN);
}

/* Marks the tenant's launches as chosen. Returns their number. */
static uint32_t choose_tenant(struct candidate *at, uint32_t n, uint32_t tenant)
{
	uint32_t own = 0;

	for (uint32_t i = 0; i < n; i++) {
		own += at[i].k->tenant_index == tenant;
		at[i].chosen |= at[i].k->tenant_index == tenant;
	}
	return own;
}

/* Chooses the tenants that share the device, in the order of their first launches. Stops at the
 * first tenant that should wait, so that later tenants do not overtake it. Tenants that were not
 * chosen get no SM. Returns the number of launches of chosen tenants, which move to the front of
 * `at`. */
static uint32_t choose_tenants(const struct heddle_policy_view *v, struct heddle_policy_plan *out,
	struct candidate *at, uint32_t n)
{
	struct candidate *work = n > 1 ? calloc(n, sizeof(*work)) : NULL;
	uint32_t len = 0, chosen;

	if (!work)
		return n;
	chosen = choose_tenant(at, n, at[0].k->tenant_index);
	for (uint32_t i = 1; i < n; i++) {
		if (at[i].chosen)
			continue;
		/* More launches than a makespan is predicted for: all of them share the device. */
		if (chosen >= PREDICTED) {
			at[i].chosen = true;
			continue;
		}
		if (!is_faster_together(v, out, at, n, at[i].k->tenant_index, work))
			break;
		chosen += choose_tenant(at, n, at[i].k->tenant_index);
	}
	free(work);
	for (uint32_t i = 0; i < n; i++) {
		if (at[i].chosen)
			at[len++] = at[i];
		else
			memset(heddle_policy_row(v, out, at[i].index), 0, v->device->n_sms);
	}
	return len;
}

/* ---- plans ---- */

/* Returns the tenant of the first launch in the view that competes. */
static uint32_t first_tenant(const struct heddle_policy_view *v)
{
	for (uint32_t i = 0; i < v->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);

		if (k->kind == HEDDLE_POLICY_MANAGED && !k->idle)
			return k->tenant_index;
	}
	return UINT32_MAX;
}

/* Collects the launches that share the device, in the order of arrival (the order of the view). Two
 * kinds are not collected and may use every SM: idle pools of tasks, and launches whose last block
 * has begun. If tenants cannot run side by side, only launches of the first tenant in the view get
 * SMs. */
static uint32_t gather_candidates(
	const struct heddle_policy_view *v, struct heddle_policy_plan *out, struct candidate *at)
{
	uint32_t n = 0, only = v->device->simultaneous ? UINT32_MAX : first_tenant(v);

	for (uint32_t i = 0; i < v->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);

		if (k->kind != HEDDLE_POLICY_MANAGED ||
			(only != UINT32_MAX && k->tenant_index != only))
			continue;
		memset(heddle_policy_row(v, out, i), HEDDLE_POLICY_UNBOUNDED, v->device->n_sms);
		if (k->idle || k->started >= k->blocks)
			continue;
		at[n] = (struct candidate){.k = k,
			.index = i,
			/* A small grid, or one that is nearly finished, cannot use all blocks that
			 * an SM can hold. */
			.most = curve_most(most_blocks(k), k->blocks - MIN(k->finished, k->blocks),
				v->device->n_sms),
			.least = 1,
			.left = (double)(k->blocks - MIN(k->finished, k->blocks)) /
				(double)k->blocks};
		estimate_durations(&at[n++]);
	}
	return n;
}

/* Returns whether this pair of kernels was measured. A measurement is more reliable than a
 * prediction. */
static bool is_pair_measured(const struct greedy *g, const struct candidate *at, uint32_t n)
{
	return n == 2 && ages_knows(&g->ages, at[0].k->code, at[1].k->code);
}

static int by_arrival(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	return a->index < b->index ? -1 : a->index > b->index;
}

/* Returns the duration of the launch alone on the device in ns; 0: unknown. Prefers the curve's
 * last point, because it is measured on launches that ran alone, while predictions also learn from
 * shared runs. */
static double launch_alone_ns(const struct heddle_policy_kernel *k)
{
	uint64_t ns = k->curve_ns[most_blocks(k)];

	if (ns == HEDDLE_POLICY_UNKNOWN)
		ns = k->predicted_ns;
	return ns == HEDDLE_POLICY_UNKNOWN ? 0 : (double)ns;
}

/* Applies the decision of ages_decide on two launches. One of them gets no SM for now: it must
 * leave and return after the other launch is on its SMs, or it waits until the other launch ends.
 * In the second case the other launch gets every SM without a bound. */
static void order_ages(struct greedy *g, const struct heddle_policy_view *v,
	struct heddle_policy_plan *out, struct candidate *at, uint32_t n)
{
	struct age_launch ages[AGES_LAUNCHES];
	uint32_t len = MIN(n, AGES_LAUNCHES), leaver;

	qsort(at, n, sizeof(*at), by_arrival);
	for (uint32_t i = 0; i < len; i++) {
		const struct heddle_policy_kernel *k = at[i].k;

		ages[i] = (struct age_launch){.code = k->code,
			.launch = k->launch,
			.tenant = heddle_policy_tenant_at(v, k->tenant_index)->id,
			.count = at[i].count,
			.present = k->running,
			.leaving = k->leaving,
			.steady = k->unranked,
			.blocks = k->blocks,
			.started = k->started,
			.finished = k->finished,
			.alone_ns = launch_alone_ns(k),
			.left_ns = remaining_ns(&at[i]),
			.cost_ns = (double)k->cost_ns};
	}
	leaver = ages_decide(&g->ages, v->now_ns, v->device->n_sms, ages, len, &out->wake_ns);
	if (leaver == AGES_NOBODY)
		return;
	memset(heddle_policy_row(v, out, at[leaver].index), 0, v->device->n_sms);
	if (g->ages.waits)
		memset(heddle_policy_row(v, out, at[!leaver].index), HEDDLE_POLICY_UNBOUNDED,
			v->device->n_sms);
}

/* Returns the first launch whose last block has begun; NULL: there is none. */
static const struct heddle_policy_kernel *find_ending(const struct heddle_policy_view *v)
{
	for (uint32_t i = 0; i < v->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);

		if (k->kind == HEDDLE_POLICY_MANAGED && k->running && !k->idle &&
			k->started >= k->blocks)
			return k;
	}
	return NULL;
}

/* Makes launches wait for the last blocks of another launch. An SM keeps its division into L1 cache
 * and shared memory until it has no block. So if a launch starts beside the last blocks of a launch
 * with more shared memory, the new launch has less cache until it ends. On an H100, a launch that
 * depends on its cache took 2.2 times as long. The new launch waits for those last blocks, if the
 * wait is short compared with its own duration. */
static void await_end(struct greedy *g, const struct heddle_policy_view *v,
	struct heddle_policy_plan *out, const struct candidate *at, uint32_t n)
{
	const struct heddle_policy_kernel *end = find_ending(v);
	double block_ns;
	uint32_t tenant;

	if (!end)
		return;
	block_ns = launch_alone_ns(end) * most_blocks(end) * v->device->n_sms / (double)end->blocks;
	tenant = heddle_policy_tenant_at(v, end->tenant_index)->id;
	if (tenant != g->end_tenant || end->launch != g->end_launch) {
		g->end_tenant = tenant;
		g->end_launch = end->launch;
		g->end_ns = v->now_ns + (uint64_t)(END_TIMES * block_ns);
	}
	if (v->now_ns >= g->end_ns)
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct heddle_policy_kernel *k = at[i].k;

		if (k->running || k->shared_bytes >= end->shared_bytes ||
			block_ns > END_PART * launch_alone_ns(k))
			continue;
		memset(heddle_policy_row(v, out, at[i].index), 0, v->device->n_sms);
		out->wake_ns = MIN(out->wake_ns, g->end_ns);
	}
}

/* Keeps the counts of two launches while both orders of their ages are measured (ages.h). */
static void hold_counts(const struct greedy *g, const struct heddle_policy_view *v,
	struct candidate *at, uint32_t n)
{
	uint32_t planned[2];

	for (uint32_t i = 0; i < n && n == 2; i++) {
		const struct heddle_policy_kernel *k = at[i].k;
		uint32_t held = ages_count(
			&g->ages, heddle_policy_tenant_at(v, k->tenant_index)->id, k->launch);

		planned[i] = at[i].count;
		at[i].count = held ? MIN(held, at[i].most) : at[i].count;
	}
	for (uint32_t i = 0; n == 2 && i < n && !all_fit(v->device, at, n); i++)
		at[i].count = planned[i];
}

/* Returns the number of blocks that a launch of the guard form has on each of its SMs now; 0:
 * none. */
static uint32_t count_now(const struct heddle_policy_view *v, const struct heddle_policy_kernel *k)
{
	for (uint32_t sm = 0; sm < v->device->n_sms; sm++)
		if (k->quota[sm])
			return MIN(k->quota[sm], most_blocks(k));
	return 0;
}

/* Decides which counts launches of the guard form can have. Additional shared memory keeps such a
 * launch to a count, because no further block fits on an SM. This works only if there is a single
 * launch of this form. With two, the second would not fit on the SM beside the first one's
 * additional memory, or would take all the room if it has no bound. So if there are several, each
 * keeps its present count, or the most that fit if it has none. */
static void place_guards(const struct heddle_policy_view *v, struct candidate *at, uint32_t n)
{
	uint32_t guards = 0;

	for (uint32_t i = 0; i < n; i++)
		guards += at[i].k->unranked;
	for (uint32_t i = 0; i < n; i++) {
		const struct heddle_policy_kernel *k = at[i].k;
		uint32_t now = k->unranked ? count_now(v, k) : 0;

		if (!k->unranked)
			continue;
		at[i].padded = guards == 1 && k->counts;
		if (at[i].padded)
			at[i].least = least_blocks(k);
		else
			at[i].least = at[i].most = now && can_have(k, now) ? now : most_blocks(k);
	}
}

/* To change its count, a launch of the guard form must leave the device. So launch i keeps its
 * present count if all launches still fit on an SM with it, and if the planned count would save
 * less time than the change costs. */
static void keep_counts(
	const struct heddle_policy_view *v, struct candidate *at, uint32_t n, uint32_t i)
{
	struct candidate *c = &at[i];
	uint32_t planned = c->count, now = c->padded ? count_now(v, c->k) : 0;

	if (!now || now == planned || !can_have(c->k, now))
		return;
	c->count = now;
	if (!all_fit(v->device, at, n) ||
		(c->ns[now] - c->ns[planned]) * c->left > (double)c->k->cost_ns)
		c->count = planned;
}

static void greedy_decide(
	void *state, const struct heddle_policy_view *v, struct heddle_policy_plan *out)
{
	struct candidate *at = calloc(MAX(v->n_kernels, 1u), sizeof(*at));
	struct greedy *g = state;
	uint32_t n, all;

	if (!at) {
		memset(out->quota, HEDDLE_POLICY_UNBOUNDED,
			(size_t)v->n_kernels * v->device->n_sms);
		return;
	}
	n = all = gather_candidates(v, out, at);
	place_guards(v, at, n);
	if (g->pairs && out->ask && !is_pair_measured(g, at, n))
		n = choose_tenants(v, out, at, n);
	allocate_blocks(v->device, at, n);
	hold_counts(g, v, at, n);
	if (n < all || !all_fit(v->device, at, n)) /* a launch must wait until another one ends */
		out->wake_ns = v->now_ns + HEDDLE_POLICY_MAX_WAKE;
	if (n == 1)
		at[0].count = most_blocks(at[0].k);
	for (uint32_t i = 0; i < n; i++)
		keep_counts(v, at, n, i);
	for (uint32_t i = 0; i < n; i++)
		if (at[i].count < most_blocks(at[i].k))
			memset(heddle_policy_row(v, out, at[i].index), (int)at[i].count,
				v->device->n_sms);
	order_ages(g, v, out, at, n);
	await_end(g, v, out, at, n);
	if (out->wake_ns != HEDDLE_POLICY_UNKNOWN)
		out->wake_ns = MAX(out->wake_ns, v->now_ns + HEDDLE_POLICY_MIN_WAKE);
	free(at);
}

/* ---- options ---- */

static int greedy_read_options(struct greedy *g, const char *options, char *ret_why, size_t size)
{
	static const char key[] = "pairs=";
	const char *value = options + sizeof(key) - 1;
	bool is_pairs = strncmp(options, key, sizeof(key) - 1) == 0;

	g->pairs = is_pairs && strcmp(value, "on") == 0;
	if (!*options || g->pairs || (is_pairs && strcmp(value, "off") == 0))
		return 0;
	if (is_pairs)
		snprintf(ret_why, size, "pairs: '%.40s' is not one of on|off", value);
	else
		snprintf(ret_why, size,
			"policy greedy has no option '%.40s'; there is pairs=on|off", options);
	return -EINVAL;
}

static int greedy_check(const char *options, char *ret_why, size_t size)
{
	struct greedy g;

	return greedy_read_options(&g, options, ret_why, size);
}

static void *greedy_create(const struct heddle_policy_device *device, const char *options)
{
	struct greedy *g = calloc(1, sizeof(*g));
	char why[128];

	(void)device;
	if (g && greedy_read_options(g, options, why, sizeof(why)) == 0)
		return g;
	free(g);
	return NULL;
}

const struct heddle_policy policy_greedy = {.size = sizeof(policy_greedy),
	.abi = HEDDLE_POLICY_ABI,
	.name = "greedy",
	.create = greedy_create,
	.destroy = free,
	.decide = greedy_decide,
	.flags = HEDDLE_POLICY_ANY_SPLIT | HEDDLE_POLICY_SIDE_BY_SIDE,
	.check = greedy_check};
