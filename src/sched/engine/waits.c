/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Bounds how long a launch waits behind launches of its priority, and how often it gets SMs in vain.
 * For policies that answer in lanes.
 *
 * Overdue: among equals the shortest remaining time goes first (policy_hpf.c). A long launch would
 * wait for ever beside a tenant that always has a shorter one. So a launch is overdue once it has
 * waited for OVERDUE_NS behind equals since its last block. It then goes before its equals, until it
 * has had SMs for a slice. Its first block begins the slice. Several overdue launches go one after
 * the other. Slices are short enough that the last of them does not wait longer than
 * SCHED_WAIT_MAX_NS, as long as blocks and changes between launches are short, too:
 *
 *	OVERDUE_NS + SLICES_NS = 160 ms < SCHED_WAIT_MAX_NS = 200 ms
 *
 * The clock of a launch stands still while no equal has SMs, because the launch then waits for work
 * of a higher priority, or for its own program. */
#include "engine.h"

#define OVERDUE_NS   100000000u
#define SLICES_NS    60000000u /* of all overdue launches of one priority together */
#define SLICE_MAX_NS 16000000u
#define SLICE_MIN_NS 1000000u
#define FORGET_NS    64000000u
/* how often to check whether a launch of unknown duration has finished a block */
#define CHECK_NS 1000000u

/* In vain: if a tenant launches back to back, the device seems free for an instant after each
 * launch. Another launch would get SMs then, and lose them before a block of it has begun. So each
 * loss of this kind adds one to a count, which falls by one each FORGET_NS. While the count is not
 * 0, the launch gets SMs only after it could have had some for a pause. The pause grows with the
 * count, so that a launch loses SMs in vain at most SCHED_VAIN_MAX times in a second, whatever the
 * pauses of the others are: 5 times until the count is 5, and then once in 64 ms, 15 times. Losses to
 * work of a higher priority do not count: that work is expected back (pauses.c), and must find a
 * launch that it can preempt (daemon/bounce.c). */
static const uint64_t pauses_ns[] = {0, 250000, 1000000, 4000000, 16000000, 64000000};

/* Lets the count of losses in vain fall. */
static void forget_losses(struct sched_wait *w, uint64_t now_ns)
{
	uint64_t n = now_ns > w->vain_ns ? (now_ns - w->vain_ns) / FORGET_NS : 0;

	if (n >= w->vain) {
		w->vain = 0;
		return;
	}
	w->vain -= (uint32_t)n;
	w->vain_ns += n * FORGET_NS;
}

void sched_wait_granted(struct sched_launch *l, uint64_t now_ns)
{
	l->wait.granted = true;
	l->wait.granted_ns = now_ns;
	l->wait.granted_finished = l->k.finished;
}

void sched_wait_left(struct sched_launch *l, uint64_t now_ns)
{
	struct sched_wait *w = &l->wait;

	if (w->granted && l->k.finished == w->granted_finished) {
		forget_losses(w, now_ns);
		if (!w->vain)
			w->vain_ns = now_ns;
		w->vain++;
	}
	w->granted = false;
}

void sched_wait_started(struct sched *s, struct sched_launch *l, uint64_t now_ns)
{
	if (!launch_is(l->state, LAUNCH_HAS_SMS))
		return;
	l->tenant->began_ns = now_ns;
	if (l->k.overdue && !l->wait.slice_ns)
		s->deadline_ns = MIN(s->deadline_ns, now_ns + l->wait.share_ns);
}

/* Returns when the slice of an overdue launch has begun; 0: it has not. It begins when the last other
 * launch has left the SMs, if a block begins after that. This may be a block of another launch of its
 * tenant, because this launch may fill the SMs of both. A pool of tasks reports no
 * new block when it returns. So if the launch has had SMs for long, and no launch was leaving, its
 * blocks must have begun. */
static uint64_t find_slice(const struct sched *s, const struct sched_launch *l, uint64_t now_ns)
{
	uint64_t from = MAX(l->wait.granted_ns, 1), free_ns;

	if (l->wait.slice_ns || !launch_is(l->state, LAUNCH_HAS_SMS))
		return l->wait.slice_ns;
	free_ns = MAX(from, s->left_ns);
	return l->tenant->began_ns >= from || now_ns >= free_ns + SCHED_CHANGE_MAX_NS ? free_ns : 0;
}

