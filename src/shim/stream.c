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
 * Some channels are reserved:
 * - Three are for resumes (ROUNDS in resume.c).
 * - One is for the legacy default stream, where copies that are not counted and the shim's events
 *   may wait.
 * - One is for the driver itself, for example when it loads code.
 *
 * shim->helper needs no channel. It has work only before the first managed launch (ctlpool.c), and
 * while a form is loaded (globals.c). Loading is fenced, so no managed launch waits for a launch of
 * the shim during that time. */
#include "shim/connections.h"
#include "shim/follow.h"
#include "shim/placing.h"

#include <stdatomic.h>
#include <stdlib.h>

#define SPARE_CHANNELS 5

static struct streams {
	struct map map;
	_Atomic unsigned n_used; /* channels: of streams in use, of lingering ones, lent */
	_Atomic unsigned n_lent; /* to rounds (resume.c) */
	/* Number of streams that the program has destroyed while their work may still wait for a
	 * preempted launch. Each occupies its channel until no managed launch is outstanding. */
	_Atomic unsigned n_lingering;
	pthread_mutex_t lingering_lock; /* of the thread that subtracts them */
} each[SHIM_SESSIONS] = {
	[0 ... SHIM_SESSIONS - 1] = {.map = MAP_INIT, .lingering_lock = PTHREAD_MUTEX_INITIALIZER}};
/* The calling thread's default stream on each device; NULL if it is not used yet. This is a
 * pointer, because space for thread-local variables is scarce in a library that is loaded late. */
static __thread struct stream **own;

static struct streams *here(void)
{
	return &each[shim_at()];
}

static struct stream *new_stream(CUstream handle)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->handle = handle;
	if (handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD &&
		cu.cuCtxGetCurrent(&s->ctx) != CUDA_SUCCESS)
		s->ctx = NULL;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

/* The stream is destroyed; its work may still be there. */
static void stream_ended(struct stream *s, bool lingers)
{
	if (atomic_load(&s->used) && lingers)
		atomic_fetch_add(&here()->n_lingering, 1);
	else if (atomic_load(&s->used))
		atomic_fetch_sub(&here()->n_used, 1);
	managed_stream_destroyed(s);
}

/* Runs when a thread ends. Calls no driver function, because the driver may already have freed its
 * data for the thread. */
static void thread_ends(void *streams)
{
	struct stream **at = streams;

	own = NULL;
	for (unsigned i = 0; i < SHIM_SESSIONS; i++) {
		shim = &shims[i];
		if (at[i]) {
			managed_reap();
			stream_ended(at[i], managed_outstanding());
		}
	}
	shim = &shims[0];
	free(at);
}

static pthread_key_t own_key;
static bool has_own_key;

static void make_own_key(void)
{
	has_own_key = pthread_key_create(&own_key, thread_ends) == 0;
}

static struct stream *own_stream(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_own_key);
	if (!own) {
		own = calloc(SHIM_SESSIONS, sizeof(struct stream *));
		/* Otherwise they stay counted. */
		if (own && has_own_key)
			pthread_setspecific(own_key, own);
	}
	if (!own)
		return NULL;
	if (!own[shim_at()])
		own[shim_at()] = new_stream(CU_STREAM_PER_THREAD);
	return own[shim_at()];
}

struct stream *stream_of(CUstream handle)
{
	struct stream *s;

	if (handle == CU_STREAM_PER_THREAD)
		return own_stream();
	s = map_get(&here()->map, handle);
	if (s)
		return s;
	s = new_stream(handle);
	if (s && !map_put(&here()->map, handle, s)) {
		free(s);
		return NULL;
	}
	return map_get(&here()->map, handle);
}

struct ended {
	CUcontext ctx;
	VEC(struct stream *) streams;
};

static void note_ended(void *user, const void *key, void *value)
{
	struct ended *e = user;
	struct stream *s = value;

	if (s->ctx == e->ctx)
		VEC_PUSH(&e->streams, s);
}

void streams_forget(CUcontext ctx)
{
	struct ended e = {.ctx = ctx};

	if (!ctx)
		return;
	map_each(&here()->map, note_ended, &e);
	for (size_t i = 0; i < e.streams.len; i++) {
		map_put(&here()->map, e.streams.at[i]->handle, NULL);
		stream_ended(e.streams.at[i], false);
	}
	VEC_FREE(&e.streams);
}

