/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Limits how long a thread of the program waits for launches in cases where it would not wait
 * without heddle. In most cases the wait ends by itself, because preempted launches make progress
 * sooner or later. But a launch may need something that this thread does only after its wait. Then
 * no launch makes progress, and the wait must end without that. */
#include "shim/order/patience.h"

#include "shim/core/lock.h"
#include "shim/order/launches.h"

#define LULL_NS 200000000u /* timeout without any progress */
/* the timeout if the last wait ended in a timeout and no launch has completed since */
#define AGAIN_NS 5000000u
/* The greatest time that counts between two checks. More time passes if the thread is descheduled
 * between them, but that says nothing about the launches. */
#define GLANCE_NS 1000000u

/* Measures the progress of outstanding launches: number of arrivals and finished blocks. */
static uint64_t count_moves(struct session *session)
{
	uint64_t n = 0;

	lock_take(&session->launches->lock);
	for (unsigned i = 0; i < session->launches->n_active; i++) {
		const struct managed *m = &session->launches->at[session->launches->active[i]];
		const struct ctl_host *h = &slot_of(session, m)->host;

		if (m->launched)
			n += __atomic_load_n(&h->finished, __ATOMIC_ACQUIRE) +
			     (__atomic_load_n(&h->arrived, __ATOMIC_ACQUIRE) == m->args.gen + 1);
	}
	lock_drop(&session->launches->lock);
	return n;
}

void patience_begin(struct session *session, struct patience *p, const _Atomic unsigned *ended,
	_Atomic unsigned *gave_up)
{
	*p = (struct patience){
		ended, gave_up, atomic_load(ended), count_moves(session), shim_now_ns(), 0};
}

bool patience_ends(struct session *session, struct patience *p)
{
	bool again = atomic_load(p->gave_up) == p->seen_ended + 1;
	unsigned ended = atomic_load(p->ended);
	uint64_t now = shim_now_ns(), seen_moves = count_moves(session);

	if (ended != p->seen_ended || seen_moves != p->seen_moves)
		p->lull_ns = 0;
	else if (!managed_any_waiting(session)) /* the clock stops while one waits */
		p->lull_ns += MIN(now - p->looked_ns, GLANCE_NS);
	p->seen_ended = ended;
	p->seen_moves = seen_moves;
	p->looked_ns = now;
	if (p->lull_ns < (again ? AGAIN_NS : LULL_NS))
		return false;
	atomic_store(p->gave_up, ended + 1);
	return true;
}

static bool has_room(struct session *session, size_t bytes)
{
	for (unsigned i = 0; i < WIRE_SLOTS && launches_have_bytes(session, bytes); i++) {
		if (!session->launches->at[i].used &&
			__atomic_load_n(&session->page->slots[i].state, __ATOMIC_ACQUIRE) ==
				WIRE_SLOT_FREE)
			return true;
	}
	return false;
}

/* Waits for a free slot. Without heddle, a program with so many queued launches would wait as well,
 * when the driver's queue is full. Launching unmanaged instead is no solution, because heddled
 * could not stop hundreds of such launches or tell them apart. The wait ends early if the
 * outstanding launches make no progress: they may need something that this thread does after the
 * wait. Then this returns false, and the launch becomes unmanaged. */
bool launches_await_room(struct session *session, size_t bytes)
{
	unsigned seen = atomic_load(&session->launches->ended);
	struct patience p;
	bool room;

	patience_begin(session, &p, &session->launches->ended, &session->launches->gave_up);
	do {
		nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
		lock_take(&session->launches->lock);
		launches_reap(session, UINT32_MAX);
		room = has_room(session, bytes);
		lock_drop(&session->launches->lock);
		if (atomic_load(&session->launches->ended) != seen)
			shim_kick(session); /* asks the daemon to free slots */
		seen = atomic_load(&session->launches->ended);
	} while (!room && !patience_ends(session, &p) && !atomic_load(&session->dead));
	return room;
}
