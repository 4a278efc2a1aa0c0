/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tenants of the same priority share the device by time slices while one of them is stalled.
 * Normally the policy decides which tenant goes first, and running launches continue.
 *
 * A launch that never ends, or that reports wrong progress, would keep other tenants waiting for
 * ever. So a launch is stalled if its tenant has SMs, a tenant of its priority waits for that
 * tenant, and the launch makes no progress for still_ns. Then each tenant of this priority has the
 * device for still_ns while another tenant waits, and then goes to the end of the queue. The queue
 * consists of tenants, not launches: a further launch gives no new time slice, and a pause does not
 * end one. A launch that does not leave although it was preempted is ignored until it has left.
 * waits.c bounds how long a launch waits in this queue.
 *
 * Progress means to finish so much of the grid that the end is in sight (STEPS). Progress without
 * SMs does not count. A task pool without tasks is never stalled, and goes last. */
#include "engine.h"

#define STEPS       64u /* a launch that makes progress ends within this many still_ns */
#define LEAVE_STILL 8u  /* how long a preempted launch is awaited, in still_ns */

uint64_t sched_last_turn(const struct sched *s, const struct sched_level *v)
{
	uint64_t last = 0;

	for (const struct sched_tenant *t = s->tenants; t && s->turns; t = t->next) {
		if (t->level == v)
			last = MAX(last, t->turn);
	}
	return last;
}

static bool is_leaving(const struct sched *s, const struct sched_launch *l, uint64_t now_ns)
{
	return launch_is(l->state, LAUNCH_LEAVES) &&
	       now_ns - l->preempt_ns < LEAVE_STILL * s->o.still_ns;
}

bool sched_stays_away(const struct sched *s, const struct sched_launch *l, uint64_t now_ns)
{
	return l->state == LAUNCH_DRAINING && l->preempt_ns && !is_leaving(s, l, now_ns);
}

static void check_launch_stalled(const struct sched *s, struct sched_launch *l, uint64_t now_ns)
{
	uint64_t awaited_ns = l->tenant->awaited_ns;
	uint64_t since = MAX(MAX(awaited_ns, l->progress_ns), s->left_ns);

	if (!l->had_lane)
		return;
	if (l->idle || l->k.finished - l->progress_finished >= MAX(l->k.total / STEPS, 1)) {
		l->stalled = false;
		l->progress_finished = l->k.finished;
		l->progress_ns = now_ns;
	} else if (awaited_ns && now_ns - since >= s->o.still_ns) {
		l->stalled = true;
		l->progress_ns = now_ns; /* the next check is after the same time */
		l->tenant->used_ns = s->o.still_ns;
	}
}

static void check_tenant_stalled(const struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	t->stalled = false;
	for (struct sched_launch *l = t->arrived.first; l; l = l->next) {
		check_launch_stalled(s, l, now_ns);
		t->stalled |= l->stalled;
	}
}

/* No time counts while preempted launches are leaving. */
static void note_leaving_launches(struct sched *s, uint64_t now_ns)
{
	for (const struct sched_tenant *t = s->tenants; t; t = t->next) {
		for (const struct sched_launch *l = t->arrived.first; l; l = l->next) {
			if (is_leaving(s, l, now_ns))
				s->left_ns = now_ns;
		}
	}
}

static void count_turn_time(const struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	uint64_t from = MAX(t->counted_ns, s->left_ns);

	if (t->awaited_ns && now_ns > from)
		t->used_ns += now_ns - from;
	t->counted_ns = now_ns;
}

static void update_turn(const struct sched *s, struct sched_tenant *t)
{
	t->in_turns = t->level->stalled;
	if (!t->in_turns) {
		t->turn = t->used_ns = 0;
	} else if (t->used_ns >= s->o.still_ns) {
		t->turn = ++t->level->last_turn;
		t->used_ns = 0;
	}
}

void sched_turns(struct sched *s, uint64_t now_ns)
{
	bool turns = s->turns;

	s->turns = false;
	for (struct sched_level *v = s->levels; v; v = v->next) {
		v->stalled = false;
		v->last_turn = 0;
	}
	note_leaving_launches(s, now_ns);
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		count_turn_time(s, t, now_ns);
		check_tenant_stalled(s, t, now_ns);
		s->turns |= t->stalled;
		t->level->stalled |= t->stalled;
		t->level->last_turn = MAX(t->level->last_turn, t->turn);
	}
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (turns || s->turns)
			update_turn(s, t);
		else
			t->used_ns = 0;
	}
	for (size_t i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (l)
			l->k.turn = l->idle ? SCHED_NO_TURN : l->tenant->turn;
	}
}

/* Returns whether another tenant of its priority waits for this one. */
static bool has_waiting_equal(const struct sched_tenant *t)
{
	return t->has_lane && t->level->n_waiting > t->waits;
}

static void note_launch(struct sched_launch *l, uint64_t now_ns, bool *io_any)
{
	bool has_lane = l->k.lane != SCHED_NO_LANE && !l->k.withheld;

	if (has_lane && !l->had_lane) {
		l->progress_ns = now_ns;
		l->progress_finished = l->k.finished;
	}
	l->had_lane = has_lane;
	if (l->idle)
		return; /* an idle pool waits for nothing, and no tenant waits for it */
	l->tenant->has_lane |= has_lane;
	l->tenant->level->n_waiting += !has_lane && !l->tenant->waits;
	l->tenant->waits |= !has_lane;
	*io_any |= !has_lane;
}

/* Returns when to check next whether a launch is stalled or a time slice has ended. */
static uint64_t next_check_ns(const struct sched *s, const struct sched_tenant *t)
{
	uint64_t since = MAX(t->awaited_ns, s->left_ns), next = UINT64_MAX;

	if (t->in_turns)
		next = MAX(t->counted_ns, s->left_ns) - t->used_ns;
	for (const struct sched_launch *l = t->arrived.first; l; l = l->next) {
		if (l->had_lane && !l->idle)
			next = MIN(next, MAX(since, l->progress_ns));
	}
	return next < UINT64_MAX - s->o.still_ns ? next + s->o.still_ns : UINT64_MAX;
}

void sched_turns_note(struct sched *s, uint64_t now_ns)
{
	bool any = false;

	for (struct sched_tenant *t = s->tenants; t; t = t->next)
		t->has_lane = t->waits = false;
	for (struct sched_level *v = s->levels; v; v = v->next)
		v->n_waiting = 0;
	for (size_t i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (l)
			note_launch(l, now_ns, &any);
	}
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (!any || !has_waiting_equal(t)) {
			t->awaited_ns = 0;
			continue;
		}
		t->awaited_ns = t->awaited_ns ? t->awaited_ns : MAX(now_ns, 1);
		s->deadline_ns = MIN(s->deadline_ns, next_check_ns(s, t));
	}
}
