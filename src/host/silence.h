/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Is a daemon stuck that keeps its socket open? Its sign of life (wire_page.alive_ms) stops
 * changing. That counts only while a thread waits for the daemon's word, since an idle daemon
 * writes nothing. And only time between regular checks counts: if the machine ran neither process,
 * the daemon is not to blame. Pure: no clock. */
#ifndef HEDDLE_HOST_SILENCE_H
#define HEDDLE_HOST_SILENCE_H

#include "base/base.h"

#define SILENCE_MS      900
#define SILENCE_LOOK_MS 250 /* of the time since the last look so much counts at most */

struct silence {
	uint32_t said, looked, ms;
};

/* Call at least every 200 ms. True: the daemon counts as dead. */
static inline bool silence_too_long(
	struct silence *s, uint32_t alive_ms, uint32_t now_ms, bool waited_for)
{
	if (!alive_ms || alive_ms != s->said || !waited_for)
		s->ms = 0;
	else
		s->ms += MIN(now_ms - s->looked, SILENCE_LOOK_MS);
	s->said = alive_ms;
	s->looked = now_ms;
	return s->ms > SILENCE_MS;
}

#endif
