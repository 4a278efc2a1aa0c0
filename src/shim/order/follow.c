/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds out when unmanaged launches are complete, while heddled or a gate (gate.c) needs to know.
 * The agent thread queries the streams, which costs the device and the program's own threads
 * nothing. In two cases a query is not enough, and the shim also records events in the streams:
 * - A gate admits launches by number, so the shim must know how many are complete. It records an
 *   event after a stream's launches so far.
 * - heddled can limit the time of the work in flight. Then the launching threads record an event
 *   whenever the estimated time of their stream's launches since the last event reaches a fraction
 *   of the limit. The time between two events gives an estimate for the launches between them. */
#include "shim/order/follow.h"

#include "shim/core/ends.h"
#include "shim/core/lock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* largest number of events in flight; further launches get an event later */
#define FOLLOWED 1024
#define PART     4u /* record an event after 1/PART of the limit */
/* with so many launches in flight, recording an event might block until the driver's queue has
 * space */
#define DEEP 512u

struct following {
	struct lock lock;
	struct followed {
		CUevent event;
		struct stream *stream;
		/* number of launches that are complete when the event is */
		uint32_t launches;
		uint64_t began_ns;       /* when the first of these launches was submitted */
		struct cost_batch batch; /* those of the launches that count toward the limit */
	} followed[FOLLOWED];
	_Atomic unsigned n_followed; /* guarded by the lock */
	CUevent spare[FOLLOWED];
	unsigned n_spare;
	_Atomic uint32_t unfollowed; /* number of launches that no event covers yet */
	struct map touched;          /* the streams that have such launches */
	_Atomic bool awake;          /* the agent will look again soon, so it need not be woken */
	unsigned paused;             /* a context may be about to end; guarded by the lock */
	/* The estimated time and the number of launches that were admitted since heddled set the
	 * limit and are not known to be complete. The lock guards them. */
	uint64_t flying_us;
	uint32_t flying;
	uint64_t moved_ns; /* when a launch last completed, or when the first was submitted */
};

/* guards the table of cost.c; taken after the lock of struct following */
static struct lock cost_lock = LOCK_INIT(costs);

static bool is_wanted(struct session *session)
{
	return page_load(&session->page->follow);
}

static uint32_t bound_us(struct session *session)
{
	return page_load(&session->page->bound_us);
}

static CUevent take_event(struct session *session)
{
	CUevent e = NULL;

	if (session->following->n_spare)
		return session->following->spare[--session->following->n_spare];
	return cu.cuEventCreate(&e, 0) == CUDA_SUCCESS ? e : NULL;
}

static void put_event(struct session *session, CUevent e)
{
	if (e && session->following->n_spare < FOLLOWED)
		session->following->spare[session->following->n_spare++] = e;
	else if (e)
		cu.cuEventDestroy(e);
}

/* ---- called under the lock ---- */

/* Records one event for all launches of the stream so far; there is at least one. If no event is
 * available, the launches stay counted in `unfollowed`. */
static void record_event(struct session *session, struct stream *s, CUstream handle)
{
	struct followed *f = &session->following->followed[session->following->n_followed];
	uint32_t n = atomic_load(&s->opaque);

	if (session->following->n_followed == FOLLOWED)
		return;
	f->event = take_event(session);
	if (!f->event)
		return;
	if (cu.cuEventRecord(f->event, handle) != CUDA_SUCCESS) {
		put_event(session, f->event);
		return;
	}
	f->stream = s;
	f->launches = n;
	f->batch = s->batch;
	f->began_ns = s->began_ns;
	s->batch = (struct cost_batch){0};
	s->events++;
	session->following->n_followed++;
	atomic_fetch_sub(&s->opaque, n);
	atomic_fetch_sub(&session->following->unfollowed, n);
}

