/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Part of the library of heddle/policy_lanes.h: bounds how long a launch waits behind launches of
 * its priority, and how often it gets SMs in vain.
 *
 * Overdue: suppose that among equals the shortest remaining time goes first. A long launch would
 * wait for ever beside a tenant that always has a shorter one. So a launch is overdue once it has
 * waited for OVERDUE_NS behind equals since its last block. It then goes before its equals, until
 * it has had SMs for a slice. Its first block begins the slice. Several overdue launches go one
 * after the other. Slices are short enough that the last of them does not wait longer than
 * HEDDLE_LANES_WAIT_MAX_NS, as long as blocks and changes between launches are short, too:
 *
 *	OVERDUE_NS + SLICES_NS = 160 ms < HEDDLE_LANES_WAIT_MAX_NS = 200 ms
 *
 * The clock of a launch stands still while no equal has SMs, because the launch then waits for work
 * of a higher priority, or for its own program. */
#include "lanes_inside.h"

#define OVERDUE_NS 100000000u
/* total length of the slices of all overdue launches of one priority */
#define SLICES_NS    60000000u
#define SLICE_MAX_NS 16000000u
#define SLICE_MIN_NS 1000000u
#define FORGET_NS    64000000u
/* how often to check whether a launch of unknown duration has finished a block */
#define CHECK_NS 1000000u
/* longest delay between a grant of SMs and the first block that counts as part of the change
 * between launches */
#define CHANGE_MAX_NS 20000000u

/* In vain: if a tenant launches back to back, the device seems free for an instant after each
 * launch. Another launch would get SMs then, and lose them before a block of it has begun. So each
 * loss of this kind adds one to a count, which falls by one each FORGET_NS. While the count is not
 * 0, the launch gets SMs only after it could have had some for a pause. The pause grows with the
 * count, so that a launch loses SMs in vain at most HEDDLE_LANES_VAIN_MAX times in a second,
 * whatever the pauses of the others are: 5 times until the count is 5, and then once in 64 ms, 15
 * times. Losses to work of a higher priority do not count: that work is expected back
 * (HEDDLE_POLICY_EXPECTED), and must find a launch that it can preempt. */
static const uint64_t pauses_ns[] = {0, 250000, 1000000, 4000000, 16000000, 64000000};
#define PAUSES ((uint32_t)(sizeof(pauses_ns) / sizeof(pauses_ns[0])))

/* Lowers the count of losses in vain by the time that has passed. */
static void forget_losses(struct own_launch *l, uint64_t now_ns)
{
	uint64_t n = now_ns > l->vain_ns ? (now_ns - l->vain_ns) / FORGET_NS : 0;

	if (n >= l->vain) {
		l->vain = 0;
		return;
	}
	l->vain -= (uint32_t)n;
	l->vain_ns += n * FORGET_NS;
}

/* Notes whether the launch has left all its SMs since the last decision. */
static void note_loss(const struct heddle_lanes *s, const struct heddle_lane_kernel *k)
{
	struct own_launch *l = launch_of(k);
	uint8_t there = k->kernel->arrived && (k->kernel->running || k->kernel->leaving);

	if (l->there && !there) {
		if (l->granted && k->kernel->finished == l->granted_finished) {
			forget_losses(l, s->now_ns);
			if (!l->vain)
				l->vain_ns = s->now_ns;
			l->vain++;
		}
		l->granted = 0;
	}
	l->there = there;
}

/* Returns when the slice of an overdue launch has begun; 0: it has not. It begins when the last
 * other launch has left the SMs, if a block begins after that. This may be a block of another
 * launch of its tenant, because this launch may fill the SMs of both. A pool of tasks reports no
 * new block when it returns. So if the launch has had SMs for long, and no launch was leaving, its
 * blocks must have begun. */
static uint64_t find_slice(const struct heddle_lanes *s, const struct heddle_lane_kernel *k)
{
	uint64_t slice_ns = launch_of(k)->slice_ns;
	uint64_t from = LANES_MAX(k->kernel->granted_ns, 1), free_ns;

	if (slice_ns || !k->kernel->arrived || !k->kernel->running)
		return slice_ns;
	free_ns = LANES_MAX(from, s->left_ns);
	return k->tenant->began_ns >= from || s->now_ns >= free_ns + CHANGE_MAX_NS ? free_ns : 0;
}

