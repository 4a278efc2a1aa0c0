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
 * behind equals goes first for a while (waits.c). */
#include "policy.h"

#include <limits.h>
#include <stdlib.h>

/* A launch of unknown duration counts as the shortest for as long as this. A launch that runs longer
 * and has not finished a block counts as one with as much left as it has run. */
#define UNKNOWN_SHORT_NS 20000000u

static uint64_t assumed_remaining(const struct sched_kernel *k)
{
	if (k->remaining_ns != SCHED_UNKNOWN)
		return k->remaining_ns;
	return k->attained_ns < UNKNOWN_SHORT_NS ? 0 : k->attained_ns;
}

/* Returns the time by which kernels of one priority are sorted, the shortest first. Line 27 of the
 * listing says: a waiting kernel Ks replaces the running kernel Kr if Kr.Tr > Ks.Tr + overhead (Tr:
 * remaining time). So a running kernel is sorted by its remaining time minus its preemption cost.
 * Preempting a kernel that has not begun on its SMs costs nothing. */
static uint64_t sort_key(const struct sched_kernel *k)
{
	uint64_t ns = assumed_remaining(k);

	if (!k->running || !k->begun)
		return ns;
	/* The remaining time of a launch that the model cannot predict is an estimate from its
	 * progress. Two such estimates must not make their launches preempt each other by turns, so
	 * a running launch of this kind yields only to one with less than half of its time. */
	if (k->predicted_ns == SCHED_UNKNOWN)
		ns /= 2;
	return ns > k->cost_ns ? ns - k->cost_ns : 0;
}

static int compare_kernels(const void *pa, const void *pb)
{
	const struct sched_kernel *a = *(struct sched_kernel *const *)pa;
	const struct sched_kernel *b = *(struct sched_kernel *const *)pb;
	uint64_t ka = sort_key(a), kb = sort_key(b);

	/* Kernels without work sort last, whatever their priority. */
	if ((a->turn == SCHED_NO_TURN) != (b->turn == SCHED_NO_TURN))
		return a->turn == SCHED_NO_TURN ? 1 : -1;
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	/* Unmanaged (opaque) work comes after the launches of its priority, because it only
	 * excludes work of lower priority. */
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	/* Kernels that have waited too long come first, in the order in which they became
	 * overdue. */
	if ((a->overdue == 0) != (b->overdue == 0))
		return a->overdue ? -1 : 1;
	if (a->overdue != b->overdue)
		return a->overdue < b->overdue ? -1 : 1;
	/* Stalled tenants have had their turn. */
	if (a->turn != b->turn)
		return a->turn < b->turn ? -1 : 1;
	/* depth is greater for a launch that its own tenant ranks lower than another of its
	 * launches. Such a launch comes after the first launches of all tenants of this
	 * priority. */
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (ka != kb)
		return ka < kb ? -1 : 1;
	if (a->running != b->running)
		return a->running ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

struct filling {
	struct sched_view *v;
	uint32_t lane, left;
};

/* Puts the kernel into the lane. The kernel must not get the lane's SMs yet if heddle took SMs back
 * from it before a block ran: other work may return at once. No other work gets them meanwhile, so
 * that this work is not preempted in vain, too. */
static void enter_lane(const struct sched_view *v, struct sched_kernel *k, uint32_t lane)
{
	k->lane = lane;
	if (k->running || !k->pause_ns)
		return;
	if (!k->free_ns)
		k->free_ns = MAX(v->now_ns, 1);
	k->withheld = v->now_ns < k->free_ns + k->pause_ns;
}

/* Puts kernel i into a new lane (a set of kernels that share SMs). Other kernels of the same
 * priority join the lane if tenant, kind and stream priority (depth) are the same, too. None joins
 * if a tenant's kernels compete with each other (within_srt). */
static void fill_lane(struct filling *f, size_t i)
{
	struct sched_kernel *head = f->v->at[i];
	uint32_t want = 0;

	for (size_t j = i; j < f->v->len; j++) {
		struct sched_kernel *k = f->v->at[j];

		if (k->priority != head->priority)
			break;
		if (j != i && (k->tenant != head->tenant || k->kind != head->kind ||
				      k->depth != head->depth || f->v->within_srt))
			continue;
		enter_lane(f->v, k, f->lane);
		k->want_sms = f->v->spatial ? MIN(k->need_sms, f->left) : f->left;
		want = MIN(want + k->want_sms, f->left);
	}
	f->lane++;
	f->left -= want;
}

static void hpf_decide(struct sched_view *v)
{
	struct filling f = {v, 0, v->n_sms};

	v->hold_below = INT_MIN;
	if (v->len == 0)
		return;
	qsort(v->at, v->len, sizeof(v->at[0]), compare_kernels);
	if (v->at[0]->turn != SCHED_NO_TURN)
		v->hold_below = v->at[0]->priority;
	for (size_t i = 0; i < v->len && f.left; i++) {
		struct sched_kernel *k = v->at[i];

		if (k->lane != SCHED_NO_LANE)
			continue;
		if (k->kind != SCHED_MANAGED) {
			/* Unmanaged work excludes work of lower priority from as many SMs as it may
			 * use. Work of its own priority shares these SMs as the device decides. */
			k->lane = f.lane++;
			k->want_sms = v->spatial ? MIN(k->need_sms, f.left) : f.left;
			f.left -= k->want_sms;
			continue;
		}
		/* Without MPS the device itself switches between tenants, and only as a whole. So
		 * only one tenant gets lanes. */
		if (!v->simultaneous && k->tenant != v->at[0]->tenant)
			continue;
		fill_lane(&f, i);
	}
}

const struct sched_policy sched_policy_hpf = {.name = "hpf", .decide = hpf_decide};
