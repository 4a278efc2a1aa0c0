/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* When unmanaged launches are complete, and how much of them is in flight (page.h: follow,
 * bound_us, opaque_completed). */
#ifndef HEDDLE_SHIM_FOLLOW_H
#define HEDDLE_SHIM_FOLLOW_H

#include "shim/managed.h"

/* Reports completions, if anything needs them; true: some are pending. */
bool follow_look(void);
bool follow_from_agent(void); /* the same by the agent, which soon looks again if true */
/* Is a stream with unmanaged launches still busy, as far as streams can be queried? It also answers
 * while nothing else needs completions, and true during captures. */
bool follow_is_busy(void);
void follow_waited(void); /* after a wait of the program: reports at once what has ended */

/* A launch for the agent to follow; wakes the agent if need be. */
void follow_later(struct stream *s);
/* A launch that this thread follows with an event, at once or together with the next launch. */
void follow_now(struct stream *s, const struct opaque *o);

/* May `what` be launched, or would too much be in flight? If true, it counts until it is complete
 * or follow_cancel says that it was not launched. */
bool follow_admits(uint64_t what, uint32_t bound_us, struct opaque *ret);
void follow_cancel(const struct opaque *o);
/* the estimated time of all admitted launches that are not known to be complete */
uint64_t follow_flying_us(void);

/* No thread queries streams while a capture begins; more: 1, or -1 (it did not begin). */
void follow_capture(int more);
/* No thread queries streams while a context may end; more: 1, then -1. follow_forget: a context has
 * ended, so nothing is in flight. */
void follow_pause(int more);
void follow_forget(void);
/* The stream is about to be destroyed, or was not after all. */
void follow_end_of(struct stream *s, bool ends);

#endif
