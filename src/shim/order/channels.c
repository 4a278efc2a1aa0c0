/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tracks streams, as far as managed launches require it. A stream that waits for a preempted launch
 * occupies a hardware channel until the launch is resumed. So does each stream that waits for an
 * event of such a stream. If more streams have work than there are channels, streams share
 * channels. Then the shim's launch that resumes the preempted one may queue behind a stream that
 * waits for it: a deadlock.
 *
 * So the shim counts each stream from its first use of any kind. Once more streams are in use than
 * there are channels, the shim manages no more launches. It records the number of streams, and the
 * program's next start gets more channels (connections.c).
 *
 * session->helper needs no channel. It has work only before the first managed launch (ctlpool.c), and
 * while a form is loaded (globals.c). Loading is fenced, so no managed launch waits for a launch of
 * the shim during that time. */
#include "shim/order/channels.h"

#include "shim/core/connections.h"
#include "shim/core/lock.h"
#include "shim/order/fence.h"
#include "shim/order/helpers.h"
#include "shim/order/launches.h"

#include <stdatomic.h>

/* Stops counting the destroyed streams, if no managed launch is outstanding: then no launch is left
 * that could block them. */
static void end_lingering(struct session *session)
{
	unsigned n;

	managed_reap(session);
	lock_take(&session->streams->lingering_lock);
	n = atomic_load(&session->streams->n_lingering);
	if (n && !managed_outstanding(session)) {
		atomic_fetch_sub(&session->streams->n_lingering, n);
		atomic_fetch_sub(&session->streams->n_used, n);
	}
	lock_drop(&session->streams->lingering_lock);
}

static bool all_fit(struct session *session)
{
	if (atomic_load_explicit(&session->streams->n_used, memory_order_relaxed) <=
		connections_for_streams())
		return true;
	if (atomic_load(&session->streams->n_lingering))
		end_lingering(session);
	return atomic_load(&session->streams->n_used) <= connections_for_streams();
}

bool stream_admits(struct session *session, struct stream *s)
{
	int lent, used;

	stream_use(session, s);
	if (all_fit(session))
		return true;
	/* Read n_lent before n_used. If another thread changes them meanwhile, the difference is
	 * too small rather than too large. */
	lent = (int)atomic_load(&session->streams->n_lent);
	used = (int)atomic_load(&session->streams->n_used);
	if (used > lent)
		connections_wanted((unsigned)(used - lent) + CONNECTIONS_SPARE);
	return false;
}

void stream_use(struct session *session, struct stream *s)
{
	if (atomic_load_explicit(&s->used, memory_order_relaxed) || atomic_exchange(&s->used, true))
		return;
	if (atomic_fetch_add(&session->streams->n_used, 1) + 1 <= connections_for_streams())
		return;
	helpers_return_channels(session);
	if (all_fit(session))
		return;
	/* This stream is one more than there are channels. It may share a channel with a stream
	 * that waits for a managed launch. So before this stream gets any work, wait until no
	 * managed launch is outstanding. The wait is bounded (FENCE_LOADS). */
	fence_begin(session, FENCE_LOADS);
	fence_end(session);
}

struct session *stream_touch(struct session *session, CUstream stream)
{
	struct stream *s;

	session = stream_session(session, stream);
	s = shim_on(session) ? stream_of(session, stream) : NULL;
	if (s)
		stream_use(session, s);
	return session;
}