void stream_route(CUstream handle)
{
	unsigned n = shim_sessions();

	if (n == 1 || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return;
	for (unsigned i = 0; i < n; i++) {
		if (map_get(&each[i].map, handle)) {
			shim = &shims[i];
			return;
		}
	}
}

bool stream_served(CUstream handle)
{
	stream_route(handle);
	return shim_on();
}

bool stream_capturing(CUstream handle)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult r;

	if (!atomic_load_explicit(&shim->captures, memory_order_acquire))
		return false;
	r = cu.cuStreamIsCapturing(handle, &status);
	/* The query fails if another stream is capturing. Then the legacy stream must not be used,
	 * so report it as capturing. */
	return r != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* ---- counting ---- */

static unsigned n_channels(void)
{
	return connections() > SPARE_CHANNELS ? connections() - SPARE_CHANNELS : 0;
}

/* Stops counting the destroyed streams, if no managed launch is outstanding: then no launch is left
 * that could block them. */
static void end_lingering(void)
{
	unsigned n;

	managed_reap();
	pthread_mutex_lock(&here()->lingering_lock);
	n = atomic_load(&here()->n_lingering);
	if (n && !managed_outstanding()) {
		atomic_fetch_sub(&here()->n_lingering, n);
		atomic_fetch_sub(&here()->n_used, n);
	}
	pthread_mutex_unlock(&here()->lingering_lock);
}

static bool all_fit(void)
{
	if (atomic_load_explicit(&here()->n_used, memory_order_relaxed) <= n_channels())
		return true;
	if (atomic_load(&here()->n_lingering))
		end_lingering();
	return atomic_load(&here()->n_used) <= n_channels();
}

bool stream_admits(struct stream *s)
{
	int lent, used;

	stream_use(s);
	if (all_fit())
		return true;
	/* Read n_lent before n_used. If another thread changes them meanwhile, the difference is
	 * too small rather than too large. */
	lent = (int)atomic_load(&here()->n_lent);
	used = (int)atomic_load(&here()->n_used);
	if (used > lent)
		connections_wanted((unsigned)(used - lent) + SPARE_CHANNELS);
	return false;
}

void stream_use(struct stream *s)
{
	if (atomic_load_explicit(&s->used, memory_order_relaxed) || atomic_exchange(&s->used, true))
		return;
	if (atomic_fetch_add(&here()->n_used, 1) + 1 <= n_channels())
		return;
	resume_return_channels();
	if (all_fit())
		return;
	/* This stream is one more than there are channels. It may share a channel with a stream
	 * that waits for a managed launch. So before this stream gets any work, wait until no
	 * managed launch is outstanding. The wait is bounded (FENCE_LOADS). */
	fence_begin(FENCE_LOADS);
	fence_end();
}

bool stream_borrow(void)
{
	unsigned n = atomic_load(&here()->n_used);

	atomic_fetch_add(&here()->n_lent, 1);
	while (n < n_channels()) {
		if (atomic_compare_exchange_weak(&here()->n_used, &n, n + 1))
			return true;
	}
	atomic_fetch_sub(&here()->n_lent, 1);
	return false;
}

void stream_give_back(void)
{
	atomic_fetch_sub(&here()->n_used, 1);
	atomic_fetch_sub(&here()->n_lent, 1);
}

/* ---- what the program calls ---- */

static void stream_created(CUresult r, CUstream *stream, int priority)
{
	struct stream *s;

	if (r != CUDA_SUCCESS || !shim_maybe())
		return;
	s = new_stream(*stream);
	if (!s)
		return;
	s->priority = priority;
	map_put(&here()->map, *stream, s);
}

SHIM_API CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	int priority = shim_stream_priority(0);
	CUresult r;

	SHIM_NEED(cuStreamCreate);
	if (priority && cu.cuStreamCreateWithPriority)
		r = cu.cuStreamCreateWithPriority(stream, flags, priority);
	else
		r = cu.cuStreamCreate(stream, flags);
	stream_created(r, stream, 0);
	return r;
}

SHIM_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority);
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	CUresult r;

	SHIM_NEED(cuStreamCreateWithPriority);
	r = cu.cuStreamCreateWithPriority(stream, flags, shim_stream_priority(priority));
	stream_created(r, stream, priority);
	return r;
}

/* Its work may follow a launch that is preempted, or will be. */
static bool may_be_blocked(CUstream stream)
{
	struct shim_inside in;
	CUresult r = CUDA_ERROR_NOT_READY;

	managed_reap();
	if (!managed_outstanding())
		return false;
	if (atomic_load(&shim->captures)) /* it could not be asked if it were captured */
		return true;
	if (shim_enter(&in) == CUDA_SUCCESS)
		r = cu.cuStreamQuery(stream);
	shim_leave(&in);
	return r != CUDA_SUCCESS;
}