static void no_longer_flying(struct session *session, const struct cost_batch *b)
{
	session->following->flying -= MIN(session->following->flying, b->n);
	session->following->flying_us -= MIN(session->following->flying_us, b->us);
	if (b->n)
		session->following->moved_ns = shim_now_ns();
}

/* Estimates the cost of the launches between two events of one stream. Their cost is the time
 * between the events. If the first of these launches was submitted only after the earlier event had
 * completed, the stream was idle in between, and the time since that submission counts instead. */
static void learn_costs(struct session *session, const struct followed *f)
{
	double us = (double)(shim_now_ns() - f->began_ns) / 1e3;
	float ms;

	if (!f->batch.n)
		return;
	if (f->stream->passed &&
		cu.cuEventElapsedTime(&ms, f->stream->passed, f->event) == CUDA_SUCCESS)
		us = MIN(us, (double)ms * 1e3);
	lock_take(&cost_lock);
	cost_learn(&f->batch, bound_us(session) / PART, us);
	lock_drop(&cost_lock);
}

static void event_passed(struct session *session, struct followed *f)
{
	struct stream *s = f->stream;

	learn_costs(session, f);
	no_longer_flying(session, &f->batch);
	s->events--;
	put_event(session, s->passed);
	s->passed = s->destroyed ? NULL : f->event;
	if (s->destroyed)
		put_event(session, f->event);
}

/* Counts all n launches of the stream so far as complete, whether they are complete or failed. */
static uint32_t let_go(struct session *session, struct stream *s, uint32_t n)
{
	atomic_fetch_sub(&s->opaque, n);
	atomic_fetch_sub(&session->following->unfollowed, n);
	no_longer_flying(session, &s->batch);
	s->batch = (struct cost_batch){0};
	return n;
}

static bool by_events(struct session *session)
{
	return bound_us(session) || page_load(&session->page->gates);
}

static uint32_t in_flight(struct session *session)
{
	return page_load(&session->page->opaque_submitted) -
	       page_load(&session->page->opaque_completed);
}

struct looking {
	struct session *session;
	uint32_t done; /* number of launches */
};

static void look_at_stream(void *user, const void *key, void *value)
{
	struct looking *looking = user;
	struct session *session = looking->session;
	struct stream *s = value;
	uint32_t n = atomic_load(&s->opaque);
	/* The launches are in the per-thread default stream of another thread. This thread has no
	 * handle with which to query that stream. So it records an event in the legacy default
	 * stream. The legacy default stream waits for all per-thread default streams, so the event
	 * completes after the launches. */
	bool own = s->handle == CU_STREAM_PER_THREAD;

	if (!n)
		return;
	/* After an error of the context, launches count as ended as well. */
	if ((s->destroyed && !own) || (!own && cu.cuStreamQuery(s->handle) != CUDA_ERROR_NOT_READY))
		looking->done += let_go(session, s, n);
	else if ((own || (by_events(session) && !s->events)) && in_flight(session) < DEEP)
		record_event(session, s, own ? CU_STREAM_LEGACY : s->handle);
}

/* Returns how many more launches are complete since the last call. */
static uint32_t count_completed(struct session *session)
{
	struct looking looking = {session, 0};
	unsigned kept = 0;
	uint32_t done;

	/* Look at no stream during a capture, because a query or an event would invalidate the
	 * capture. */
	if (is_wanted(session) && atomic_load(&session->following->unfollowed) &&
		!atomic_load(&session->captures))
		map_each(&session->following->touched, look_at_stream, &looking);
	done = looking.done;
	for (unsigned i = 0; i < session->following->n_followed; i++) {
		/* After an error of the context, launches count as ended as well. */
		if (cu.cuEventQuery(session->following->followed[i].event) ==
			CUDA_ERROR_NOT_READY) {
			session->following->followed[kept++] = session->following->followed[i];
			continue;
		}
		done += session->following->followed[i].launches;
		event_passed(session, &session->following->followed[i]);
	}
	session->following->n_followed = kept;
	/* Update the count before the lock is released. Then a thread that finds nothing left to
	 * follow also sees the new count. */
	if (done)
		__atomic_fetch_add(&session->page->opaque_completed, done, __ATOMIC_RELEASE);
	return done;
}

