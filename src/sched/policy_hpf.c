/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Highest priority first, shortest remaining time within a priority (FLEP, section 5.2.1 and
 * figure 6).
 *
 * The listing differs from its text in two places, and the text is what is meant: an arrival of the
 * running kernel's priority has to be put into its queue before the queue is looked at (line 9 does
 * not), and so has the preempted kernel itself (line 4 enqueues a number). Both fall away here: the
 * "queues" are the classes of the sorted view, in which every active kernel stands at all times,
 * running ones included. And where the listing knows one running kernel Kr, there may be several
 * here, on SMs of their own (spatial preemption) or of one tenant together. */
#include "policy.h"

#include <limits.h>
#include <stdlib.h>

/* Line 27: Ks takes over from Kr if Kr.Tr > Ks.Tr + overhead. As an order of all kernels: a running
 * kernel counts as shorter by its preemption cost. A kernel that has not begun on its SMs costs
 * nothing to preempt. */
static uint64_t sort_key(const struct sched_kernel *k)
{
	if (k->remaining_ns == SCHED_UNKNOWN)
		return SCHED_UNKNOWN; /* no reason to preempt for it, first come first served */
	if (!k->running || !k->begun)
		return k->remaining_ns;
	return k->remaining_ns > k->cost_ns ? k->remaining_ns - k->cost_ns : 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct sched_kernel *a = *(struct sched_kernel *const *)pa;
	const struct sched_kernel *b = *(struct sched_kernel *const *)pb;
	uint64_t ka = sort_key(a), kb = sort_key(b);

	/* Who has nothing to do is in nobody's way, however high it stands. */
	if ((a->turn == SCHED_NO_TURN) != (b->turn == SCHED_NO_TURN))
		return a->turn == SCHED_NO_TURN ? 1 : -1;
	if (a->priority != b->priority)
		return a->priority > b->priority ? -1 : 1;
	/* What cannot be steered stands behind the launches of its priority: it only bars lower
	 * ones. */
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	/* Who gets nowhere has had its turn. */
	if (a->turn != b->turn)
		return a->turn < b->turn ? -1 : 1;
	/* What a tenant itself ranks lower comes after everybody's first choice. */
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

/* Puts kernel i and, unless they compete, its tenant's equals into the next lane. */
static void fill(struct filling *f, size_t i)
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
		k->lane = f->lane;
		k->want_sms = f->v->spatial ? MIN(k->need_sms, f->left) : f->left;
		want = MIN(want + k->want_sms, f->left);
	}
	f->lane++;
	f->left -= want;
}

static void decide(struct sched_view *v)
{
	struct filling f = {v, 0, v->n_sms};

	v->hold_below = INT_MIN;
	if (v->len == 0)
		return;
	qsort(v->at, v->len, sizeof(v->at[0]), compare);
	if (v->at[0]->turn != SCHED_NO_TURN)
		v->hold_below = v->at[0]->priority;
	for (size_t i = 0; i < v->len && f.left; i++) {
		struct sched_kernel *k = v->at[i];

		if (k->lane != SCHED_NO_LANE)
			continue;
		if (k->kind != SCHED_MANAGED) {
			/* Bars what stands below, by as many SMs as it may take; equals of its own
			 * priority share with it as the device sees fit. */
			k->lane = f.lane++;
			k->want_sms = v->spatial ? MIN(k->need_sms, f.left) : f.left;
			f.left -= k->want_sms;
			continue;
		}
		/* Without MPS the device itself changes between tenants, and only as a whole. */
		if (!v->simultaneous && k->tenant != v->at[0]->tenant)
			continue;
		fill(&f, i);
	}
}

const struct sched_policy sched_policy_hpf = {.name = "hpf", .decide = decide};
