/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Highest priority first, shortest remaining time within a priority (FLEP, section 5.2.1 and figure
 * 6).
 *
 * The paper's listing differs from its text in two places, and the text is right. First, an arrival
 * with the running kernel's priority must enter its queue before the queue is searched; line 9
 * omits this. Second, the preempted kernel must enter its queue; line 4 enqueues a number. Neither
 * error can occur here: the "queues" are classes of the sorted view, which always holds every
 * active kernel, including running ones. The listing has one running kernel Kr. Here several may
 * run, on separate SMs (spatial preemption) or as launches of one tenant.
 *
 * The paper always has a prediction, and lets a long kernel wait for as long as shorter ones come.
 * Here a kernel of unknown duration counts as the shortest, and a kernel that has waited too long
 * behind equals goes first for a while (heddle/policy_lanes.h). */
#include <heddle/policy_lanes.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A launch of unknown duration counts as the shortest for as long as this. A launch that runs
 * longer and has not finished a block counts as one with as much left as it has run. */
#define UNKNOWN_SHORT_NS 20000000u

static uint64_t assumed_remaining(const struct heddle_policy_kernel *k)
{
	if (k->remaining_ns != HEDDLE_POLICY_UNKNOWN)
		return k->remaining_ns;
	return k->attained_ns < UNKNOWN_SHORT_NS ? 0 : k->attained_ns;
}

/* Returns the time by which kernels of one priority are sorted, the shortest first. Line 27 of the
 * listing says: a waiting kernel Ks replaces the running kernel Kr if Kr.Tr > Ks.Tr + overhead (Tr:
 * remaining time). So a running kernel is sorted by its remaining time minus its preemption cost.
 * Preempting a kernel that has not begun on its SMs costs nothing. */
