/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Bounds the time for which a thread of the program waits for launches (patience.c). */
#ifndef HEDDLE_SHIM_PATIENCE_H
#define HEDDLE_SHIM_PATIENCE_H

#include "shim/core/session.h"

struct patience {
	/* number of launches that have ended, among those that are awaited */
	const _Atomic unsigned *ended;
	/* value of *ended plus 1 when a wait last timed out; 0: none did */
	_Atomic unsigned *gave_up;
	unsigned seen_ended;
	uint64_t seen_moves, looked_ns, lull_ns;
};
/* Begins a wait that would end sooner or later without heddle. */
void patience_begin(struct session *session, struct patience *p, const _Atomic unsigned *ended,
	_Atomic unsigned *gave_up);
/* Call repeatedly while a thread waits for launches. Returns true if no launch has made progress
 * for so long that the launches may be waiting for this thread. */
bool patience_ends(struct session *session, struct patience *p);

/* Call after launches_take has failed. Waits until there is space for the launch. Returns false if
 * the outstanding launches make no progress for a while, or if heddled is gone. */
bool launches_await_room(struct session *session, size_t bytes);

#endif
