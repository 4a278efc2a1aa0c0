/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Part of the library of heddle/policy_lanes.h: tenants of the same priority share the device by
 * time slices while one of them is stalled.
 * Normally the policy decides which tenant goes first, and running launches continue.
 *
 * A launch that never ends, or that reports wrong progress, would keep other tenants waiting for
 * ever. So a launch is stalled if its tenant has SMs, a tenant of its priority waits for that
 * tenant, and the launch makes no progress for still_ns. Then each tenant of this priority has the
 * device for still_ns while another tenant waits, and then goes to the end of the queue. The queue
 * consists of tenants, not launches: a further launch gives no new time slice, and a pause does not
 * end one. A launch that does not leave although it was preempted is not in the view until it has
 * left. waits.c bounds how long a launch waits in this queue.
 *
 * Progress means to finish so much of the grid that the end is in sight (STEPS). Progress without
 * SMs does not count. A task pool without tasks is never stalled, and goes last. */
#include "lanes_inside.h"

#define STEPS 64u /* a launch makes progress if it finishes 1/STEPS of its grid in still_ns */

static void check_launch_stalled(const struct heddle_lanes *s, const struct heddle_lane_kernel *k)
{
	struct own_launch *l = launch_of(k);
	struct own_tenant *t = tenant_of(k);
	uint64_t since = LANES_MAX(LANES_MAX(t->awaited_ns, l->progress_ns), s->left_ns);

	if (!k->kernel->arrived)
		return;
	if (l->had_lane && (k->kernel->idle || k->kernel->finished - l->progress_finished >=
						       LANES_MAX(k->kernel->blocks / STEPS, 1))) {
		l->stalled = 0;
		l->progress_finished = k->kernel->finished;
		l->progress_ns = s->now_ns;
	} else if (l->had_lane && t->awaited_ns && s->now_ns - since >= s->device.still_ns) {
		l->stalled = 1;
		l->progress_ns = s->now_ns; /* checks again after another still_ns */
		t->used_ns = s->device.still_ns;
	}
	t->stalled |= l->stalled;
}

/* Time does not count while preempted launches are still leaving. */
static void count_turn_time(const struct heddle_lanes *s, struct own_tenant *t)
{
	uint64_t from = LANES_MAX(t->counted_ns, s->left_ns);

	if (t->awaited_ns && s->now_ns > from)
		t->used_ns += s->now_ns - from;
	t->counted_ns = s->now_ns;
}

static void update_turn(const struct heddle_lanes *s, struct own_tenant *t)
{
	t->in_turns = t->level->stalled;
	if (!t->in_turns) {
		t->turn = t->used_ns = 0;
	} else if (t->used_ns >= s->device.still_ns) {
		t->turn = ++t->level->last_turn;
		t->used_ns = 0;
	}
}

void lanes_assign_turns(struct heddle_lanes *s, const struct heddle_policy_view *in)
{
	uint8_t turns = s->turns;

	s->turns = 0;
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		struct own_tenant *t = own_of(in, i);

		count_turn_time(s, t);
		/* A stalled launch that is not in the view has made no progress. */
		t->stalled &= t->n_listed < heddle_policy_tenant_at(in, i)->launches;
	}
	for (uint32_t i = 0; i < s->len; i++)
		if (is_launch(&s->at[i]))
			check_launch_stalled(s, &s->at[i]);
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		struct own_tenant *t = own_of(in, i);

		s->turns |= t->stalled;
		t->level->stalled |= t->stalled;
		t->level->last_turn = LANES_MAX(t->level->last_turn, t->turn);
	}
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		if (turns || s->turns)
			update_turn(s, own_of(in, i));
		else
			own_of(in, i)->used_ns = 0;
	}
	for (uint32_t i = 0; i < s->len; i++)
		if (is_launch(&s->at[i]))
			s->at[i].turn =
				s->at[i].kernel->idle ? HEDDLE_NO_TURN : tenant_of(&s->at[i])->turn;
}

static void note_lane(struct heddle_lanes *s, const struct heddle_lane_kernel *k)
{
	struct own_launch *l = launch_of(k);
	struct own_tenant *t = tenant_of(k);
	uint8_t has_lane = k->lane != HEDDLE_NO_LANE && !k->withheld;

	if (has_lane && !l->had_lane) {
		l->progress_ns = s->now_ns;
		l->progress_finished = k->kernel->finished;
	}
	l->had_lane = has_lane;
	if (k->kernel->idle)
		return; /* an idle pool waits for nothing, and no tenant waits for it */
	if (has_lane && k->kernel->arrived)
		t->next_check_ns = LANES_MIN(t->next_check_ns, l->progress_ns);
	t->has_lane |= has_lane;
	t->level->n_waiting += !has_lane && !t->waits;
	t->waits |= !has_lane;
}

void lanes_note_turns(struct heddle_lanes *s, const struct heddle_policy_view *in)
{
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		own_of(in, i)->has_lane = own_of(in, i)->waits = 0;
		own_of(in, i)->next_check_ns = UINT64_MAX;
	}
	for (uint32_t i = 0; i < s->len; i++)
		if (is_launch(&s->at[i]))
			note_lane(s, &s->at[i]);
	for (uint32_t i = 0; i < in->n_tenants; i++) {
		struct own_tenant *t = own_of(in, i);
		uint64_t since, next = UINT64_MAX;

		/* In this case, no other tenant of its priority waits for this one. */
		if (!t->has_lane || t->level->n_waiting <= t->waits) {
			t->awaited_ns = 0;
			continue;
		}
		t->awaited_ns = t->awaited_ns ? t->awaited_ns : LANES_MAX(s->now_ns, 1);
		since = LANES_MAX(t->awaited_ns, s->left_ns);
		if (t->in_turns)
			next = LANES_MAX(t->counted_ns, s->left_ns) - t->used_ns;
		if (t->next_check_ns != UINT64_MAX)
			next = LANES_MIN(next, LANES_MAX(since, t->next_check_ns));
		if (next < UINT64_MAX - s->device.still_ns)
			wake_at(s, next + s->device.still_ns);
	}
}
