/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reports when unmanaged launches are complete, and how much unmanaged work is in flight (fields
 * follow, bound_us and opaque_completed of page.h). */
#ifndef HEDDLE_SHIM_FOLLOW_H
#define HEDDLE_SHIM_FOLLOW_H

#include "shim/order/stream.h"

struct opaque {
	bool counted;
	uint64_t what; /* a number that identifies the kernel and its grid, or the graph; never 0 */
	uint32_t us;   /* its estimated time, if heddled limits the time in flight */
	bool passes;   /* see hold_pass */
};

/* Reports unmanaged launches that have completed, if heddled or a gate needs to know. Returns true
 * if some launches are still pending. */
bool follow_look(struct session *session);
/* Calls follow_look for the agent. Returns true if the agent should look again soon. */
bool follow_from_agent(struct session *session);
/* Returns true if a stream with unmanaged launches is still busy, as far as streams can be queried.
 * This works also if neither heddled nor a gate needs completions. During captures it returns
 * true. */
bool follow_is_busy(struct session *session);
/* Call this after the program has waited. Reports at once which launches have ended. */
void follow_waited(struct session *session);

/* Registers an unmanaged launch on `s` that the agent thread is to follow, and wakes the agent if
 * necessary. */
void follow_later(struct session *session, struct stream *s);
/* Registers an unmanaged launch on `s`, of which the calling thread itself finds out when it is
 * complete. The thread records an event for the launch now, or later one event for this launch and
 * those after it together. */
void follow_now(struct session *session, struct stream *s, const struct opaque *o);

/* Returns true if the kernel or graph `what` can be launched without exceeding the limit of work in
 * flight, bound_us. Then the launch counts as in flight until it completes, or until follow_cancel
 * reports that it was not launched. */
bool follow_admits(struct session *session, uint64_t what, uint32_t bound_us, struct opaque *ret);
void follow_cancel(struct session *session, const struct opaque *o);
/* Returns the estimated time of all admitted launches that are not known to be complete. */
uint64_t follow_flying_us(struct session *session);

/* Counts stream captures. While there are any, no thread queries streams. `more` is 1 before a
 * capture begins, and -1 when the capture has ended or could not begin. */
void follow_capture(struct session *session, int more);
/* While a context may end, no thread queries streams. follow_forget drops all launches in flight
 * after a context has ended. */
struct session_ends;
void follow_pause(struct session *session, const struct session_ends *ends);
void follow_resume(struct session *session, const struct session_ends *ends);
void follow_forget(struct session *session, const struct session_ends *ends);
bool follow_open(struct session *session);
void follow_after_fork(void);
/* ends: the stream is about to be destroyed; otherwise the driver did not destroy it. */
void follow_end_of(struct session *session, struct stream *s, bool ends);

#endif
