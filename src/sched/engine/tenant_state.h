/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The states of a tenant and of its opaque work, which heddle does not steer. tenant_state.c has
 * the tables of transitions and the diagrams. Whether the tenant is held is not a state of it: a
 * decision can hold it in any state. */
#ifndef HEDDLE_SCHED_TENANT_STATE_H
#define HEDDLE_SCHED_TENANT_STATE_H

#include "base/base.h"

enum tenant_state {
	TENANT_NONE, /* has left, or has not joined yet */
	TENANT_NEW,  /* has joined, but has not had any work yet */
	TENANT_BUSY, /* has work: a launch that competes or runs natively, or opaque work */
	TENANT_IDLE, /* has no work, and is not expected to have some soon */
	/* has no work, but its next work is expected so soon that the device is kept for it */
	TENANT_EXPECTED,
	TENANT_STATES
};

enum tenant_opaque {
	OPAQUE_NONE,  /* no opaque work is in flight or waiting */
	OPAQUE_RUNS,  /* some opaque work is in flight */
	OPAQUE_WAITS, /* it was submitted during the current hold, and waits for the hold's end */
	OPAQUE_STATES
};

/* Returns "busy", … */
const char *tenant_state_name(enum tenant_state state);
const char *tenant_opaque_name(enum tenant_opaque state);
/* Both return true if the table of transitions lists this one. */
bool tenant_may(enum tenant_state from, enum tenant_state to);
bool tenant_opaque_may(enum tenant_opaque from, enum tenant_opaque to);

/* Change a state; no other function does. tenant_to also moves the tenant from the count of its old
 * state to that of the new state; io_counts[state] is the number of tenants in a state, except for
 * NONE. Return false for an illegal transition; the state then stays as it was. */
bool tenant_to(
	enum tenant_state *io_state, uint32_t io_counts[TENANT_STATES], enum tenant_state to);
bool tenant_opaque_to(enum tenant_opaque *io_state, enum tenant_opaque to);

/* A hook for tests. It is called before each transition, with names of states, and may abort at an
 * illegal transition. NULL in the daemon. */
typedef void tenant_hook(const char *from, const char *to, bool legal);
extern tenant_hook *tenant_on_transition;

#endif
