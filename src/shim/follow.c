/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds out when unmanaged launches are complete, while the daemon or a gate needs to know. The
 * agent queries the streams, which costs neither the device nor the program's threads anything. In
 * two cases the shim needs more: a gate admits launches by number, and a bound limits the time in
 * flight. Then an event marks a stream's launches so far. With a bound, the program's threads
 * record an event for each part of the bound, and the time that each part took gives an estimate
 * for its launches. */
#include "shim/follow.h"
#include "shim/cost.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define FOLLOWED 1024 /* most events in flight; beyond it, the shim waits for the oldest event */
#define PART     4u   /* an event covers this part of the bound */
#define DEEP     512u /* with so many launches in flight, recording an event might wait for room */

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
	/* Under the lock: launches since the bound was set that are not known to be complete. */
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

/* Records one event for the stream's launches so far, of which there are some. If no event is
 * available, they stay unfollowed. */
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

/* The launches between two events of one stream took the time between the events, or less if the
 * first of these launches was submitted after the earlier event. */
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

/* All of the stream's launches so far are complete, or count as complete. */
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
	/* Another thread's default stream has no handle that this thread could use, even while its
	 * thread lives. The shim waits for it by way of the legacy stream. */
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

	/* Not during captures: a query or an event would invalidate the capture. */
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
	/* Under the lock: so a thread that finds nothing to follow sees the count as well. */
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
	/* While more work is pending, nothing has changed for the daemon. */
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
	/* A launch came meanwhile, whose thread saw the agent awake and did not wake it. */
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

/* Under the lock: the time that the launches in flight may still take. The time since the last
 * completion counts, up to the whole of the first event's part. */
static uint64_t left_us(void)
{
	uint64_t since = (shim_now_ns() - here()->moved_ns) / 1000;
	uint64_t gone = MIN(since, here()->n_followed ? here()->followed[0].batch.us : 0);

	return here()->flying_us > gone ? here()->flying_us - gone : 0;
}

/* A launch that takes longer than the bound is admitted when little else is left, so that the
 * device always has work. */
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
	/* Launches from before the bound was set complete first, however many there are. */
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

/* Called by the launching thread: another thread cannot record events on its default stream. */
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

/* The context's streams have ended, and its events are gone. The shim does not know which launches
 * belong to this context, so it forgets all of them. */
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
	/* A destroyed stream cannot be queried, so an event marks its work. */
	if (ends && atomic_load(&s->opaque) && is_wanted() && in_flight() < DEEP &&
		!atomic_load(&shim->captures))
		record_event(s, s->handle);
	s->destroyed = ends;
	pthread_mutex_unlock(&here()->lock);
}