/* ---- checking for completions ---- */

bool follow_look(struct session *session)
{
	struct shim_inside in;
	uint32_t done;
	bool pending;

	if (!is_wanted(session) && !session->following->n_followed)
		return false;
	lock_take(&session->following->lock);
	if (session->following->paused) {
		lock_drop(&session->following->lock);
		return true;
	}
	shim_enter(session, &in);
	done = count_completed(session);
	pending = session->following->n_followed ||
		  (is_wanted(session) && atomic_load(&session->following->unfollowed));
	shim_leave(&in);
	lock_drop(&session->following->lock);
	/* Wake heddled only when nothing is pending, because the tenant stays busy until then. */
	if (done && !pending && is_wanted(session))
		shim_kick(session);
	return pending;
}

static void ask_stream(void *user, const void *key, void *value)
{
	struct stream *s = value;
	bool *busy = user;

	if (atomic_load(&s->opaque) && !s->destroyed && s->handle != CU_STREAM_PER_THREAD)
		*busy |= cu.cuStreamQuery(s->handle) == CUDA_ERROR_NOT_READY;
}

bool follow_is_busy(struct session *session)
{
	struct shim_inside in;
	bool busy;

	lock_take(&session->following->lock);
	busy = session->following->paused || atomic_load(&session->captures);
	if (!busy && shim_enter(session, &in) == CUDA_SUCCESS) {
		map_each(&session->following->touched, ask_stream, &busy);
		shim_leave(&in);
	}
	lock_drop(&session->following->lock);
	return busy;
}

bool follow_from_agent(struct session *session)
{
	bool pending = follow_look(session);

	atomic_store(&session->following->awake, pending);
	/* Between the end of follow_look and the store above, another thread may have launched.
	 * That thread still saw `awake` set, so it did not wake the agent. */
	if (!pending && is_wanted(session) && atomic_load(&session->following->unfollowed)) {
		atomic_store(&session->following->awake, true);
		return true;
	}
	return pending;
}

void follow_waited(struct session *session)
{
	if (is_wanted(session) && in_flight(session))
		follow_look(session);
}

/* ---- counting launches ---- */

void follow_later(struct session *session, struct stream *s)
{
	atomic_fetch_add(&session->following->unfollowed, 1);
	if (!atomic_fetch_add(&s->opaque, 1))
		map_put(&session->following->touched, s, s);
	if (is_wanted(session) && !atomic_load(&session->following->awake))
		shim_poke(session);
}

/* Estimates the time that the launches in flight will still take. The time since the last
 * completion is subtracted, but no more than the estimate for the launches of the oldest event.
 * Call under the lock. */
static uint64_t left_us(struct session *session)
{
	uint64_t since = (shim_now_ns() - session->following->moved_ns) / 1000;
	uint64_t gone = MIN(since,
		session->following->n_followed ? session->following->followed[0].batch.us : 0);

	return session->following->flying_us > gone ? session->following->flying_us - gone : 0;
}

/* Decides whether a launch fits into the limit of work in flight. A launch that alone takes longer
 * than the limit is admitted when little other work is left, so that the device always has work. */
bool follow_admits(struct session *session, uint64_t what, uint32_t bound, struct opaque *o)
{
	uint32_t all = in_flight(session);
	uint64_t left;
	uint32_t us;
	bool fits;

	lock_take(&session->following->lock);
	if (!all)
		session->following->flying = 0, session->following->flying_us = 0;
	lock_take(&cost_lock);
	us = cost_of(what, bound / PART);
	lock_drop(&cost_lock);
	left = left_us(session);
	/* Admit no launch before all launches from before the limit was set are complete. */
	fits = !all ||
	       (all <= session->following->flying && (left + us <= bound || left <= bound / PART));
	if (fits) {
		if (!session->following->flying++)
			session->following->moved_ns = shim_now_ns();
		session->following->flying_us += us;
		o->what = what;
		o->us = us;
	}
	lock_drop(&session->following->lock);
	return fits;
}

