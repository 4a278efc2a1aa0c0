/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Events of launches, from submission to end. Most events update the times of the launch (FLEP,
 * section 5.1) and request a decision. */
#include "events.h"

#include <errno.h>
#include <stdlib.h>

static struct sched_launches *list_of(struct sched_launch *l)
{
	return launch_is(l->state, LAUNCH_SUBMITTED) ? &l->tenant->launches.submitted
	       : launch_is(l->state, LAUNCH_ARRIVED) ? &l->tenant->launches.arrived
	       : launch_is(l->state, LAUNCH_ASTRAY)  ? &l->tenant->launches.native
						     : NULL;
}

/* Inserts the launch in the order of ids. */
static void list_add(struct sched_launches *list, struct sched_launch *l)
{
	struct sched_launch *after = list->last;

	while (after && after->k.id > l->k.id)
		after = after->prev;
	l->prev = after;
	l->next = after ? after->next : list->first;
	*(l->next ? &l->next->prev : &list->last) = l;
	*(after ? &after->next : &list->first) = l;
}

static void list_remove(struct sched_launches *list, struct sched_launch *l)
{
	*(l->prev ? &l->prev->next : &list->first) = l->next;
	*(l->next ? &l->next->prev : &list->last) = l->prev;
}

/* Cancels all actions for the launch that the caller has not fetched yet. */
static void withdraw_actions(struct sched *s, const struct sched_launch *l)
{
	for (size_t i = s->next_action; i < s->actions.len; i++) {
		if (s->actions.at[i].launch == l)
			s->actions.at[i].tenant = NULL;
	}
}

void sched_comes(struct sched *s, struct sched_launch *l, uint64_t now_ns)
{
	if (!s->o.tells_started || l->coming_ns)
		return;
	l->coming_ns = now_ns;
	l->tenant->launches.n_coming++;
	l->tenant->launches.coming_until_ns = now_ns + SCHED_CHANGE_MAX_NS;
}

static void clear_coming(struct sched_launch *l)
{
	l->tenant->launches.n_coming -= l->coming_ns > 0;
	l->coming_ns = 0;
}

bool sched_to(struct sched *s, struct sched_launch *l, enum launch_state to)
{
	struct sched_launches *was = list_of(l), *list;
	struct sched_tenant *t = l->tenant;
	enum launch_state from = l->state;
	bool legal = launch_to(&l->state, s->n_in, to);

	list = list_of(l);
	if (was != list && was)
		list_remove(was, l);
	if (was != list && list)
		list_add(list, l);
	t->launches.n_submitted_of[l->stream_priority] += list == &t->launches.submitted;
	t->launches.n_submitted_of[l->stream_priority] -= was == &t->launches.submitted;
	t->launches.n_there += launch_is(l->state, LAUNCH_THERE);
	t->launches.n_there -= launch_is(from, LAUNCH_THERE);
	t->launches.n_leave += launch_is(l->state, LAUNCH_LEAVES);
	t->launches.n_leave -= launch_is(from, LAUNCH_LEAVES);
	if (l->k.predicted_ns == SCHED_UNKNOWN) {
		t->launches.n_unpredicted += launch_is(l->state, LAUNCH_THERE | LAUNCH_LEAVES);
		t->launches.n_unpredicted -= launch_is(from, LAUNCH_THERE | LAUNCH_LEAVES);
	}
	if (!launch_is(l->state, LAUNCH_THERE))
		clear_coming(l);
	if (l->state == LAUNCH_NEXT)
		t->launches.head = l;
	else if (t->launches.head == l)
		t->launches.head = NULL;
	if (!legal) {
		l->refused_from = from;
		l->refused_to = to;
		withdraw_actions(s, l);
		s->dirty = true;
	}
	return legal;
}

static void drop_launch(struct sched *s, struct sched_launch *l)
{
	sched_to(s, l, LAUNCH_NONE);
	l->tenant->account.sm_ns += l->sm_ns;
	l->tenant->launches.n--;
	s->stats.launches--;
	withdraw_actions(s, l);
	free(l);
}

