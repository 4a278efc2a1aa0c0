/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Detects a daemon that is stuck but keeps its socket open. A running daemon changes a heartbeat in
 * the page (wire_page.alive_ms), and a stuck one does not. Time without a change of the heartbeat
 * counts only under two conditions:
 * - A thread waits for heddled, because an idle daemon does not write.
 * - The time lies between checks that came regularly. If the machine ran neither process for a
 *   while, that is not the daemon's fault.
 *
 * These functions read no clock. */
#ifndef HEDDLE_HOST_SILENCE_H
#define HEDDLE_HOST_SILENCE_H

#include "base/base.h"

#define SILENCE_MS      900
#define SILENCE_LOOK_MS 250 /* at most this part of the time between two checks counts */

struct silence {
	uint32_t said, looked, ms;
};

/* Call at least every 200 ms. Returns true if the daemon has been silent for so long that it counts
 * as dead. */
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