/* Ends the slice of an overdue launch, or makes a launch overdue. */
static void update_overdue(struct sched *s, struct sched_launch *l, uint64_t now_ns)
{
	struct sched_wait *w = &l->wait;

	if (l->k.finished != w->finished && !l->k.overdue)
		w->behind_ns = 0;
	w->finished = l->k.finished;
	if (l->k.overdue)
		w->slice_ns = find_slice(s, l, now_ns);
	if (l->k.overdue && w->slice_ns && now_ns - w->slice_ns >= w->share_ns) {
		l->k.overdue = 0;
		w->behind_ns = w->slice_ns = 0;
	}
	if (!l->k.overdue && w->behind_ns >= OVERDUE_NS) {
		l->k.overdue = ++s->overdue;
		w->slice_ns = 0;
		w->share_ns = SLICE_MAX_NS;
	}
}

void sched_waits(struct sched *s, uint64_t now_ns)
{
	uint64_t passed = now_ns > s->waits_ns ? now_ns - s->waits_ns : 0;

	s->waits_ns = MAX(now_ns, s->waits_ns);
	for (size_t i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (!l)
			continue;
		if (l->idle || l->k.depth) { /* its own program lets it wait */
			l->wait.behind = false;
			l->k.overdue = l->wait.behind_ns = 0;
		}
		l->wait.behind_ns += l->wait.behind ? passed : 0;
		update_overdue(s, l, now_ns);
		forget_losses(&l->wait, now_ns);
		l->k.pause_ns = pauses_ns[MIN(l->wait.vain, ARRAY_LEN(pauses_ns) - 1)];
		l->k.attained_ns = l->ran_ns;
		l->k.withheld = false;
	}
}

static void wake_at(struct sched *s, uint64_t ns)
{
	s->deadline_ns = MIN(s->deadline_ns, ns);
}

/* Counts the launches of each priority that have SMs, and those that wait. */
static void count_launches(struct sched *s)
{
	for (struct sched_level *v = s->levels; v; v = v->next)
		v->n_lanes = v->n_behind = 0;
	for (size_t i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (!l || l->idle)
			continue;
		l->tenant->level->n_lanes += l->k.lane != SCHED_NO_LANE;
		l->tenant->level->n_behind += l->k.lane == SCHED_NO_LANE;
	}
}

static void note_with_lane(struct sched *s, struct sched_launch *l, uint64_t now_ns)
{
	const struct sched_level *v = l->tenant->level;
	uint64_t slice;

	if (!v->n_behind)
		return;
	slice = SLICES_NS / (v->n_lanes + v->n_behind);
	if (l->k.remaining_ns == SCHED_UNKNOWN)
		wake_at(s, now_ns + CHECK_NS);
	if (!l->k.overdue)
		return;
	l->wait.share_ns = MAX(MIN(slice, SLICE_MAX_NS), SLICE_MIN_NS);
	/* A caller that does not report the first block shows the progress at the next check. */
	wake_at(s, (l->wait.slice_ns ? l->wait.slice_ns : now_ns) + l->wait.share_ns);
}

void sched_waits_note(struct sched *s, uint64_t now_ns)
{
	count_launches(s);
	for (size_t i = 0; i < s->view.len; i++) {
		struct sched_launch *l = sched_launch_of(s->view.at[i]);

		if (!l)
			continue;
		l->wait.behind = false;
		if (l->k.withheld)
			wake_at(s, l->k.free_ns + l->k.pause_ns);
		if (l->k.lane != SCHED_NO_LANE) {
			note_with_lane(s, l, now_ns);
			continue;
		}
		l->k.free_ns = 0;
		/* A loss of SMs to a higher priority does not count. */
		l->wait.granted &= l->tenant->level->n_lanes > 0;
		l->wait.behind = l->tenant->level->n_lanes && !l->idle && !l->k.depth;
		if (l->wait.behind && !l->k.overdue)
			wake_at(s, now_ns + OVERDUE_NS - MIN(l->wait.behind_ns, OVERDUE_NS));
	}
}
