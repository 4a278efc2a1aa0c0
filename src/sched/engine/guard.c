/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Counts of blocks for launches of the guard form (ctl/control.h). Such a launch has the same count
 * of blocks on all its SMs, and only some counts are possible. To change its count, the launch
 * drains and its tenant launches the remaining blocks as a new grid. A launch keeps its count until
 * all blocks from before the last change have left, and each new grid finishes at least one block.
 * So even a policy that changes the count again and again cannot keep the launch from finishing. */
#include "engine.h"

#define LOOK_NS 1000000u /* interval of checks for a launch that must keep its count for now */

static uint8_t least_of(const struct quota *q)
{
	uint8_t least = 0;

	for (uint32_t i = 0; i < CTL_MAX_SMS; i++) {
		if (q->at[i] && (!least || q->at[i] < least))
			least = q->at[i];
	}
	return least;
}

/* Returns the count for a quota: the largest possible count that is not above the quota, or else
 * the smallest one; 0 for quota 0. Returns CTL_NO_QUOTA if the quota admits all workers, or if no
 * counts are known. shim/order/pads.c has the same rule. */
static uint8_t count_for(const struct sched_launch *l, uint8_t quota)
{
	uint32_t below;

	if (!quota || !l->guard.counts || quota >= l->k.workers_per_sm)
		return quota ? CTL_NO_QUOTA : 0;
	below = l->guard.counts & (uint32_t)((2ull << MIN(quota, QUOTA_MAX)) - 1);
	return (uint8_t)(below ? 31 - __builtin_clz(below) : __builtin_ctz(l->guard.counts));
}

static void set_count(struct quota *io, uint8_t count)
{
	for (uint32_t i = 0; i < CTL_MAX_SMS; i++)
		io->at[i] = io->at[i] ? count : 0;
}

bool sched_guard_is_even(const struct quota *q)
{
	uint8_t least = least_of(q);

	for (uint32_t i = 0; i < CTL_MAX_SMS; i++) {
		if (q->at[i] && q->at[i] != least)
			return false;
	}
	return true;
}

void sched_guard_fit(const struct sched_launch *l, struct quota *io)
{
	set_count(io, count_for(l, least_of(io)));
}

static bool resizes_next(const struct sched_launch *l)
{
	uint8_t now = least_of(&l->allowed), next = least_of(&l->next_allowed);

	return l->guard.is && now && next && now != next;
}

/* Returns true if all blocks from before the last change of the count have left. That is certain
 * once more blocks have finished since the change than the device can hold. */
static bool is_resized(const struct sched *s, const struct sched_launch *l)
{
	uint64_t there = (uint64_t)l->k.workers_per_sm * s->o.n_sms;

	return !l->guard.resizing || l->k.finished > l->guard.resized_at + there;
}

void sched_guard_place(struct sched *s, struct sched_launch *l, uint64_t now_ns)
{
	if (!l->guard.is)
		return;
	sched_guard_fit(l, &l->next_allowed);
	if (!resizes_next(l) || is_resized(s, l))
		return;
	set_count(&l->next_allowed, least_of(&l->allowed));
	s->deadline_ns = MIN(s->deadline_ns, now_ns + LOOK_NS);
}

void sched_guard_told(struct sched_launch *l)
{
	bool resizes = resizes_next(l);

	l->guard.resizing = resizes || (l->guard.resizing && quota_any(&l->next_allowed));
	if (resizes)
		l->guard.resized_at = l->k.finished;
}

bool sched_guard_drained(struct sched *s, struct sched_launch *l)
{
	bool resized = l->guard.resizing;

	l->guard.resizing = false;
	s->dirty |= resized;
	return resized;
}
