/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* When unmanaged launches are over, and how much of them is in flight (page.h: follow, bound_us,
 * opaque_completed). */
#ifndef HEDDLE_SHIM_FOLLOW_H
#define HEDDLE_SHIM_FOLLOW_H

#include "shim/managed.h"

/* Completions, while anybody wants to know of them; true: some are pending. */
bool follow_look(void);
bool follow_from_agent(void); /* the same by the agent, which looks again soon if so */
/* Has a stream not come to its end, of those that can be asked and had unmanaged launches? Also
 * while nobody else wants to know, and as long as there are captures. */
bool follow_is_busy(void);
void follow_waited(void); /* after a wait of the program's: tells at once what has ended */

/* A launch that the agent is to follow; wakes it if need be. */
void follow_later(struct stream *s);
/* One that this thread puts an event behind, if not at once then together with the next. */
void follow_now(struct stream *s, const struct opaque *o);

/* May `what` be launched, or would too much be in flight? Then it counts, until it is over or was
 * not launched after all. */
bool follow_admits(uint64_t what, uint32_t bound_us, struct opaque *ret);
void follow_cancel(const struct opaque *o);
uint64_t follow_flying_us(void); /* what is admitted and not seen to be over takes in all */

/* Nobody looks at streams while a capture begins; more: 1, or -1 (it did not). */
void follow_capture(int more);
/* Nobody looks while a context may end; more: 1, then -1. And when one has: nothing is in flight.
 */
void follow_pause(int more);
void follow_forget(void);
/* The stream is about to be destroyed, or was not after all. */
void follow_end_of(struct stream *s, bool ends);

#endif
