/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Equals take turns while one of them gets nowhere, on the device or in front of it. Among tenants
 * of one priority the policy's order decides who runs, and it lets who runs go on: a launch that
 * never ends, or that says nothing true of itself, would keep its equals waiting for ever. So
 * whoever has SMs, is waited for by an equal and has not come on in still_ns stands still; while a
 * tenant of a priority has such a launch, each of that priority has the device for still_ns while
 * another waits, and goes to the end of the row then. Tenants are in the row, not launches: one
 * more launch is no new turn, and a pause does not end one. Who does not even leave when told to is
 * not reckoned with until it has.
 *
 * And the shortest remaining time goes first among equals (policy_hpf.c), so one with a long launch
 * would wait for ever beside another with short ones that never ends to launch them. Who has had
 * less than an eighth of the device in 16 still_ns, with work all the time, is starved until a
 * launch of it has ended: those of its priority take turns till then.
 *
 * To come on is to finish a part of the grid from which the end can be expected: what ran for a
 * year at its pace is as good as standing. What a launch says while it has no SMs does not count.
 * A pool of tasks that says it has none gets on as well as one can: it stands behind everybody
 * while that lasts, and is never taken for one that stands still. */
#include "engine.h"

#define STEPS        64u /* a launch that comes on is over after so many still_ns */
#define LEAVE_STILL  8u  /* who is told to leave is waited for so many of them at most */
#define STARVING     16u /* still_ns, after which it is looked at who has had */
#define STARVED_PART 8u  /* less than an eighth of that time */

static bool any_still(const struct sched *s, int priority)
{
	for (const struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (t->priority == priority && (t->still || t->starved))
			return true;
	}
	return false;
}

uint64_t sched_last_turn(const struct sched *s, int priority)
{
	uint64_t last = 0;

	for (const struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (t->priority == priority)
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

static void look_at_launch(const struct sched *s, struct sched_launch *l, uint64_t now_ns)
{
	uint64_t awaited_ns = l->tenant->awaited_ns;
	uint64_t since = MAX(MAX(awaited_ns, l->came_on_ns), s->left_ns);

	if (!l->had_lane)
		return;
	if (l->idle || l->k.finished - l->seen >= MAX(l->k.total / STEPS, 1)) {
		l->still = false;
		l->seen = l->k.finished;
		l->came_on_ns = now_ns;
	} else if (awaited_ns && now_ns - since >= s->o.still_ns) {
		l->still = true;
		l->came_on_ns = now_ns; /* looked at again after as much time */
		l->tenant->used_ns = s->o.still_ns;
	}
}

static void look_at_tenant(const struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	t->still = false;
	for (struct sched_launch *l = t->arrived.first; l; l = l->next) {
		look_at_launch(s, l, now_ns);
		t->still |= l->still;
	}
}

/* Nobody's time runs while others are on their way out. */
static void look_who_leaves(struct sched *s, uint64_t now_ns)
{
	for (const struct sched_tenant *t = s->tenants; t; t = t->next) {
		for (const struct sched_launch *l = t->arrived.first; l; l = l->next) {
			if (is_leaving(s, l, now_ns))
				s->left_ns = now_ns;
		}
	}
}

static void account(const struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	uint64_t from = MAX(t->counted_ns, s->left_ns);

	if (t->awaited_ns && now_ns > from)
		t->used_ns += now_ns - from;
	t->counted_ns = now_ns;
}

static void move_up(const struct sched *s, struct sched_tenant *t)
{
	t->in_turns = any_still(s, t->priority);
	if (!t->in_turns) {
		t->turn = t->used_ns = 0;
	} else if (t->used_ns >= s->o.still_ns) {
		t->turn = sched_last_turn(s, t->priority) + 1;
		t->used_ns = 0;
	}
}

void sched_turns(struct sched *s, uint64_t now_ns)
{
	bool turns = s->turns;

	s->turns = false;
	look_who_leaves(s, now_ns);
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		account(s, t, now_ns);
		look_at_tenant(s, t, now_ns);
		s->turns |= t->still || t->starved;
	}
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		if (turns || s->turns)
			move_up(s, t);
		else
			t->used_ns = 0;
	}
	for (size_t i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (l)
			l->k.turn = l->idle ? SCHED_NO_TURN : l->tenant->turn;
	}
}

static bool is_awaited(const struct sched *s, const struct sched_tenant *t)
{
	if (!t->has_lane)
		return false;
	for (const struct sched_tenant *o = s->tenants; o; o = o->next) {
		if (o != t && o->priority == t->priority && o->waits)
			return true;
	}
	return false;
}

static void note_launch(struct sched_launch *l, uint64_t now_ns, bool *io_any)
{
	bool has_lane = l->k.lane != SCHED_NO_LANE;

	if (has_lane && !l->had_lane) {
		l->came_on_ns = now_ns;
		l->seen = l->k.finished;
	}
	l->had_lane = has_lane;
	if (l->idle)
		return; /* waits for nothing, and is in nobody's way */
	l->tenant->has_lane |= has_lane;
	l->tenant->waits |= !has_lane;
	*io_any |= !has_lane;
}

/* When somebody may have stood still for too long, or had the device. */
static uint64_t look_again(const struct sched *s, const struct sched_tenant *t)
{
	uint64_t since = MAX(t->awaited_ns, s->left_ns), next = UINT64_MAX;

	if (t->in_turns)
		next = MAX(t->counted_ns, s->left_ns) - t->used_ns;
	for (const struct sched_launch *l = t->arrived.first; l; l = l->next) {
		if (l->had_lane && !l->idle)
			next = MIN(next, MAX(since, l->came_on_ns));
	}
	return next < UINT64_MAX - s->o.still_ns ? next + s->o.still_ns : UINT64_MAX;
}

/* Also one that has no work at the moment, as between two launches. */
static bool has_equal(const struct sched *s, const struct sched_tenant *t)
{
	for (const struct sched_tenant *o = s->tenants; o; o = o->next) {
		if (o != t && o->priority == t->priority)
			return true;
	}
	return false;
}

/* What it gets of the device, looked at after each STARVING still_ns. */
static void watch(struct sched *s, struct sched_tenant *t, uint64_t now_ns)
{
	uint64_t span =
		s->o.still_ns < UINT64_MAX / STARVING ? STARVING * s->o.still_ns : UINT64_MAX;

	if (!t->busy || !has_equal(s, t)) {
		t->watched_ns = 0;
		t->starved = false;
		return;
	}
	if (t->watched_ns && now_ns - t->watched_ns >= span)
		t->starved |= t->service_ns - t->had_ns < span / STARVED_PART;
	if (!t->watched_ns || now_ns - t->watched_ns >= span) {
		t->watched_ns = MAX(now_ns, 1);
		t->had_ns = t->service_ns;
	}
	if (t->watched_ns < UINT64_MAX - span)
		s->deadline_ns = MIN(s->deadline_ns, t->watched_ns + span);
}

void sched_turns_note(struct sched *s, uint64_t now_ns)
{
	bool any = false;

	for (struct sched_tenant *t = s->tenants; t; t = t->next)
		t->has_lane = t->waits = false;
	for (size_t i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (l)
			note_launch(l, now_ns, &any);
	}
	for (struct sched_tenant *t = s->tenants; t; t = t->next) {
		watch(s, t, now_ns);
		if (!any || !is_awaited(s, t)) {
			t->awaited_ns = 0;
			continue;
		}
		t->awaited_ns = t->awaited_ns ? t->awaited_ns : MAX(now_ns, 1);
		s->deadline_ns = MIN(s->deadline_ns, look_again(s, t));
	}
}
