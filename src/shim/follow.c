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
#include "shim/follow.h"
#include "shim/cost.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* largest number of events in flight; further launches get an event later */
#define FOLLOWED 1024
#define PART     4u /* an event covers this part of the bound */
/* with so many launches in flight, recording an event might block until the driver's queue has
 * space */
#define DEEP 512u

static struct following {
	pthread_mutex_t lock;
	struct followed {
		CUevent event;
		struct stream *stream;
		uint32_t launches;       /* that are complete when it is */
		uint64_t began_ns;       /* when the first of them was launched; */
		struct cost_batch batch; /* those of them that count for the bound */
	} followed[FOLLOWED];
	_Atomic unsigned n_followed; /* changes under the lock */
	CUevent spare[FOLLOWED];
	unsigned n_spare;
	_Atomic uint32_t unfollowed; /* launches that no event stands for yet */
	struct map touched;          /* streams that had any of them */
	_Atomic bool awake;          /* the agent looks again soon, so nothing has to wake it */
	unsigned paused;             /* under the lock: a context may be about to end */
	/* The estimated time and the number of launches that were admitted since heddled set the
	 * limit and are not known to be complete. The lock guards them. */
	uint64_t flying_us;
	uint32_t flying;
	uint64_t moved_ns; /* the last time that one completed, or the first was launched */
} each[SHIM_SESSIONS] = {
	[0 ... SHIM_SESSIONS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER, .touched = MAP_INIT}};

static struct following *here(void)
{
	return &each[shim_at()];
}

static pthread_mutex_t cost_lock = PTHREAD_MUTEX_INITIALIZER; /* of cost.c; within the other */

static bool is_wanted(void)
{
	return page_load(&shim->page->follow);
}

static uint32_t bound_us(void)
{
	return page_load(&shim->page->bound_us);
}

static CUevent take_event(void)
{
	CUevent e = NULL;

	if (here()->n_spare)
		return here()->spare[--here()->n_spare];
	return cu.cuEventCreate(&e, 0) == CUDA_SUCCESS ? e : NULL;
}

static void put_event(CUevent e)
{
	if (e && here()->n_spare < FOLLOWED)
		here()->spare[here()->n_spare++] = e;
	else if (e)
		cu.cuEventDestroy(e);
}

/* ---- under the lock ---- */

/* Records one event for all launches of the stream so far; there is at least one. If no event is
 * available, the launches stay counted in `unfollowed`. */
static void record_event(struct stream *s, CUstream handle)
{
	struct followed *f = &here()->followed[here()->n_followed];
	uint32_t n = atomic_load(&s->opaque);

	if (here()->n_followed == FOLLOWED)
		return;
	f->event = take_event();
	if (!f->event)
		return;
	if (cu.cuEventRecord(f->event, handle) != CUDA_SUCCESS) {
		put_event(f->event);
		return;
	}
	f->stream = s;
	f->launches = n;
	f->batch = s->batch;
	f->began_ns = s->began_ns;
	s->batch = (struct cost_batch){0};
	s->events++;
	here()->n_followed++;
	atomic_fetch_sub(&s->opaque, n);
	atomic_fetch_sub(&here()->unfollowed, n);
}

static void no_longer_flying(const struct cost_batch *b)
{
	here()->flying -= MIN(here()->flying, b->n);
	here()->flying_us -= MIN(here()->flying_us, b->us);
	if (b->n)
		here()->moved_ns = shim_now_ns();
}

/* Estimates the cost of the launches between two events of one stream. Their cost is the time
 * between the events. If the first of these launches was submitted only after the earlier event had
 * completed, the stream was idle in between, and the time since that submission counts instead. */
static void learn_costs(const struct followed *f)
{
	double us = (double)(shim_now_ns() - f->began_ns) / 1e3;
	float ms;

	if (!f->batch.n)
		return;
	if (f->stream->passed &&
		cu.cuEventElapsedTime(&ms, f->stream->passed, f->event) == CUDA_SUCCESS)
		us = MIN(us, (double)ms * 1e3);
	pthread_mutex_lock(&cost_lock);
	cost_learn(&f->batch, bound_us() / PART, us);
	pthread_mutex_unlock(&cost_lock);
}

static void event_passed(struct followed *f)
{
	struct stream *s = f->stream;

	learn_costs(f);
	no_longer_flying(&f->batch);
	s->events--;
	put_event(s->passed);
	s->passed = s->destroyed ? NULL : f->event;
	if (s->destroyed)
		put_event(f->event);
}

