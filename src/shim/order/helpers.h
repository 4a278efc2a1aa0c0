/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Streams of the shim's own, in which rounds run (resume.c): grids of workers that resume a launch.
 *
 * HELPERS such streams always exist. If a launch gets its SMs in steps, or if many launches were
 * preempted together, the shim makes further streams. During a round in a further stream, that
 * stream borrows a hardware channel that the program's streams do not need. */
#ifndef HEDDLE_SHIM_HELPERS_H
#define HEDDLE_SHIM_HELPERS_H

#include "shim/core/lock.h"
#include "shim/core/session.h"

/* number of permanent helper streams; connections.h reserves channels for them */
#define HELPERS      3
#define HELPERS_MORE 12 /* maximum number of additional ones */

struct helpers {
	struct lock lock;
	CUstream at[HELPERS + HELPERS_MORE];
	/* the stream uses a channel like a stream of the program */
	bool borrowed[HELPERS + HELPERS_MORE];
	unsigned n;
	_Atomic unsigned n_borrowed;
	int priority;
};

/* Makes the first streams. The context must be current. Returns 0 or -EIO. */
int helpers_init(struct session *session, int priority);
/* Returns a stream in which no grid of workers runs, or NULL if none is free. A second grid in the
 * same stream would not begin before the first one's workers have exited. The caller holds the lock
 * until it has launched the grid, and the context is current. */
CUstream helpers_idle(struct session *session, bool may_borrow);
/* Is more than one of the streams that always exist idle? Under the lock. */
bool helpers_leave_one(struct session *session);
/* Returns the channels of additional streams in which no grid runs. */
void helpers_return_channels(struct session *session);
bool helpers_open(struct session *session);
struct session_ends;
/* Returns all channels. Call it when no launch is outstanding. */
void helpers_pause(struct session *session, const struct session_ends *ends);
void helpers_forget(struct session *session, const struct session_ends *ends);

#endif
