/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The table of legal transitions, and the one function that changes a launch's state. */
#include "launch_state.h"

/* The states of a launch, and the events and actions that change them.
 *            submit              oldest of its tenant
 *     NONE ---------> QUEUED <------------------------> NEXT
 *                        |                                |
 *                        +------------ arrive ------------+
 *                                        |
 *             +--------------------------+-----------------------+
 *             | with SMs                 | old quotas            | with no SM
 *             v          grant           v                       v
 *   +----> RUNNING <------------------ UNSURE                  HELD
 *   |       |   ^                        |                       |
 *   | shrink|   | shrunk, absent,        | preempt               |
 *   |       v   | grow                   v                       | drained,
 *   |     SHRINKING ---- preempt ----> DRAINING                  | absent
 *   |                                  ^  |                      |
 *   |       RUNNING ----- preempt -----+  | drained, absent      |
 *   |                                     v                      |
 *   +-------------- grant ------------ WAITING <-----------------+
 *
 *   RUNNING -> RUNNING: grow. SHRINKING -> SHRINKING: shrink again.
 *   Any -> NONE: the launch ends, or its tenant leaves.
 *   Any -> STRAY: a caller requested a transition that the table does not list. The launch's real
 *   state is unknown. STRAY -> NATIVE: the next decision grants the whole device to the launch
 *   until it ends. It runs as it would without heddle, and only its end changes its state.
 */
#define TO(state) LAUNCH_SET_OF(LAUNCH_##state)

static const uint16_t table[LAUNCH_STATES] = {
	[LAUNCH_NONE] = TO(QUEUED),
	[LAUNCH_QUEUED] = TO(NONE) | TO(NEXT) | TO(UNSURE) | TO(RUNNING) | TO(HELD),
	[LAUNCH_NEXT] = TO(NONE) | TO(QUEUED) | TO(UNSURE) | TO(RUNNING) | TO(HELD),
	[LAUNCH_UNSURE] = TO(NONE) | TO(RUNNING) | TO(DRAINING),
	[LAUNCH_RUNNING] = TO(NONE) | TO(RUNNING) | TO(SHRINKING) | TO(DRAINING),
	[LAUNCH_SHRINKING] = TO(NONE) | TO(RUNNING) | TO(SHRINKING) | TO(DRAINING),
	[LAUNCH_HELD] = TO(NONE) | TO(WAITING),
	[LAUNCH_DRAINING] = TO(NONE) | TO(WAITING),
	[LAUNCH_WAITING] = TO(NONE) | TO(RUNNING),
	[LAUNCH_STRAY] = TO(NONE) | TO(NATIVE),
	[LAUNCH_NATIVE] = TO(NONE),
};

launch_hook *launch_on_transition;

const char *launch_state_name(enum launch_state state)
{
	static const char *const names[LAUNCH_STATES] = {"none", "queued", "next", "unsure",
		"running", "shrinking", "held", "draining", "waiting", "stray", "native"};

	return names[state];
}

bool launch_may(enum launch_state from, enum launch_state to)
{
	return table[from] >> to & 1;
}

bool launch_to(enum launch_state *io_state, uint32_t io_counts[LAUNCH_STATES], enum launch_state to)
{
	enum launch_state from = *io_state;
	bool legal = launch_may(from, to);

	if (launch_on_transition)
		launch_on_transition(from, to, legal);
	*io_state = legal ? to : LAUNCH_STRAY;
	io_counts[from] -= from != LAUNCH_NONE;
	io_counts[*io_state] += *io_state != LAUNCH_NONE;
	return legal;
}
