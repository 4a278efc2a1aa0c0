/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The states of a managed launch, for the engine and the daemon. The engine has the only copy of a
 * launch's state; the daemon gets it from sched_state. launch_state.c has the table of transitions
 * and a diagram; doc/protocol.md says what the device does. */
#ifndef HEDDLE_SCHED_LAUNCH_STATE_H
#define HEDDLE_SCHED_LAUNCH_STATE_H

#include "base/base.h"

enum launch_state {
	LAUNCH_NONE, /* unknown, or forgotten */
	/* submitted; does not compete for SMs, because other launches of its tenant come first or
	 * its tenant is late */
	LAUNCH_QUEUED,
	/* submitted; competes, because its tenant has no other launch that does */
	LAUNCH_NEXT,
	/* arrived; obeys quotas of an earlier decision until the next decision sends new ones */
	LAUNCH_UNSURE,
	LAUNCH_RUNNING,   /* has SMs */
	LAUNCH_SHRINKING, /* has SMs, but more workers on them than its quotas allow */
	/* began when its tenant had no SM, so its workers find quota 0 and exit */
	LAUNCH_HELD,
	LAUNCH_DRAINING, /* has lost all its SMs, but not all its workers have left yet */
	LAUNCH_WAITING,  /* has no SM and no workers */
	LAUNCH_STRAY,    /* made an illegal transition; the next decision makes it native */
	LAUNCH_NATIVE,   /* may use every SM, and obeys no quotas any more */
	LAUNCH_STATES
};

/* Sets of states. */
#define LAUNCH_SET_OF(state) (1u << (state))
enum launch_set {
	LAUNCH_SUBMITTED = LAUNCH_SET_OF(LAUNCH_QUEUED) | LAUNCH_SET_OF(LAUNCH_NEXT),
	LAUNCH_ASTRAY = LAUNCH_SET_OF(LAUNCH_STRAY) | LAUNCH_SET_OF(LAUNCH_NATIVE),
	/* A launch in these states gets no SM before its last worker has left. */
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

/* Returns "running", … */
const char *launch_state_name(enum launch_state state);
/* Returns true if the table lists this transition. The table has no transition to STRAY; only
 * launch_to makes that transition. */
bool launch_may(enum launch_state from, enum launch_state to);

/* Changes *io_state to `to`, and moves the launch from the count of its old state to that of the
 * new state. io_counts[state] is the number of launches in a state, except for NONE. Returns false
 * for an illegal transition; the launch is then STRAY. */
bool launch_to(
	enum launch_state *io_state, uint32_t io_counts[LAUNCH_STATES], enum launch_state to);

/* A hook for tests. launch_to calls it before each transition. It may abort at an illegal
 * transition. NULL in the daemon. */
typedef void launch_hook(enum launch_state from, enum launch_state to, bool legal);
extern launch_hook *launch_on_transition;

#endif