static uint64_t sort_key(const struct heddle_policy_kernel *k)
{
	uint64_t ns = assumed_remaining(k);

	if (!k->running || !k->begun)
		return ns;
	/* The remaining time of a launch that the model cannot predict is an estimate from its
	 * progress. Two such estimates must not make their launches preempt each other by turns, so
	 * a running launch of this kind yields only to one with less than half of its time. */
	if (k->predicted_ns == HEDDLE_POLICY_UNKNOWN)
		ns /= 2;
	return ns > k->cost_ns ? ns - k->cost_ns : 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compares two launches of equal priority. */
static int compare_launches(const struct heddle_lane_kernel *a, const struct heddle_lane_kernel *b)
{
	const struct heddle_policy_kernel *ka = a->kernel, *kb = b->kernel;

	/* Kernels that have waited too long come first, in the order in which they became
	 * overdue. */
	if ((a->overdue == 0) != (b->overdue == 0))
		return a->overdue ? -1 : 1;
	if (a->overdue != b->overdue)
		return compare(a->overdue, b->overdue);
	/* While a tenant is stalled, all tenants of its priority take turns. */
	if (a->turn != b->turn)
		return compare(a->turn, b->turn);
	/* depth is greater for a launch that its own tenant ranks lower than another of its
	 * launches. Such a launch comes after the first launches of all tenants of this
	 * priority. */
	if (ka->depth != kb->depth)
		return compare(ka->depth, kb->depth);
	if (sort_key(ka) != sort_key(kb))
		return compare(sort_key(ka), sort_key(kb));
	if (ka->running != kb->running)
		return ka->running ? -1 : 1;
	return compare(ka->order, kb->order);
}

static int compare_kernels(const void *pa, const void *pb)
{
	const struct heddle_lane_kernel *a = pa, *b = pb;
	int32_t pri_a = a->tenant->priority, pri_b = b->tenant->priority;
	int r = 0;

	/* Kernels that have no work come last, whatever their priority is. */
	if ((a->turn == HEDDLE_NO_TURN) != (b->turn == HEDDLE_NO_TURN))
		return a->turn == HEDDLE_NO_TURN ? 1 : -1;
	if (pri_a != pri_b)
		return pri_a > pri_b ? -1 : 1;
	/* Opaque work comes after the launches of its priority, because it only excludes work of
	 * lower priority. */
	if (a->kernel->kind != b->kernel->kind)
		return compare(a->kernel->kind, b->kernel->kind);
	if (a->kernel->kind == HEDDLE_POLICY_MANAGED)
		r = compare_launches(a, b);
	return r ? r : compare(a->index, b->index);
}

struct filling {
	struct heddle_lanes *lanes;
	const struct heddle_policy_device *device;
	struct heddle_lane_kernel *at;
	/* the next free lane, and the number of SMs that no lane has reserved */
	uint32_t len, lane, left;
};

static uint32_t wanted_sms(const struct filling *f, const struct heddle_lane_kernel *k)
{
	return f->device->spatial && k->need_sms < f->left ? k->need_sms : f->left;
}

/* Puts kernel i into a new lane. Other kernels of the same priority join the lane if tenant, kind
 * and stream priority (depth) are the same, too. None joins if a tenant's kernels compete with each
 * other (within_srt). */
static void fill_lane(struct filling *f, uint32_t i)
{
	const struct heddle_lane_kernel *head = &f->at[i];
	uint32_t want = 0;

	for (uint32_t j = i; j < f->len; j++) {
		struct heddle_lane_kernel *k = &f->at[j];

		if (k->tenant->priority != head->tenant->priority)
			break;
		if (j != i &&
			(k->tenant != head->tenant || k->kernel->kind != head->kernel->kind ||
				k->kernel->depth != head->kernel->depth || f->device->within_srt))
			continue;
		heddle_lanes_enter(f->lanes, k, f->lane, wanted_sms(f, k));
		want += k->want_sms;
		want = want < f->left ? want : f->left;
	}
	f->lane++;
	f->left -= want;
}

static void fill_lanes(struct filling *f)
{
	for (uint32_t i = 0; i < f->len && f->left; i++) {
		struct heddle_lane_kernel *k = &f->at[i];

		if (k->lane != HEDDLE_NO_LANE)
			continue;
		if (k->kernel->kind != HEDDLE_POLICY_MANAGED) {
			/* Opaque work excludes work of lower priority from as many SMs as it may
			 * use. Work of its own priority shares these SMs as the device decides. */
			heddle_lanes_enter(f->lanes, k, f->lane++, wanted_sms(f, k));
			f->left -= k->want_sms;
			continue;
		}
		/* Without MPS the device itself switches between tenants, and only as a whole. So
		 * only one tenant gets lanes. */
		if (!f->device->simultaneous && k->tenant != f->at[0].tenant)
			continue;
		fill_lane(f, i);
	}
}

/* Puts all kernels of the view into lanes, in order. Returns false if memory is exhausted. */
static bool hpf_order(
	struct filling *ret, struct heddle_lanes *lanes, const struct heddle_policy_view *in)
{
	*ret = (struct filling){.lanes = lanes, .device = in->device, .left = in->device->n_sms};
	ret->at = heddle_lanes_list(lanes, in, &ret->len);
	if (!ret->at)
		return false;
	qsort(ret->at, ret->len, sizeof(ret->at[0]), compare_kernels);
	fill_lanes(ret);
	return true;
}

/* Returns the priority below which tenants start no opaque work: that of the first kernel, unless
 * no kernel has work. */
static int32_t hold_below(const struct filling *f)
{
	return f->len && f->at[0].turn != HEDDLE_NO_TURN ? f->at[0].tenant->priority
							 : HEDDLE_HOLD_NONE;
}

static void hpf_decide(
	void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	struct filling f;

	if (hpf_order(&f, state, in))
		heddle_lanes_plan(f.lanes, in, out, hold_below(&f));
	else /* if that failed, every kernel gets the whole device */
		memset(out->quota, (int)HEDDLE_POLICY_UNBOUNDED,
			(size_t)in->n_kernels * in->device->n_sms);
}

static void *hpf_create(const struct heddle_policy_device *device, const char *options)
{
	(void)options;
	return heddle_lanes_create(device);
}

static void hpf_destroy(void *state)
{
	heddle_lanes_destroy(state);
}

const struct heddle_policy policy_hpf = {.size = sizeof(policy_hpf),
	.abi = HEDDLE_POLICY_ABI,
	.name = "hpf",
	.create = hpf_create,
	.destroy = hpf_destroy,
	.decide = hpf_decide,
	.flags = HEDDLE_POLICY_BY_PRIORITY | HEDDLE_POLICY_ANY_SPLIT | HEDDLE_POLICY_OVERCOMMITS |
		 HEDDLE_POLICY_WHOLE_SMS};