uint64_t follow_flying_us(struct session *session)
{
	uint64_t us;

	lock_take(&session->following->lock);
	us = session->following->flying_us;
	lock_drop(&session->following->lock);
	return us;
}

void follow_cancel(struct session *session, const struct opaque *o)
{
	struct cost_batch b = {.n = 1, .us = o->us};

	if (!o->us)
		return;
	lock_take(&session->following->lock);
	no_longer_flying(session, &b);
	lock_drop(&session->following->lock);
}

/* Only the launching thread may call this. No other thread can record an event in the launching
 * thread's per-thread default stream. */
void follow_now(struct session *session, struct stream *s, const struct opaque *o)
{
	lock_take(&session->following->lock);
	if (!atomic_fetch_add(&s->opaque, 1))
		map_put(&session->following->touched, s, s);
	atomic_fetch_add(&session->following->unfollowed, 1);
	if (!s->batch.n)
		s->began_ns = shim_now_ns();
	if (o->us && s->batch.n < COST_BATCH)
		s->batch.what[s->batch.n++] = o->what;
	s->batch.us += o->us;
	if (!o->us || s->batch.n == COST_BATCH || s->batch.us >= bound_us(session) / PART)
		record_event(session, s, s->handle); /* if this fails, a later event covers it */
	lock_drop(&session->following->lock);
	if (!atomic_load(&session->following->awake))
		shim_poke(session);
}

void follow_capture(struct session *session, int more)
{
	lock_take(&session->following->lock);
	atomic_fetch_add(&session->captures, more);
	lock_drop(&session->following->lock);
}

void follow_pause(struct session *session, const struct session_ends *ends)
{
	lock_take(&session->following->lock);
	session->following->paused++;
	lock_drop(&session->following->lock);
}

void follow_resume(struct session *session, const struct session_ends *ends)
{
	lock_take(&session->following->lock);
	session->following->paused--;
	lock_drop(&session->following->lock);
}

static void forget_stream(void *user, const void *key, void *value)
{
	struct session *session = user;
	struct stream *s = value;

	atomic_fetch_sub(&session->following->unfollowed, atomic_exchange(&s->opaque, 0));
	s->batch = (struct cost_batch){0};
	s->events = 0;
	s->passed = NULL;
}

/* Forgets all launches after a context has ended. The context's streams and events no longer exist,
 * and the shim does not record which launches belong to which context. */
void follow_forget(struct session *session, const struct session_ends *ends)
{
	lock_take(&session->following->lock);
	map_each(&session->following->touched, forget_stream, session);
	session->following->n_followed = session->following->n_spare = 0;
	session->following->flying = 0;
	session->following->flying_us = 0;
	if (session->page)
		__atomic_store_n(&session->page->opaque_completed,
			page_load(&session->page->opaque_submitted), __ATOMIC_RELEASE);
	lock_drop(&session->following->lock);
}

void follow_end_of(struct session *session, struct stream *s, bool ends)
{
	lock_take(&session->following->lock);
	/* A destroyed stream cannot be queried, so record an event after its work now. */
	if (ends && atomic_load(&s->opaque) && is_wanted(session) && in_flight(session) < DEEP &&
		!atomic_load(&session->captures))
		record_event(session, s, s->handle);
	s->destroyed = ends;
	lock_drop(&session->following->lock);
}

bool follow_open(struct session *session)
{
	session->following = calloc(1, sizeof(*session->following));
	if (session->following) {
		lock_init(&session->following->lock, LOCK_following);
		map_init(&session->following->touched);
	}
	return session->following;
}

void follow_after_fork(void)
{
	lock_init(&cost_lock, LOCK_costs);
}
