/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Fences around driver calls that wait for the GPU: meanwhile, the shim manages no new launch
 * (fence.c). */
#ifndef HEDDLE_SHIM_FENCE_H
#define HEDDLE_SHIM_FENCE_H

#include "shim/core/session.h"

enum fence_kind {
	/* The driver would wait for the GPU, so the shim first waits itself, without a timeout. */
	FENCE_WAITS,
	/* The driver waits for running launches, as it does without heddle. So the shim only waits
	 * while launches are preempted, and otherwise for at most 2 s. */
	FENCE_LOADS,
};
void fence_begin(struct session *session, enum fence_kind kind);
enum fence_copy {
	FENCE_NO_COPY,
	/* The driver may wait for space in its queue, which it would not do without heddle. So the
	 * shim waits first, for a bounded time. */
	FENCE_COPY_MAY,
	/* The driver would wait for the stream, so the shim first waits itself, without a
	 * timeout. */
	FENCE_COPY_WAITS,
};
/* Call before a copy for which the driver would wait while it holds a lock. */
void fence_copy_begin(struct session *session, CUstream stream, enum fence_copy kind);
/* Keeps new launches from being managed until fence_end, but does not wait. */
void fence_stand(struct session *session);
void fence_end(struct session *session);
/* Begin and end a fence on all devices of the program, for calls that may wait for any device. */
void fence_all_begin(enum fence_kind kind);
void fence_all_end(void);
bool fence_active(struct session *session);
/* How many fences have ended: after any of them, memory may have been freed. */
unsigned fence_count(void);
bool fence_open(struct session *session);
/* The shim's context may end: a fence that waits, until fence_resume. */
struct session_ends;
void fence_pause(struct session *session, const struct session_ends *ends);
void fence_resume(struct session *session, const struct session_ends *ends);

#endif
