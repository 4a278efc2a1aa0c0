/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The program's streams. */
#ifndef HEDDLE_SHIM_STREAM_H
#define HEDDLE_SHIM_STREAM_H

#include "shim/core/lock.h"
#include "shim/core/map.h"
#include "shim/core/session.h"
#include "shim/order/cost.h"

struct stream {
	/* CU_STREAM_LEGACY or CU_STREAM_PER_THREAD for a default stream, never 0 */
	CUstream handle;
	int priority; /* as the program chose it; as in CUDA, a smaller value is more urgent */
	bool destroyed;
	/* its context; NULL: it is a default stream, or the context is unknown */
	CUcontext ctx;
	_Atomic bool used; /* the shim has seen work of some kind on it */
	/* makes a launch and the wait after it adjacent in the stream */
	struct lock lock;
	CUdeviceptr ctl; /* address of its control block on the device; 0: none yet */
	/* value of the context epoch when `ctl` was made (ctlpool.c) */
	unsigned ctl_epoch;
	uint32_t gen; /* generation number of its next launch */
	/* number of managed launches that are not known to be complete */
	_Atomic unsigned outstanding;
	_Atomic unsigned ended;   /* number of managed launches that have completed */
	_Atomic unsigned gave_up; /* see patience.c */
	/* Used by follow.c. `opaque` counts the stream's unmanaged launches since the last event.
	 * follow.c's lock guards the other four fields:
	 * - batch, began_ns: the launches since the last event whose time heddled limits, and the
	 *   time of the first of them
	 * - events: the number of events in flight
	 * - passed: the last event that has completed */
	_Atomic uint32_t opaque;
	struct cost_batch batch;
	uint64_t began_ns;
	uint32_t events;
	CUevent passed;
	/* sync_count() at its last launch; set only while there are gates */
	_Atomic unsigned waits;
};
/* The streams of a session. Only channels.c changes the three counts. */
struct streams {
	struct map map;
	/* number of channels in use, including those of lingering streams and lent ones */
	_Atomic unsigned n_used;
	_Atomic unsigned n_lent; /* lent to rounds (helpers.h) */
	/* Number of streams that the program has destroyed while their work may still wait for a
	 * preempted launch. Each occupies its channel until no managed launch is outstanding. */
	_Atomic unsigned n_lingering;
	struct lock lingering_lock; /* held by the thread that reduces n_lingering */
};

/* Returns the stream's record, and makes one if there is none. Returns NULL if memory is exhausted.
 * The records belong to the session and are never freed. */
struct stream *stream_of(struct session *session, CUstream handle);
/* Returns the session of the stream's device. `session` is that of the current context, to which
 * the default streams belong. */
struct session *stream_session(struct session *session, CUstream handle);
bool stream_capturing(struct session *session, CUstream handle);
/* Registers a stream that the program has made with this priority. */
void stream_created(struct session *session, CUstream handle, int priority);
/* Removes the record of a stream from the map, before the program destroys the stream: the driver
 * may reuse the handle at once. Returns the record; NULL if there is none. */
struct stream *stream_remove(struct session *session, CUstream handle);
/* Call this if the driver did not destroy the stream. */
void stream_put_back(struct session *session, struct stream *s);
/* The stream is destroyed. lingers: its work may still be there. */
void stream_ended(struct session *session, struct stream *s, bool lingers);

struct session_ends;
void streams_forget(struct session *session, const struct session_ends *ends);
bool streams_open(struct session *session);

#endif
