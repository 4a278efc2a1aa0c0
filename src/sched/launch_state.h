/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The life of a managed launch, as the engine and the daemon see it: the only copy of its state.
 * The daemon asks the engine for it (sched_state) and keeps none of its own. launch_state.c has the
 * table of transitions and the picture; what the device does meanwhile is in ctl/control.h. */
#ifndef HEDDLE_SCHED_LAUNCH_STATE_H
#define HEDDLE_SCHED_LAUNCH_STATE_H

#include "base/base.h"

enum launch_state {
	LAUNCH_NONE,    /* not known, yet or any more */
	LAUNCH_QUEUED,  /* submitted; others of its tenant come first, or its tenant is late */
	LAUNCH_NEXT,    /* submitted; competes, as its tenant has nothing else that does */
	LAUNCH_UNSURE,  /* arrived; obeys an old word, until the next decision tells it a new one */
	LAUNCH_RUNNING, /* has SMs */
	LAUNCH_SHRINKING, /* has SMs; more workers are there than may stay on them */
	LAUNCH_HELD,      /* began when its tenant had no SM: its workers meet that and leave */
	LAUNCH_DRAINING,  /* a word of its own took all its SMs; some worker has not left */
	LAUNCH_WAITING,   /* has no SM and no workers */
	LAUNCH_STRAY,     /* took an illegal transition; to be told that it is native */
	LAUNCH_NATIVE,    /* has every SM, and is not steered any more */
	LAUNCH_STATES
};

/* Sets of states. */
#define LAUNCH_SET_OF(state) (1u << (state))
enum launch_set {
	LAUNCH_SUBMITTED = LAUNCH_SET_OF(LAUNCH_QUEUED) | LAUNCH_SET_OF(LAUNCH_NEXT),
	LAUNCH_ASTRAY = LAUNCH_SET_OF(LAUNCH_STRAY) | LAUNCH_SET_OF(LAUNCH_NATIVE),
	/* It gets nothing back before its last worker has left. */
	LAUNCH_LEAVES = LAUNCH_SET_OF(LAUNCH_HELD) | LAUNCH_SET_OF(LAUNCH_DRAINING),
	/* All its quotas are 0. */
	LAUNCH_STOPPED = LAUNCH_LEAVES | LAUNCH_SET_OF(LAUNCH_WAITING),
	LAUNCH_HAS_SMS = LAUNCH_SET_OF(LAUNCH_RUNNING) | LAUNCH_SET_OF(LAUNCH_SHRINKING),
	LAUNCH_THERE = LAUNCH_HAS_SMS | LAUNCH_SET_OF(LAUNCH_NATIVE),
	LAUNCH_ARRIVED = LAUNCH_SET_OF(LAUNCH_UNSURE) | LAUNCH_HAS_SMS | LAUNCH_STOPPED,
};

static inline bool launch_is(enum launch_state state, enum launch_set set)
{
	return (uint32_t)set >> state & 1;
}

/* "running", … */
const char *launch_state_name(enum launch_state state);
/* Does the table list this transition? No row leads to STRAY: launch_to alone does. */
bool launch_may(enum launch_state from, enum launch_state to);

/* Changes *io_state to `to`, and moves the launch from one of io_counts, how many launches are in
 * each state, to the other (NONE is not counted). False: the transition is illegal; the launch is
 * STRAY now. */
bool launch_to(
	enum launch_state *io_state, uint32_t io_counts[LAUNCH_STATES], enum launch_state to);

/* Tests set this: it hears of every transition before it is made, and may abort at an illegal one.
 * NULL (the daemon): nobody does. */
typedef void launch_hook(enum launch_state from, enum launch_state to, bool legal);
extern launch_hook *launch_on_transition;

#endif
