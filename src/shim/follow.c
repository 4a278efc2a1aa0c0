/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* When unmanaged launches are over, for as long as somebody wants to know. The agent asks streams
 * whether they are through, which costs neither the device nor the program's threads anything.
 * Where more has to be known than that (a gate lets launches pass by number, a bound on the time in
 * flight takes some away), an event stands for a stream's launches so far. With a bound the
 * program's threads record them, each for a part of it, and how long that part took teaches how
 * long its launches take. */
#include "shim/follow.h"
#include "shim/cost.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define FOLLOWED 1024 /* more in flight than that: the oldest's event is waited for by all */
#define PART     4u   /* of the bound that an event stands for */
#define DEEP     512u /* so many in flight, and to put an event behind them might wait for room */

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
	_Atomic bool awake;          /* the agent looks again soon without being told */
	unsigned paused;             /* under the lock: a context may be on its way out */
	/* Under the lock: of those launched since there is a bound, and not seen to be over. */
	uint64_t flying_us;
	uint32_t flying;
	uint64_t moved_ns; /* when one was last seen to be over, or the first was launched */
} each[SHIM_SESSIONS] = {
	[0 ... SHIM_SESSIONS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER, .touched = MAP_INIT}};

static struct following *here(void)
{
	return &each[shim_at()];
}

static pthread_mutex_t cost_lock = PTHREAD_MUTEX_INITIALIZER; /* of cost.c; within the other */

static bool wanted(void)
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

/* One event for the stream's launches so far, of which there are some; if none is to be had, they
 * stay as they are. */
static void follow(struct stream *s, CUstream handle)
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

/* On one stream what is between two events took the time between them, unless the first of it was
 * launched later. */
static void learn(const struct followed *f)
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

static void passed(struct followed *f)
{
	struct stream *s = f->stream;

	learn(f);
	no_longer_flying(&f->batch);
	s->events--;
	put_event(s->passed);
	s->passed = s->destroyed ? NULL : f->event;
	if (s->destroyed)
		put_event(f->event);
}

/* All that was launched on it so far is over, or counts as that. */
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
	/* Another thread's default stream has no handle that means it here, even while the thread
	 * lives: it is waited for by the legacy stream. */
	bool own = s->handle == CU_STREAM_PER_THREAD;

	if (!n)
		return;
	/* Any error of the context is an end too. */
	if ((s->destroyed && !own) || (!own && cu.cuStreamQuery(s->handle) != CUDA_ERROR_NOT_READY))
		*done += let_go(s, n);
	else if ((own || (by_events() && !s->events)) && in_flight() < DEEP)
		follow(s, own ? CU_STREAM_LEGACY : s->handle);
}

/* How many are over that were not known to be. */
static uint32_t look(void)
{
	unsigned kept = 0;
	uint32_t done = 0;

	/* Later while there are captures, which neither may be asked nor take an event. */
	if (wanted() && atomic_load(&here()->unfollowed) && !atomic_load(&shim->captures))
		map_each(&here()->touched, look_at_stream, &done);
	for (unsigned i = 0; i < here()->n_followed; i++) {
		/* Any error of the context is an end too. */
		if (cu.cuEventQuery(here()->followed[i].event) == CUDA_ERROR_NOT_READY) {
			here()->followed[kept++] = here()->followed[i];
			continue;
		}
		done += here()->followed[i].launches;
		passed(&here()->followed[i]);
	}
	here()->n_followed = kept;
	/* Under the lock: whoever finds nothing to follow behind it is not ahead of the count. */
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

	if (!wanted() && !here()->n_followed)
		return false;
	pthread_mutex_lock(&here()->lock);
	if (here()->paused) {
		pthread_mutex_unlock(&here()->lock);
		return true;
	}
	shim_enter(&in);
	done = look();
	pending = here()->n_followed || (wanted() && atomic_load(&here()->unfollowed));
	shim_leave(&in);
	pthread_mutex_unlock(&here()->lock);
	/* While there is more of it nothing has changed for the daemon. */
	if (done && !pending && wanted())
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
	/* Launched since, by someone who took the agent to be awake. */
	if (!pending && wanted() && atomic_load(&here()->unfollowed)) {
		atomic_store(&here()->awake, true);
		return true;
	}
	return pending;
}

void follow_waited(void)
{
	if (wanted() && in_flight())
		follow_look();
}

/* ---- launches ---- */

void follow_later(struct stream *s)
{
	atomic_fetch_add(&here()->unfollowed, 1);
	if (!atomic_fetch_add(&s->opaque, 1))
		map_put(&here()->touched, s, s);
	if (wanted() && !atomic_load(&here()->awake))
		agent_poke();
}

/* Under the lock: what is in flight may still take so long. The first part of it may be nearly
 * over; but not more than that, as long as it does not pass. */
static uint64_t left_us(void)
{
	uint64_t since = (shim_now_ns() - here()->moved_ns) / 1000;
	uint64_t gone = MIN(since, here()->n_followed ? here()->followed[0].batch.us : 0);

	return here()->flying_us > gone ? here()->flying_us - gone : 0;
}

/* A launch that takes longer than the bound is let go when little else is left, so that the device
 * always has something to do. */
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
	/* What was launched ahead of the bound, however much that is, comes to its end first. */
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

/* By the thread that launched: its default stream is nobody else's to put events on. */
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
		follow(s, s->handle); /* or later, with the next */
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

/* Its streams' work is over, and events of it are gone: which they are is not known, so all are. */
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
	/* What is under way on it can be asked for no longer. */
	if (ends && atomic_load(&s->opaque) && wanted() && in_flight() < DEEP &&
		!atomic_load(&shim->captures))
		follow(s, s->handle);
	s->destroyed = ends;
	pthread_mutex_unlock(&here()->lock);
}