/* Counts all n launches of the stream so far as complete, whether they are complete or failed. */
static uint32_t let_go(struct stream *s, uint32_t n)
{
	atomic_fetch_sub(&s->opaque, n);
	atomic_fetch_sub(&here()->unfollowed, n);
	no_longer_flying(&s->batch);
	s->batch = (struct cost_batch){0};
	return n;
}

static bool by_events(void)
{
	return bound_us() || page_load(&shim->page->gates);
}

static uint32_t in_flight(void)
{
	return page_load(&shim->page->opaque_submitted) - page_load(&shim->page->opaque_completed);
}

static void look_at_stream(void *user, const void *key, void *value)
{
	struct stream *s = value;
	uint32_t *done = user, n = atomic_load(&s->opaque);
	/* The launches are in the per-thread default stream of another thread. This thread has no
	 * handle with which to query that stream. So it records an event in the legacy default
	 * stream. The legacy default stream waits for all per-thread default streams, so the event
	 * completes after the launches. */
	bool own = s->handle == CU_STREAM_PER_THREAD;

	if (!n)
		return;
	/* An error of the context ends them, too. */
	if ((s->destroyed && !own) || (!own && cu.cuStreamQuery(s->handle) != CUDA_ERROR_NOT_READY))
		*done += let_go(s, n);
	else if ((own || (by_events() && !s->events)) && in_flight() < DEEP)
		record_event(s, own ? CU_STREAM_LEGACY : s->handle);
}

/* Counts the launches that are newly known to be complete. */
static uint32_t count_completed(void)
{
	unsigned kept = 0;
	uint32_t done = 0;

	/* Look at no stream during a capture, because a query or an event would invalidate the
	 * capture. */
	if (is_wanted() && atomic_load(&here()->unfollowed) && !atomic_load(&shim->captures))
		map_each(&here()->touched, look_at_stream, &done);
	for (unsigned i = 0; i < here()->n_followed; i++) {
		/* An error of the context ends them, too. */
		if (cu.cuEventQuery(here()->followed[i].event) == CUDA_ERROR_NOT_READY) {
			here()->followed[kept++] = here()->followed[i];
			continue;
		}
		done += here()->followed[i].launches;
		event_passed(&here()->followed[i]);
	}
	here()->n_followed = kept;
	/* Update the count before the lock is released. Then a thread that finds nothing left to
	 * follow also sees the new count. */
	if (done)
		__atomic_fetch_add(&shim->page->opaque_completed, done, __ATOMIC_RELEASE);
	return done;
}

/* ---- looking ---- */

bool follow_look(void)
{
	struct shim_inside in;
	uint32_t done;
	bool pending;

	if (!is_wanted() && !here()->n_followed)
		return false;
	pthread_mutex_lock(&here()->lock);
	if (here()->paused) {
		pthread_mutex_unlock(&here()->lock);
		return true;
	}
	shim_enter(&in);
	done = count_completed();
	pending = here()->n_followed || (is_wanted() && atomic_load(&here()->unfollowed));
	shim_leave(&in);
	pthread_mutex_unlock(&here()->lock);
	/* Wake heddled only when nothing is pending, because the tenant stays busy until then. */
	if (done && !pending && is_wanted())
		shim_kick();
	return pending;
}

static void ask_stream(void *user, const void *key, void *value)
{
	struct stream *s = value;
	bool *busy = user;

	if (atomic_load(&s->opaque) && !s->destroyed && s->handle != CU_STREAM_PER_THREAD)
		*busy |= cu.cuStreamQuery(s->handle) == CUDA_ERROR_NOT_READY;
}

bool follow_is_busy(void)
{
	struct shim_inside in;
	bool busy;

	pthread_mutex_lock(&here()->lock);
	busy = here()->paused || atomic_load(&shim->captures);
	if (!busy && shim_enter(&in) == CUDA_SUCCESS) {
		map_each(&here()->touched, ask_stream, &busy);
		shim_leave(&in);
	}
	pthread_mutex_unlock(&here()->lock);
	return busy;
}

bool follow_from_agent(void)
{
	bool pending = follow_look();

	atomic_store(&here()->awake, pending);
	/* Between the end of follow_look and the store above, another thread may have launched.
	 * That thread still saw `awake` set, so it did not wake the agent. */
	if (!pending && is_wanted() && atomic_load(&here()->unfollowed)) {
		atomic_store(&here()->awake, true);
		return true;
	}
	return pending;
}

void follow_waited(void)
{
	if (is_wanted() && in_flight())
		follow_look();
}

/* ---- launches ---- */

void follow_later(struct stream *s)
{
	atomic_fetch_add(&here()->unfollowed, 1);
	if (!atomic_fetch_add(&s->opaque, 1))
		map_put(&here()->touched, s, s);
	if (is_wanted() && !atomic_load(&here()->awake))
		agent_poke();
}