/* Ends the slice of an overdue launch, or makes a launch overdue. */
static void update_overdue(struct heddle_lanes *s, const struct heddle_lane_kernel *k)
{
	struct own_launch *l = launch_of(k);

	if (k->kernel->finished != l->finished && !l->overdue)
		l->behind_ns = 0;
	l->finished = k->kernel->finished;
	if (l->overdue)
		l->slice_ns = find_slice(s, k);
	if (l->overdue && l->slice_ns && s->now_ns - l->slice_ns >= l->share_ns) {
		l->overdue = 0;
		l->behind_ns = l->slice_ns = 0;
	}
	if (!l->overdue && l->behind_ns >= OVERDUE_NS) {
		l->overdue = ++s->overdue;
		l->slice_ns = 0;
		l->share_ns = SLICE_MAX_NS;
	}
}

static void update_wait(struct heddle_lanes *s, struct heddle_lane_kernel *k)
{
	struct own_launch *l = launch_of(k);

	note_loss(s, k);
	if (k->kernel->idle || k->kernel->depth) { /* its own tenant runs other launches first */
		l->behind = 0;
		l->overdue = l->behind_ns = 0;
	}
	l->behind_ns += l->behind ? s->passed_ns : 0;
	update_overdue(s, k);
	forget_losses(l, s->now_ns);
	l->pause_ns = pauses_ns[LANES_MIN(l->vain, PAUSES - 1)];
	k->overdue = l->overdue;
}

void lanes_update_waits(struct heddle_lanes *s)
{
	for (uint32_t i = 0; i < s->len; i++)
		if (is_launch(&s->at[i]))
			update_wait(s, &s->at[i]);
}

/* Counts the launches of each priority that have SMs, and those that wait. */
static void count_launches(struct heddle_lanes *s)
{
	for (uint32_t i = 0; i < s->len; i++) {
		const struct heddle_lane_kernel *k = &s->at[i];

		if (!is_launch(k) || k->kernel->idle)
			continue;
		tenant_of(k)->level->n_lanes += k->lane != HEDDLE_NO_LANE;
		tenant_of(k)->level->n_behind += k->lane == HEDDLE_NO_LANE;
	}
}

static void note_with_lane(struct heddle_lanes *s, const struct heddle_lane_kernel *k)
{
	const struct lanes_level *v = tenant_of(k)->level;
	struct own_launch *l = launch_of(k);
	uint64_t slice;

	if (!v->n_behind)
		return;
	slice = SLICES_NS / (v->n_lanes + v->n_behind);
	if (k->kernel->remaining_ns == HEDDLE_POLICY_UNKNOWN)
		wake_at(s, s->now_ns + CHECK_NS);
	if (!l->overdue)
		return;
	l->share_ns = LANES_MAX(LANES_MIN(slice, SLICE_MAX_NS), SLICE_MIN_NS);
	/* If heddled does not see the first block, the next check shows the progress. */
	wake_at(s, (l->slice_ns ? l->slice_ns : s->now_ns) + l->share_ns);
}

static void note_without_lane(struct heddle_lanes *s, const struct heddle_lane_kernel *k)
{
	const struct lanes_level *v = tenant_of(k)->level;
	struct own_launch *l = launch_of(k);

	l->free_ns = 0;
	/* If a higher priority takes the SMs, the loss does not count. */
	l->granted &= v->n_lanes > 0;
	l->behind = v->n_lanes && !k->kernel->idle && !k->kernel->depth;
	if (l->behind && !l->overdue)
		wake_at(s, s->now_ns + OVERDUE_NS - LANES_MIN(l->behind_ns, OVERDUE_NS));
}

void lanes_note_waits(struct heddle_lanes *s)
{
	count_launches(s);
	for (uint32_t i = 0; i < s->len; i++) {
		const struct heddle_lane_kernel *k = &s->at[i];
		struct own_launch *l = launch_of(k);

		if (!is_launch(k))
			continue;
		l->behind = 0;
		if (k->withheld)
			wake_at(s, l->free_ns + l->pause_ns);
		if (k->lane != HEDDLE_NO_LANE)
			note_with_lane(s, k);
		else
			note_without_lane(s, k);
		/* The launch may get SMs by a grant from now on. */
		if (k->lane != HEDDLE_NO_LANE && !k->withheld && k->kernel->arrived &&
			!k->kernel->running && !k->kernel->leaving) {
			l->granted = 1;
			l->granted_finished = k->kernel->finished;
		}
	}
}
