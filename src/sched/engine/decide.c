/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes decisions: gathers the work that competes for the device (gather.c), asks the policy
 * (planner.c), and issues actions for what has changed (tell.c). Pinned launches keep
 * their quotas, whatever the policy says. */
#include "events.h"

/* Makes a tenant late if its submitted launch has SMs but does not arrive within grace_ns. Being
 * late, the tenant no longer takes SMs from others. No tenant becomes late while a launch that was
 * preempted, or that arrived without SMs, is still leaving, or while there is only one tenant. */
static void check_grace(struct sched *s, uint64_t now_ns)
{
	bool leaving = s->n_in[LAUNCH_HELD] || s->n_in[LAUNCH_DRAINING];
	bool others = s->tenants && s->tenants->next;

	for (struct sched_tenant *t = s->tenants; t && others && !leaving; t = t->next) {
		struct sched_launch *l = sched_arriving(t);

		if (!l || !quota_any(&l->allowed))
			continue;
		l->grace_ns = l->grace_ns ? l->grace_ns : now_ns + s->o.grace_ns;
		if (now_ns >= l->grace_ns) {
			t->begin.late = true;
			s->stats.late++;
		} else {
			s->deadline_ns = MIN(s->deadline_ns, l->grace_ns);
		}
	}
}

/* Returns true if a tenant is held, or if some launch has, or would begin with, less than the whole
 * device. */
static bool is_contended(const struct sched *s)
{
	for (const struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (t->held || !quota_same(&t->begin.now, &s->everywhere) ||
			(t->launches.head &&
				!quota_same(&t->launches.head->allowed, &s->everywhere)))
			return true;
		for (const struct sched_launch *l = t->launches.arrived.first; l; l = l->next) {
			if (!quota_same(&l->allowed, &s->everywhere))
				return true;
		}
	}
	return false;
}

static void keep_launch(const struct sched *s, struct sched_launch *l)
{
	if (l->state == LAUNCH_UNSURE || (l->state == LAUNCH_NEXT && sched_is_new(s, l)))
		l->next_allowed = s->everywhere;
	else if (quota_any(&l->allowed))
		l->next_allowed = l->allowed;
}

/* Keeps the quotas of pinned launches, whatever the policy decided. The policy may have given the
 * same SMs to other launches; these then share the SMs with the pinned launches, as they would
 * without heddle. */
static void keep_pinned(struct sched *s)
{
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (!t->pinned && !t->kept)
			continue;
		for (struct sched_launch *l = t->launches.arrived.first; l; l = l->next)
			keep_launch(s, l);
		if (t->launches.head)
			keep_launch(s, t->launches.head);
		if (t->kept && quota_any(&t->begin.now))
			t->begin.next = t->begin.now;
	}
}

static int gather_and_decide(struct sched *s, uint64_t now_ns)
{
	int r;

	sched_serve(s, now_ns);
	check_grace(s, now_ns);
	s->deadline_ns = UINT64_MAX;
	r = sched_gather(s, now_ns);
	if (r < 0)
		return r;
	r = planner_decide(s, now_ns);
	if (r < 0)
		return r;
	keep_pinned(s);
	return sched_tell(s, now_ns);
}

bool engine_is_due(const struct sched *s, uint64_t now_ns)
{
	/* Before the next decision, the caller must fetch all actions of the last one. */
	return (s->dirty || now_ns >= s->deadline_ns) && s->next_action >= s->actions.len;
}

int engine_decide(struct sched *s, uint64_t now_ns)
{
	int r;

	s->next_action = s->actions.len = 0;
	s->stats.decisions++;
	r = gather_and_decide(s, now_ns);
	s->dirty = r < 0 || s->n_in[LAUNCH_STRAY];
	if (r < 0)
		return r;
	check_grace(s, now_ns); /* for launches that got SMs in this decision */
	sched_learn_beside(s);
	s->contended = is_contended(s);
	return 0;
}

bool engine_next(struct sched *s, struct sched_action *ret)
{
	while (s->next_action < s->actions.len) {
		const struct sched_action *a = &s->actions.at[s->next_action++];

		if (!a->tenant)
			continue; /* the tenant or launch no longer exists */
		*ret = *a;
		return true;
	}
	return false;
}

uint32_t sched_pending(const struct sched *s)
{
	return (uint32_t)(s->actions.len - s->next_action);
}

uint64_t sched_deadline(const struct sched *s)
{
	return s->dirty ? 0 : s->deadline_ns;
}
