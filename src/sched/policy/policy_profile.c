/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The policy for heddle profile (Adaptive simultaneous multi-tenancy, section 3.5): one launch runs
 * at a time, with the same number of blocks on each SM from its first block to its last. The
 * launches of a kernel step through the counts (curve_turn), so even a program with few launches
 * measures both ends of the curve and counts between them. Kernels are identified by code, shape
 * and blocks per SM, because a kernel may have two forms.
 *
 * Tenants are held, so a launch begins with no SM and has no block before heddled sets its count.
 * Unmanaged (opaque) work ends the hold, because a launch may wait for it in its stream.
 *
 * A program may launch a kernel once and end, so the steps are kept when a device is closed: all
 * engines of a process share one table. If the table is full, a new kernel replaces the least
 * recently used one. */
#include "base/base.h"
#include "curve.h"
#include "heddle/policy.h"

#include <stdlib.h>
#include <string.h>

#define KERNELS 256u

static struct turn {
	uint64_t code, blocks; /* kernel and grid size; blocks 0: the entry is free */
	uint32_t threads, shared_bytes, blocks_per_sm;
	uint32_t steps; /* number of launches that got a count so far */
	uint64_t used;
} turns[KERNELS];
static uint64_t clock_of_turns;

/* The launch that now has the device, or had it last. */
struct profiling {
	uint32_t tenant;
	uint64_t launch;
	uint32_t count; /* number of its blocks on each SM; 0: no launch has had the device yet */
};

static struct turn *turn_of(const struct heddle_policy_kernel *k)
{
	struct turn *oldest = turns;

	for (uint32_t i = 0; i < KERNELS; i++) {
		struct turn *t = &turns[i];

		if (t->blocks == k->blocks && t->code == k->code && t->threads == k->threads &&
			t->shared_bytes == k->shared_bytes && t->blocks_per_sm == k->blocks_per_sm)
			return t;
		if (t->used < oldest->used)
			oldest = t;
	}
	*oldest = (struct turn){.code = k->code,
		.blocks = k->blocks,
		.threads = k->threads,
		.shared_bytes = k->shared_bytes,
		.blocks_per_sm = k->blocks_per_sm};
	return oldest;
}

static bool can_have(const struct heddle_policy_kernel *k, uint32_t count)
{
	return !k->unranked || count >= k->blocks_per_sm || k->counts >> count & 1;
}

static uint32_t next_count(const struct heddle_policy_kernel *k, uint32_t n_sms)
{
	uint32_t most = curve_most(k->blocks_per_sm, k->blocks, n_sms);
	struct turn *t = turn_of(k);

	t->used = ++clock_of_turns;
	for (uint32_t i = 0; i < most; i++) {
		uint32_t count = curve_turn(most, t->steps++);

		if (can_have(k, count))
			return count;
	}
	/* The kernel's blocks obey no bound, so the kernel has only one configuration. */
	return most;
}

static uint32_t tenant_of(const struct heddle_policy_view *v, const struct heddle_policy_kernel *k)
{
	return heddle_policy_tenant_at(v, k->tenant_index)->id;
}

static bool is_current(const struct profiling *p, const struct heddle_policy_view *v,
	const struct heddle_policy_kernel *k)
{
	return p->count && p->tenant == tenant_of(v, k) && p->launch == k->launch;
}

/* Returns the index of the launch to measure now: the one that is being measured, as long as it has
 * not ended, and then the oldest one. UINT32_MAX: there is no launch. */
static uint32_t find_launch(const struct profiling *p, const struct heddle_policy_view *v)
{
	uint32_t first = UINT32_MAX;

	for (uint32_t i = 0; i < v->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);

		if (k->kind != HEDDLE_POLICY_MANAGED || k->idle)
			continue;
		if (is_current(p, v, k))
			return i;
		first = MIN(first, i);
	}
	return first;
}

static void measure_launch(struct profiling *p, const struct heddle_policy_view *v,
	struct heddle_policy_plan *out, uint32_t i)
{
	const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);
	bool all;

	if (!is_current(p, v, k))
		*p = (struct profiling){.tenant = tenant_of(v, k),
			.launch = k->launch,
			.count = next_count(k, v->device->n_sms)};
	all = (k->unranked && !k->counts) || p->count >= k->blocks_per_sm ||
	      p->count > HEDDLE_POLICY_MAX_QUOTA;
	memset(heddle_policy_row(v, out, i), all ? (int)HEDDLE_POLICY_UNBOUNDED : (int)p->count,
		v->device->n_sms);
}

static void profile_decide(
	void *state, const struct heddle_policy_view *v, struct heddle_policy_plan *out)
{
	uint32_t i = find_launch(state, v);

	memset(out->held, 1, v->n_tenants);
	if (i != UINT32_MAX)
		measure_launch(state, v, out, i);
	for (i = 0; i < v->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(v, i);

		if (k->kind == HEDDLE_POLICY_OPAQUE)
			out->held[k->tenant_index] = 0;
		/* A task pool without tasks is not a launch to measure. It stays on the device,
		 * where it finds new tasks by itself. */
		if (k->kind == HEDDLE_POLICY_MANAGED && k->idle)
			memset(heddle_policy_row(v, out, i), HEDDLE_POLICY_UNBOUNDED,
				v->device->n_sms);
	}
}

static void *profile_create(const struct heddle_policy_device *device, const char *options)
{
	(void)device;
	(void)options;
	return calloc(1, sizeof(struct profiling));
}

static const struct heddle_policy table = {.size = sizeof(table),
	.abi = HEDDLE_POLICY_ABI,
	.name = "profile",
	.create = profile_create,
	.destroy = free,
	.decide = profile_decide,
	.flags = HEDDLE_POLICY_ANY_SPLIT | HEDDLE_POLICY_STEERS_ONE};

const struct heddle_policy *heddle_policy(void)
{
	return &table;
}