void sched_drop_all(struct sched *s, struct sched_launches *list)
{
	while (list->first)
		drop_launch(s, list->first);
}

static bool is_known(const struct sched_launches *list, uint64_t id)
{
	for (const struct sched_launch *l = list->last; l && l->k.id >= id; l = l->prev) {
		if (l->k.id == id)
			return true;
	}
	return false;
}

int engine_submit(struct sched *s, uint64_t now_ns, struct sched_tenant *t,
	const struct sched_launch_info *info, struct sched_launch **ret)
{
	struct sched_launch *l;

	if (info->total == 0)
		return -EINVAL;
	if (t->launches.n >= s->o.max_launches)
		return -ENOSPC;
	if (is_known(&t->launches.arrived, info->id) ||
		is_known(&t->launches.submitted, info->id) ||
		is_known(&t->launches.native, info->id))
		return -EEXIST;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->tenant = t;
	l->guard.is = info->unranked;
	l->guard.counts = info->counts & ~1u;
	l->user = info->user;
	l->device_sms = s->o.n_sms;
	l->regs = info->regs;
	l->shape = sched_shape_of(s, info);
	l->stream_priority = MIN(info->stream_priority, SCHED_STREAM_RANKS - 1);
	l->submit_ns = l->since_ns = now_ns;
	l->k = (struct sched_kernel){
		.kind = HEDDLE_POLICY_MANAGED,
		.tenant = t->id,
		.id = info->id,
		.order = s->order++,
		.kernel = info->kernel,
		.total = info->total,
		.threads = info->threads,
		.workers_per_sm = sched_workers(&s->o, info),
		.predicted_ns = s->o.model->predict(s->model_state, &l->shape),
		.cost_ns = s->o.model->cost(s->model_state, info->kernel, s->o.cost_ns),
	};
	l->k.remaining_ns = l->k.predicted_ns;
	sched_to(s, l, LAUNCH_QUEUED);
	t->launches.n++;
	s->stats.launches++;
	s->dirty = true;
	*ret = l;
	return 0;
}

static bool has_work_on_device(const struct sched_tenant *t)
{
	for (const struct sched_launch *l = t->launches.arrived.first; l; l = l->next) {
		if (l->state != LAUNCH_WAITING)
			return true;
	}
	return t->opaque_state != OPAQUE_NONE || t->launches.native.first;
}

void sched_number(const struct sched *s, struct sched_tenant *t)
{
	bool others = false;

	if (!s->o.renumbers || has_work_on_device(t))
		return;
	for (const struct sched_tenant *o = s->tenants; o && !others; o = o->next)
		others = o != t && has_work_on_device(o);
	t->renumbered = others;
}

void engine_arrive(struct sched *s, uint64_t now_ns, struct sched_launch *l, enum sched_began began)
{
	sched_serve(s, now_ns);
	if (!launch_is(l->state, LAUNCH_SUBMITTED))
		return;
	sched_account(l, now_ns);
	sched_number(s, l->tenant);
	/* A launch of the guard form needs the same quota on all its SMs. If it begins with
	 * different quotas, it may run on only some of these SMs, so the next decision must send
	 * quotas in any case. */
	if (began == SCHED_BEGAN_TOLD && l->guard.is && !sched_guard_is_even(&l->tenant->begin.now))
		began = SCHED_BEGAN_UNKNOWN;
	/* l->allowed gets the quotas that the launch began with. Later decisions may want other
	 * quotas; the next decision sends the difference. */
	l->allowed = began == SCHED_BEGAN_FREE   ? s->everywhere
		     : began == SCHED_BEGAN_TOLD ? l->tenant->begin.now
						 : (struct quota){0};
	l->partial |= !quota_any(&l->allowed);
	if (l->guard.is)
		sched_guard_fit(l, &l->allowed);
	sched_to(s, l,
		began == SCHED_BEGAN_UNKNOWN ? LAUNCH_UNSURE
		: quota_any(&l->allowed)     ? LAUNCH_RUNNING
					     : LAUNCH_HELD);
	l->granted_ns = now_ns;
	l->tenant->begin.late = false;
	s->dirty = true;
}

