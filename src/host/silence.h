/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Is a daemon that keeps its socket open stuck? Its sign of life (wire_page.alive_ms) stands still.
 * That counts only while somebody waits for its word, since an idle one says nothing; and only as
 * far as we looked: on a machine that ran neither of the two, neither is to blame. Pure: no clock.
 */
#ifndef HEDDLE_HOST_SILENCE_H
#define HEDDLE_HOST_SILENCE_H

#include "base/base.h"

#define SILENCE_MS      900
#define SILENCE_LOOK_MS 250 /* of the time since the last look so much counts at most */

struct silence {
	uint32_t said, looked, ms;
};

/* For each look, at least every 200 ms. True: it is as good as dead. */
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
