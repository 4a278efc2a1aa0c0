/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Gathers the work that competes for the device:
 * - the launches of each tenant that have arrived. If a tenant has none, its oldest submitted
 *   launch competes for a while, because its workers cannot report its arrival as long as other
 *   launches fill the device;
 * - unmanaged (opaque) work, as one pseudo launch for each tenant. */
#include "engine.h"

#include <errno.h>

/* give up on a preempted launch that has not left after this many still_ns */
#define LEAVE_STILL 8u

static bool is_leaving(const struct sched *s, const struct sched_launch *l, uint64_t now_ns)
{
	return launch_is(l->state, LAUNCH_LEAVES) &&
	       now_ns - l->preempt_ns < LEAVE_STILL * s->o.still_ns;
}

/* Returns whether the launch was preempted long ago and has not left. Decisions ignore it then. */
static bool stays_away(const struct sched *s, const struct sched_launch *l, uint64_t now_ns)
{
	return l->state == LAUNCH_DRAINING && l->preempt_ns && !is_leaving(s, l, now_ns);
}

struct sched_launch *sched_arriving(const struct sched_tenant *t)
{
	return t->launches.arrived.first || t->begin.late ? NULL : t->launches.submitted.first;
}

bool sched_is_new(const struct sched *s, const struct sched_launch *l)
{
	return l->k.order >= s->decided;
}

/* Makes another submitted launch of the tenant the one that competes for the device (its head). The
 * new head's waiting time counts from now on; the old head no longer waits. */
static void change_head(struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	struct sched_launch *head = sched_arriving(t);

	if (t->launches.head == head)
		return;
	if (t->launches.head) {
		sched_account(t->launches.head, now_ns);
		sched_to(s, t->launches.head, LAUNCH_QUEUED);
	}
	if (head) {
		head->since_ns = MAX(head->since_ns, now_ns);
		head->allowed = sched_is_new(s, head) ? (struct quota){0} : t->begin.now;
		head->grace_ns = 0;
		sched_to(s, head, LAUNCH_NEXT);
	}
}

/* Returns whether the launch has SMs, but either no block of it has begun on them, or other
 * launches are still leaving them. */
static bool is_to_begin(const struct sched *s, const struct sched_launch *l)
{
	bool leaving = s->n_in[LAUNCH_HELD] || s->n_in[LAUNCH_DRAINING];

	return l->coming_ns || (l->state == LAUNCH_NEXT && leaving);
}

static bool gather_launch(struct sched *s, struct sched_launch *l, uint32_t depth, uint64_t now_ns)
{
	sched_account(l, now_ns);
	if (is_leaving(s, l, now_ns))
		s->left_ns = now_ns;
	if (stays_away(s, l, now_ns)) {
		l->next_allowed = (struct quota){0};
		return true;
	}
	l->k.depth = depth;
	l->k.running = quota_any(&l->allowed);
	l->k.begun = l->k.running && !is_to_begin(s, l);
	return VEC_PUSH(&s->view, &l->k);
}

static int64_t submitted_priority(const struct sched_tenant *t)
{
	int64_t p = SCHED_STREAM_RANKS - 1;

	while (p >= 0 && !t->launches.n_submitted_of[p])
		p--;
	return p;
}

static bool gather_tenant(struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	uint32_t top = 0;
	bool busy;

	change_head(s, t, now_ns);
	busy = t->opaque_state != OPAQUE_NONE || t->launches.head || t->launches.arrived.first ||
	       t->launches.native.first;
	t->begin.best = NULL;
	t->begin.submitted_priority = submitted_priority(t);
	for (struct sched_launch *l = t->launches.arrived.first; l; l = l->next)
		top = MAX(top, l->stream_priority);
	for (struct sched_launch *l = t->launches.arrived.first; l; l = l->next) {
		if (!gather_launch(s, l, top - l->stream_priority, now_ns))
			return false;
	}
	if (t->launches.head && !gather_launch(s, t->launches.head, 0, now_ns))
		return false;
	if (t->opaque_state != OPAQUE_NONE && !VEC_PUSH(&s->view, &t->opaque))
		return false;
	sched_set_busy(s, t, busy, now_ns);
	return true;
}

int sched_gather(struct sched *s, uint64_t now_ns)
{
	s->view.len = 0;
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		t->next_held = false;
		if (!gather_tenant(s, t, now_ns))
			return -ENOMEM;
	}
	return 0;
}
