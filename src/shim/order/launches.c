/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The list of outstanding managed launches. A launch takes a slot of the shared page. The shim
 * releases the slot when it notices that the launch has ended: at the next launch, in the agent
 * thread, or when a thread waits. */
#include "shim/order/launches.h"

#include "shim/core/ends.h"
#include "shim/core/lock.h"
#include "shim/order/ctlpool.h"

#include <stdlib.h>
#include <time.h>

#define KICK_AFTER 64 /* kick the daemon when this many closed slots wait to be freed */

#define PARAMETER_BYTES ((size_t)1 << 20)

unsigned managed_outstanding(struct session *session)
{
	return atomic_load(&session->launches->outstanding);
}

/* Call under the lock. */
static void release_slot(struct session *session, unsigned at)
{
	struct managed *m = &session->launches->at[session->launches->active[at]];

	__atomic_store_n(&slot_of(session, m)->state, WIRE_SLOT_CLOSED, __ATOMIC_RELEASE);
	m->used = false;
	session->launches->parameter_bytes -= m->bytes;
	session->launches->active[at] = session->launches->active[--session->launches->n_active];
	if (atomic_fetch_sub(&m->stream->outstanding, 1) == 1 && m->stream->destroyed)
		ctlpool_take_back(session, m->stream);
	atomic_fetch_sub(&session->launches->outstanding, 1);
	atomic_fetch_add(&m->stream->ended, 1);
	atomic_fetch_add(&session->launches->ended, 1);
	session->launches->closed++;
}

/* Adds the launch's time from arrival to end to the page's spanned_ns. */
static void tell_span(struct session *session, const struct managed *m)
{
	const struct ctl_host *h = &session->page->slots[m - session->launches->at].host;
	uint64_t from = __atomic_load_n(&h->arrived_ns, __ATOMIC_RELAXED);
	uint64_t to = __atomic_load_n(&h->done_ns, __ATOMIC_RELAXED);

	if (from && to > from)
		__atomic_fetch_add(&session->page->spanned_ns, to - from, __ATOMIC_RELAXED);
}

void launches_reap(struct session *session, unsigned at_most)
{
	unsigned at;

	for (at = 0; at < session->launches->n_active && at_most; at_most--) {
		struct managed *m = &session->launches->at[session->launches->active[at]];

		/* Before `launched` is set, the slot may still describe its previous launch.
		 * is_done would then return true because that launch has ended. */
		if (m->launched && !m->resuming && is_done(session, m)) {
			if (session->launches->on_end)
				session->launches->on_end(session, m);
			tell_span(session, m);
			release_slot(session, at);
		} else {
			at++;
		}
	}
}

void launches_learn(struct session *session)
{
	lock_take(&session->launches->lock);
	launches_reap(session, 4);
	lock_drop(&session->launches->lock);
}

void managed_reap(struct session *session)
{
	lock_take(&session->launches->lock);
	launches_reap(session, UINT32_MAX);
	lock_drop(&session->launches->lock);
}

bool launches_have_bytes(struct session *session, size_t bytes)
{
	return !session->launches->parameter_bytes ||
	       session->launches->parameter_bytes + bytes <= PARAMETER_BYTES;
}

struct managed *launches_take(struct session *session, struct stream *s, size_t bytes)
{
	struct managed *m = NULL;
	bool kick;

	lock_take(&session->launches->lock);
	for (unsigned i = 0; i < WIRE_SLOTS && !m && launches_have_bytes(session, bytes); i++) {
		unsigned at = (session->launches->cursor + i) % WIRE_SLOTS;

		if (!session->launches->at[at].used &&
			__atomic_load_n(&session->page->slots[at].state, __ATOMIC_ACQUIRE) ==
				WIRE_SLOT_FREE) {
			m = &session->launches->at[at];
			session->launches->cursor = at + 1;
		}
	}
	if (m) {
		m->used = true;
		m->bytes = bytes;
		session->launches->parameter_bytes += bytes;
		m->resuming = m->launched = false;
		m->stream = s;
		m->id = ++session->launches->last_id;
		session->launches->active[session->launches->n_active++] =
			(uint16_t)(m - session->launches->at);
		atomic_fetch_add(&s->outstanding, 1);
		atomic_fetch_add(&session->launches->outstanding, 1);
	} else {
		launches_reap(session, UINT32_MAX);
	}
	kick = !m || session->launches->closed >= KICK_AFTER;
	if (kick)
		session->launches->closed = 0;
	lock_drop(&session->launches->lock);
	if (kick)
		shim_kick(session);
	return m;
}

void launches_drop(struct session *session, struct managed *m)
{
	lock_take(&session->launches->lock);
	for (unsigned i = 0; i < session->launches->n_active; i++) {
		if (&session->launches->at[session->launches->active[i]] == m) {
			release_slot(session, i);
			break;
		}
	}
	lock_drop(&session->launches->lock);
}

void launches_stream_destroyed(struct session *session, struct stream *s)
{
	lock_take(&session->launches->lock);
	s->destroyed = true;
	if (!atomic_load(&s->outstanding))
		ctlpool_take_back(session, s);
	lock_drop(&session->launches->lock);
}

/* Returns true if heddled steers some incomplete launch: it has sent quotas for the launch, or it
 * sets quotas for all launches that begin. If `ungranted` is set, counts only launches that have no
 * SMs now. */
static bool any_steered(struct session *session, bool ungranted)
{
	bool any = false, begin = __atomic_load_n(&session->page->begin.seq, __ATOMIC_ACQUIRE);

	lock_take(&session->launches->lock);
	for (unsigned i = 0; i < session->launches->n_active && !any; i++) {
		struct managed *m = &session->launches->at[session->launches->active[i]];
		const struct wire_slot *w = slot_of(session, m);

		any = m->launched &&
		      (begin || __atomic_load_n(&w->host.began, __ATOMIC_ACQUIRE) ||
			      __atomic_load_n(&w->host.seq, __ATOMIC_ACQUIRE)) &&
		      !(ungranted && is_granted(session, w)) && !is_done(session, m);
	}
	lock_drop(&session->launches->lock);
	return any;
}

bool managed_any_preempted(struct session *session)
{
	return any_steered(session, false);
}

bool managed_any_waiting(struct session *session)
{
	return any_steered(session, true);
}

void launches_end_all(struct session *session)
{
	lock_take(&session->launches->lock);
	session->page_dev = 0;
	while (session->launches->n_active)
		release_slot(session, 0);
	lock_drop(&session->launches->lock);
	ctlpool_drop_all(session);
}

void launches_forget(struct session *session, const struct session_ends *ends)
{
	launches_end_all(session);
}

bool launches_open(struct session *session)
{
	session->launches = calloc(1, sizeof(*session->launches));
	if (session->launches)
		lock_init(&session->launches->lock, LOCK_launches);
	return session->launches;
}