SHIM_API CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct stream *s;
	bool lingers;
	CUresult r;

	SHIM_NEED(cuStreamDestroy);
	stream_route(stream);
	s = shim_maybe() ? map_get(&here()->map, stream) : NULL;
	lingers = s && atomic_load(&s->used) && may_be_blocked(stream);
	/* Remove the record first, because the driver may reuse the handle as soon as the stream is
	 * destroyed. */
	if (s) {
		map_put(&here()->map, stream, NULL);
		follow_end_of(s, true);
	}
	r = cu.cuStreamDestroy(stream);
	if (!s)
		return r;
	if (r != CUDA_SUCCESS) {
		follow_end_of(s, false);
		map_put(&here()->map, stream, s);
		return r;
	}
	stream_ended(s, lingers);
	return r;
}

/* Counts the stream as used. Calls for events call this as well: a stream that waits for an event
 * occupies a channel, like a stream with launches. */
void stream_touch(CUstream stream)
{
	struct stream *s = stream_served(stream) ? stream_of(stream) : NULL;

	if (s)
		stream_use(s);
}

static CUresult event_record(CUevent event, CUstream stream)
{
	SHIM_NEED(cuEventRecord);
	stream_touch(stream);
	return cu.cuEventRecord(event, stream);
}

static CUresult event_record_flags(CUevent event, CUstream stream, unsigned flags)
{
	SHIM_NEED(cuEventRecordWithFlags);
	stream_touch(stream);
	return cu.cuEventRecordWithFlags(event, stream, flags);
}

static CUresult wait_event(CUstream stream, CUevent event, unsigned flags)
{
	CUresult r;

	SHIM_NEED(cuStreamWaitEvent);
	stream_touch(stream);
	placing_pass();
	r = cu.cuStreamWaitEvent(stream, event, flags);
	placing_passed();
	return r;
}

SHIM_TWICE(cuEventRecord, (CUevent event, CUstream stream),
	event_record(event, shim_stream(stream, false)),
	event_record(event, shim_stream(stream, true)))
SHIM_TWICE(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags),
	event_record_flags(event, shim_stream(stream, false), flags),
	event_record_flags(event, shim_stream(stream, true), flags))
SHIM_TWICE(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags),
	wait_event(shim_stream(stream, false), event, flags),
	wait_event(shim_stream(stream, true), event, flags))

/* Counts captures, so that launches query the driver about captures only while there are some. If
 * the shim holds launches back to load code, waits for that first: the shim queries streams
 * meanwhile, and a query would invalidate the capture. */
static void capture_begins(CUstream stream)
{
	stream_route(stream);
	placing_pass();
	follow_capture(1);
}

static CUresult capture_begun(CUresult r)
{
	if (r != CUDA_SUCCESS)
		follow_capture(-1);
	placing_passed();
	return r;
}

static CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode)
{
	SHIM_NEED(cuStreamBeginCapture);
	capture_begins(stream);
	return capture_begun(cu.cuStreamBeginCapture(stream, mode));
}

static CUresult begin_capture_v1(CUstream stream)
{
	SHIM_NEED(cuStreamBeginCapture_v1);
	capture_begins(stream);
	return capture_begun(cu.cuStreamBeginCapture_v1(stream));
}

static CUresult begin_capture_graph(CUstream stream, CUgraph graph, const CUgraphNode *deps,
	const CUgraphEdgeData *edges, size_t n, CUstreamCaptureMode mode)
{
	SHIM_NEED(cuStreamBeginCaptureToGraph);
	capture_begins(stream);
	return capture_begun(cu.cuStreamBeginCaptureToGraph(stream, graph, deps, edges, n, mode));
}

static CUresult end_capture(CUstream stream, CUgraph *graph)
{
	CUresult r;

	SHIM_NEED(cuStreamEndCapture);
	stream_route(stream);
	r = cu.cuStreamEndCapture(stream, graph);
	/* An invalidated capture has ended as well. These two errors mean that there was no
	 * capture. */
	if (r != CUDA_ERROR_ILLEGAL_STATE && r != CUDA_ERROR_INVALID_VALUE &&
		atomic_load(&shim->captures))
		follow_capture(-1);
	return r;
}

SHIM_TWICE(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
	begin_capture(shim_stream(stream, false), mode),
	begin_capture(shim_stream(stream, true), mode))
SHIM_TWICE(cuStreamBeginCapture, (CUstream stream), begin_capture_v1(shim_stream(stream, false)),
	begin_capture_v1(shim_stream(stream, true)))
SHIM_TWICE(cuStreamBeginCaptureToGraph,
	(CUstream stream, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges,
		size_t n, CUstreamCaptureMode mode),
	begin_capture_graph(shim_stream(stream, false), graph, deps, edges, n, mode),
	begin_capture_graph(shim_stream(stream, true), graph, deps, edges, n, mode))
SHIM_TWICE(cuStreamEndCapture, (CUstream stream, CUgraph *graph),
	end_capture(shim_stream(stream, false), graph),
	end_capture(shim_stream(stream, true), graph))
