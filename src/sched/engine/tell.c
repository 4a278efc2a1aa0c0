/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compares the new quotas with those of the last decision and issues an action for each difference.
 * Changes the launches' states as if the actions were done. A preempted launch gets no SM before
 * its last worker has left, whatever the policy says. */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool add_action(struct sched *s, enum sched_action_type type, bool first,
	struct sched_tenant *t, struct sched_launch *l)
{
	struct sched_action a = {.type = type, .first = first, .tenant = t, .launch = l};

	if (l) {
		a.n_sms = quota_count(&l->next_allowed);
		a.workers = quota_workers(&l->next_allowed, l->k.workers_per_sm);
	}

	return VEC_PUSH(&s->actions, a);
}

static int by_urgency(const void *pa, const void *pb)
{
	const struct sched_action *a = pa, *b = pb;

	return (a->type > b->type) - (a->type < b->type);
}

static bool tell_launch(struct sched *s, struct sched_launch *l)
{
	bool first = l->state == LAUNCH_UNSURE;
	enum sched_action_type type;

	if (!first && quota_same(&l->allowed, &l->next_allowed))
		return true;
	if (launch_is(l->state, LAUNCH_LEAVES) && quota_any(&l->next_allowed))
		return true; /* the engine decides again when the launch has drained */
	if (!quota_any(&l->next_allowed))
		type = SCHED_PREEMPT;
	else if (!quota_any(&l->allowed))
		type = SCHED_GRANT;
	else
		type = quota_less(&l->allowed, &l->next_allowed) ? SCHED_GROW : SCHED_SHRINK;
	return add_action(s, type, first, l->tenant, l);
}

/* Grants every SM to each launch whose real state is unknown (LAUNCH_STRAY). With no bound, the
 * launch can run as it would without heddle, whatever state it is in. */
static bool tell_strays(struct sched *s, struct sched_tenant *t)
{
	for (struct sched_launch *l = t->launches.native.first; l; l = l->next) {
		l->next_allowed = s->everywhere;
		if (l->state == LAUNCH_STRAY && !add_action(s, SCHED_NATIVE, true, t, l))
			return false;
	}
	return true;
}

static void commit_launch(
	struct sched *s, struct sched_launch *l, const struct sched_action *a, uint64_t now_ns)
{
	enum launch_state to = LAUNCH_RUNNING;

	if (a->type == SCHED_PREEMPT) {
		to = LAUNCH_DRAINING;
		l->grace_ns = 0;
		s->stats.preemptions += !a->first;
	} else if (a->type == SCHED_SHRINK) {
		to = LAUNCH_SHRINKING;
		s->stats.shrinks++;
	} else if (a->type == SCHED_GRANT) {
		s->stats.grants++;
		sched_number(s, l->tenant);
	} else if (a->type == SCHED_GROW) {
		l->preempt_ns = 0; /* it got its SMs back before it had left them */
	} else {
		to = LAUNCH_NATIVE;
		s->stats.natives++;
	}
	/* The first action for a launch does not count as a preemption, because the launch may not
	 * even run yet. */
	if (to != LAUNCH_RUNNING && to != LAUNCH_NATIVE && !a->first) {
		l->preempt_ns = now_ns;
		l->preemptions++;
	}
	sched_guard_told(l);
	l->allowed = l->next_allowed;
	sched_to(s, l, to);
	if (a->type == SCHED_GRANT) {
		sched_comes(s, l, now_ns);
		l->granted_ns = now_ns;
	}
}

/* Stores the next quotas of a launch that has not arrived as its present ones. No action is needed:
 * such a launch begins with its tenant's quotas, for which another action is issued. */
static void commit_head(struct sched_launch *head)
{
	if (!quota_any(&head->next_allowed))
		head->grace_ns = 0;
	head->allowed = head->next_allowed;
}

static bool tell_begin(struct sched *s, struct sched_tenant *t)
{
	struct sched_action a = {.type = SCHED_BEGIN, .tenant = t};

	if (quota_same(&t->begin.now, &t->begin.next))
		return true;
	a.n_sms = quota_count(&t->begin.next);
	return VEC_PUSH(&s->actions, a);
}

int sched_tell(struct sched *s, uint64_t now_ns)
{
	size_t from = s->actions.len;

	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		bool held = t->next_held;

		if (!tell_begin(s, t))
			goto nomem;
		for (struct sched_launch *l = t->launches.arrived.first; l; l = l->next) {
			sched_guard_place(s, l, now_ns);
			if (!tell_launch(s, l))
				goto nomem;
		}
		if (!tell_strays(s, t))
			goto nomem;
		if (held != t->held &&
			!add_action(s, held ? SCHED_HOLD : SCHED_RELEASE, false, t, NULL))
			goto nomem;
	}
	if (s->actions.len - from > 1)
		qsort(s->actions.at + from, s->actions.len - from, sizeof(s->actions.at[0]),
			by_urgency);
	for (size_t i = from; i < s->actions.len; i++) {
		struct sched_action *a = &s->actions.at[i];

		if (a->launch) {
			commit_launch(s, a->launch, a, now_ns);
		} else if (a->type == SCHED_BEGIN) {
			a->tenant->begin.now = a->tenant->begin.next;
		} else {
			a->tenant->held = a->type == SCHED_HOLD;
			if (!a->tenant->held && a->tenant->opaque_state == OPAQUE_WAITS)
				tenant_opaque_to(&a->tenant->opaque_state, OPAQUE_RUNS);
			s->stats.holds += a->tenant->held;
		}
	}
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (t->launches.head)
			commit_head(t->launches.head);
	}
	s->decided = s->order;
	return 0;
nomem:
	s->actions.len = from;
	return -ENOMEM;
}
