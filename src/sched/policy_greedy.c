/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Adaptive simultaneous multi-tenancy, section 3.6, algorithm 1: every kernel stays on every SM,
 * with so many blocks that the greatest remaining time is as small as it can be. All begin with the
 * fewest blocks; the kernel that would take longest gets more, as long as all fit an SM together.
 * (Line 5 of the listing goes one past the end of its list: < is meant, not <=.)
 *
 * A kernel's configurations are the counts of blocks at which it was seen to run faster than at any
 * smaller count (section 3.5). A count that was not measured yet is assumed to be as fast per block
 * as the nearest smaller count that was, or else as the prediction for a full SM: so counts that
 * may pay are tried, and measured then. The remaining time is equation 1. Priorities do not count.
 *
 * A kernel whose last block has begun needs no more room, and frees what it has as its blocks end:
 * it is left out, so that others are launched while it ends (section 3.3).
 *
 * Where tenants cannot run side by side, one tenant's launches share the device: those of the
 * tenant whose launch came first. */
#include "base/base.h"
#include "curve.h"
#include "planner.h"
#include "policy.h"

#include <stdlib.h>
#include <string.h>

#define COUNTS (HEDDLE_POLICY_CURVE - 1) /* most blocks on an SM */
#define WARP   32u

struct resources {
	uint64_t threads, blocks, regs, shared;
};

struct candidate {
	const struct heddle_policy_kernel *k;
	uint32_t index; /* in the view */
	uint32_t most;  /* blocks of it that an SM can use */
	uint32_t count; /* blocks on each SM, as planned so far */
	double left;    /* of its blocks that have not ended, 0 to 1 */
	double ns[COUNTS + 1];
};

/* ---- how long it takes with so many blocks on each SM ---- */

static uint32_t most_blocks(const struct heddle_policy_kernel *k)
{
	return MIN(MAX(k->blocks_per_sm, 1u), COUNTS);
}

/* Of the whole launch. Where nothing is known at all that is UNKNOWN as a number: longer than all.
 */
static void estimate(struct candidate *c)
{
	const struct heddle_policy_kernel *k = c->k;
	uint32_t most = most_blocks(k);
	double per_count = (double)k->predicted_ns * most; /* of one block on an SM */

	for (uint32_t n = most; n > 0; n--)
		if (k->curve_ns[n] != HEDDLE_POLICY_UNKNOWN)
			per_count = (double)k->curve_ns[n] * n; /* the fewest known */
	for (uint32_t n = 1; n <= most; n++) {
		if (k->curve_ns[n] != HEDDLE_POLICY_UNKNOWN)
			per_count = (double)k->curve_ns[n] * n;
		c->ns[n] = per_count / n;
	}
}

static double remaining(const struct candidate *c)
{
	return c->ns[c->count] * c->left;
}

/* ---- what an SM has ---- */

/* With blocks of it as the hardware holds them: whole warps. */
static void add(struct resources *sum, const struct heddle_policy_kernel *k, uint32_t count)
{
	uint64_t threads = (k->threads + WARP - 1) / WARP * WARP;

	sum->threads += count * threads;
	sum->blocks += count;
	sum->regs += count * threads * k->regs;
	sum->shared += (uint64_t)count * k->shared_bytes;
}

static bool fits(const struct heddle_policy_device *d, const struct candidate *at, uint32_t n)
{
	struct resources sum = {0};

	for (uint32_t i = 0; i < n; i++)
		add(&sum, at[i].k, at[i].count);
	return sum.threads <= d->threads_per_sm && sum.blocks <= d->blocks_per_sm &&
	       sum.regs <= d->regs_per_sm && sum.shared <= d->shared_per_sm;
}

/* ---- the algorithm ---- */

static int longest_first(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;
	double ra = remaining(a), rb = remaining(b);

	if (ra != rb)
		return ra > rb ? -1 : 1;
	return a->k->order < b->k->order ? -1 : a->k->order > b->k->order;
}

static void allocate(const struct heddle_policy_device *d, struct candidate *at, uint32_t n)
{
	uint32_t marked = 0;

	qsort(at, n, sizeof(*at), longest_first);
	while (marked < n) {
		struct candidate *c = &at[marked];
		uint32_t before = c->count, next = curve_next(c->ns, c->most, before);

		if (next)
			c->count = next;
		if (next && fits(d, at, n)) {
			qsort(c, n - marked, sizeof(*at), longest_first);
			continue;
		}
		c->count = before;
		marked++;
	}
}

/* ---- plans ---- */

/* The tenant whose launch came first: among launches that compete. */
static uint32_t first_tenant(const struct heddle_policy_view *v)
{
	for (uint32_t i = 0; i < v->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);

		if (k->kind == HEDDLE_POLICY_MANAGED && !k->idle)
			return k->tenant_index;
	}
	return UINT32_MAX;
}

/* Those that share the device; others get no SM. The view has launches by order of arrival. */
static uint32_t gather(
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
			/* A grid that is nearly through, or small, has no use for all places. */
			.most = curve_most(most_blocks(k), k->blocks - MIN(k->finished, k->blocks),
				v->device->n_sms),
			/* It obeys no bound but 0. */
			.count = k->unranked ? most_blocks(k) : 1,
			.left = (double)(k->blocks - MIN(k->finished, k->blocks)) /
				(double)k->blocks};
		estimate(&at[n++]);
	}
	return n;
}

static void decide(void *state, const struct heddle_policy_view *v, struct heddle_policy_plan *out)
{
	struct candidate *at = calloc(MAX(v->n_kernels, 1u), sizeof(*at));
	uint32_t n;

	(void)state;
	if (!at) {
		memset(out->quota, HEDDLE_POLICY_UNBOUNDED,
			(size_t)v->n_kernels * v->device->n_sms);
		return;
	}
	n = gather(v, out, at);
	/* Where not even one block of each fits, all are launched with one, and the hardware queues
	 * them. */
	if (n > 1 && fits(v->device, at, n))
		allocate(v->device, at, n);
	for (uint32_t i = 0; i < n && n > 1; i++)
		if (at[i].count < most_blocks(at[i].k))
			memset(heddle_policy_row(v, out, at[i].index), (int)at[i].count,
				v->device->n_sms);
	free(at);
}

static const struct heddle_policy table = {
	.size = sizeof(table), .abi = HEDDLE_POLICY_ABI, .name = "greedy", .decide = decide};
static struct sched_planner planner = {.policy = &table, .options = ""};

const struct sched_policy sched_policy_greedy = {.name = "greedy", .planner = &planner};