void engine_progress(struct sched *s, struct sched_launch *l, uint64_t finished)
{
	(void)s;
	l->k.finished = MAX(l->k.finished, MIN(finished, l->k.total));
	sched_work(l);
}

#define CHANGE_PART 8 /* a new sample has a weight of 1/8 in the mean */

/* Ends the change between launches, because the launch has begun a block on its new SMs. */
static void end_change(struct sched *s, uint64_t now_ns, struct sched_launch *l)
{
	uint64_t ns = MIN(now_ns - l->coming_ns, SCHED_CHANGE_MAX_NS);

	sched_serve(s, now_ns);
	clear_coming(l);
	/* No block of the launch ran until now. The model of pairs must not learn this time,
	 * because it would make the pair look slow. */
	if (s->pairs) {
		sched_account(l, now_ns);
		l->spell = (struct sched_spell){.finished = l->k.finished};
	}
	s->change_ns =
		s->change_ns ? s->change_ns - s->change_ns / CHANGE_PART + ns / CHANGE_PART : ns;
}

void engine_started(struct sched *s, uint64_t now_ns, struct sched_launch *l, uint64_t started)
{
	uint64_t before = l->started;

	if (l->coming_ns && started > before)
		end_change(s, now_ns, l);

	if (started > before && launch_is(l->state, LAUNCH_HAS_SMS))
		l->tenant->launches.began_ns = now_ns;
	l->started = MAX(before, MIN(started, l->k.total));
	s->dirty |= !sched_policy_is(s->policy, HEDDLE_POLICY_WHOLE_SMS) && before < l->k.total &&
		    l->started == l->k.total;
}

void engine_idle(struct sched *s, uint64_t now_ns, struct sched_launch *l, bool idle)
{
	(void)now_ns;
	if (l->idle == idle)
		return;
	l->idle = idle;
	s->dirty = true;
}

void engine_shrunk(struct sched *s, uint64_t now_ns, struct sched_launch *l)
{
	if (l->state != LAUNCH_SHRINKING)
		return;
	sched_to(s, l, LAUNCH_RUNNING);
	sched_learn_way_out(s, now_ns, l);
}

void engine_drained(struct sched *s, uint64_t now_ns, struct sched_launch *l)
{
	sched_serve(s, now_ns);
	sched_account(l, now_ns);
	if (sched_guard_drained(s, l))
		engine_shrunk(s, now_ns, l);
	if (!launch_is(l->state, LAUNCH_LEAVES))
		return;
	sched_to(s, l, LAUNCH_WAITING);
	s->left_ns = now_ns;
	s->dirty = true;
	sched_learn_way_out(s, now_ns, l);
	sched_learn_spell(s, l);
}

void engine_absent(struct sched *s, struct sched_launch *l)
{
	bool leaves = launch_is(l->state, LAUNCH_LEAVES);

	s->dirty |= l->guard.resizing;
	l->guard.resizing = false;
	if (!leaves && l->state != LAUNCH_SHRINKING)
		return;
	sched_to(s, l, leaves ? LAUNCH_WAITING : LAUNCH_RUNNING);
	l->preempt_ns = 0;
	s->dirty |= leaves;
}

void engine_ended(struct sched *s, struct sched_launch *l, uint64_t ended_ns)
{
	(void)s;
	sched_account(l, ended_ns);
	l->since_ns = UINT64_MAX;
}

void engine_end(
	struct sched *s, uint64_t now_ns, struct sched_launch *l, bool completed, uint64_t ran_ns)
{
	sched_serve(s, now_ns);
	sched_account(l, now_ns);
	if (completed) {
		engine_progress(s, l, l->k.total);
		sched_learn_end(s, l, l->preemptions || l->partial ? 0 : ran_ns);
		/* A launch that has completed proves that its tenant's streams make progress. */
		l->tenant->begin.late = false;
	}
	drop_launch(s, l);
	s->dirty = true;
}