/* Estimates the time that the launches in flight will still take. The time since the last
 * completion is subtracted, but no more than the estimate for the launches of the oldest event.
 * Call under the lock. */
static uint64_t left_us(void)
{
	uint64_t since = (shim_now_ns() - here()->moved_ns) / 1000;
	uint64_t gone = MIN(since, here()->n_followed ? here()->followed[0].batch.us : 0);

	return here()->flying_us > gone ? here()->flying_us - gone : 0;
}

/* Decides whether a launch fits into the limit of work in flight. A launch that alone takes longer
 * than the limit is admitted when little other work is left, so that the device always has work. */
bool follow_admits(uint64_t what, uint32_t bound, struct opaque *o)
{
	uint32_t all = in_flight();
	uint64_t left;
	uint32_t us;
	bool fits;

	pthread_mutex_lock(&here()->lock);
	if (!all)
		here()->flying = 0, here()->flying_us = 0;
	pthread_mutex_lock(&cost_lock);
	us = cost_of(what, bound / PART);
	pthread_mutex_unlock(&cost_lock);
	left = left_us();
	/* Admit no launch before all launches from before the limit was set are complete. */
	fits = !all || (all <= here()->flying && (left + us <= bound || left <= bound / PART));
	if (fits) {
		if (!here()->flying++)
			here()->moved_ns = shim_now_ns();
		here()->flying_us += us;
		o->what = what;
		o->us = us;
	}
	pthread_mutex_unlock(&here()->lock);
	return fits;
}

uint64_t follow_flying_us(void)
{
	uint64_t us;

	pthread_mutex_lock(&here()->lock);
	us = here()->flying_us;
	pthread_mutex_unlock(&here()->lock);
	return us;
}

void follow_cancel(const struct opaque *o)
{
	struct cost_batch b = {.n = 1, .us = o->us};

	if (!o->us)
		return;
	pthread_mutex_lock(&here()->lock);
	no_longer_flying(&b);
	pthread_mutex_unlock(&here()->lock);
}

/* Only the launching thread may call this. No other thread can record an event in the launching
 * thread's per-thread default stream. */
void follow_now(struct stream *s, const struct opaque *o)
{
	pthread_mutex_lock(&here()->lock);
	if (!atomic_fetch_add(&s->opaque, 1))
		map_put(&here()->touched, s, s);
	atomic_fetch_add(&here()->unfollowed, 1);
	if (!s->batch.n)
		s->began_ns = shim_now_ns();
	if (o->us && s->batch.n < COST_BATCH)
		s->batch.what[s->batch.n++] = o->what;
	s->batch.us += o->us;
	if (!o->us || s->batch.n == COST_BATCH || s->batch.us >= bound_us() / PART)
		record_event(s, s->handle); /* or later, with the next */
	pthread_mutex_unlock(&here()->lock);
	if (!atomic_load(&here()->awake))
		agent_poke();
}

void follow_capture(int more)
{
	pthread_mutex_lock(&here()->lock);
	atomic_fetch_add(&shim->captures, more);
	pthread_mutex_unlock(&here()->lock);
}

void follow_pause(int more)
{
	pthread_mutex_lock(&here()->lock);
	here()->paused += (unsigned)more;
	pthread_mutex_unlock(&here()->lock);
}

static void forget_stream(void *user, const void *key, void *value)
{
	struct stream *s = value;

	atomic_fetch_sub(&here()->unfollowed, atomic_exchange(&s->opaque, 0));
	s->batch = (struct cost_batch){0};
	s->events = 0;
	s->passed = NULL;
}

/* Forgets all launches after a context has ended. The context's streams and events no longer exist,
 * and the shim does not record which launches belong to which context. */
void follow_forget(void)
{
	pthread_mutex_lock(&here()->lock);
	map_each(&here()->touched, forget_stream, NULL);
	here()->n_followed = here()->n_spare = 0;
	here()->flying = 0;
	here()->flying_us = 0;
	if (shim->page)
		__atomic_store_n(&shim->page->opaque_completed,
			page_load(&shim->page->opaque_submitted), __ATOMIC_RELEASE);
	pthread_mutex_unlock(&here()->lock);
}

void follow_end_of(struct stream *s, bool ends)
{
	pthread_mutex_lock(&here()->lock);
	/* A destroyed stream cannot be queried, so record an event after its work now. */
	if (ends && atomic_load(&s->opaque) && is_wanted() && in_flight() < DEEP &&
		!atomic_load(&shim->captures))
		record_event(s, s->handle);
	s->destroyed = ends;
	pthread_mutex_unlock(&here()->lock);
}
