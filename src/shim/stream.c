/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Streams and events, as far as managed launches need them. A stream that waits for a preempted
 * launch holds a hardware channel until that is resumed, and so does each stream that waits for its
 * events; the launch that resumes it needs a channel too. So we count, erring on the side of too
 * many: streams that synchronise with the legacy default stream count together as soon as one of
 * them may wait. */
#include "shim/managed.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAITER_NS      2000000000u /* a kernel that no daemon stopped, and yet does not end */
#define SPARE_CHANNELS 3           /* the helper's, and what the driver takes for itself */

static struct map streams = MAP_INIT, events = MAP_INIT;
static _Atomic unsigned n_blocking = 1, n_free; /* the legacy stream always is */
static __thread struct stream *own;             /* this thread's default stream */

static struct stream *new_stream(CUstream handle, bool blocking)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->handle = handle;
	s->blocking = blocking;
	pthread_mutex_init(&s->lock, NULL);
	if (handle != CU_STREAM_LEGACY)
		atomic_fetch_add(blocking ? &n_blocking : &n_free, 1);
	return s;
}

struct stream *stream_of(CUstream handle)
{
	struct stream *s;
	unsigned flags = 0;

	if (handle == CU_STREAM_PER_THREAD) {
		if (!own)
			own = new_stream(handle, true);
		/* The handle means another stream in each thread: listed under its record. */
		if (own && !map_get(&streams, own))
			map_put(&streams, own, own);
		return own;
	}
	s = map_get(&streams, handle);
	if (s)
		return s;
	if (handle != CU_STREAM_LEGACY && cu.cuStreamGetFlags(handle, &flags) != CUDA_SUCCESS)
		return NULL;
	s = new_stream(handle, !(flags & CU_STREAM_NON_BLOCKING));
	if (s && !map_put(&streams, handle, s)) {
		free(s);
		return NULL;
	}
	return map_get(&streams, handle);
}

bool stream_capturing(CUstream handle)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult r;

	if (!atomic_load_explicit(&shim.captures, memory_order_acquire))
		return false;
	r = cu.cuStreamIsCapturing(handle, &status);
	/* The legacy stream cannot be asked while another captures: then it may not be used. */
	return r != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* ---- counting ---- */

struct count {
	uint64_t oldest;
	unsigned blocked;
	bool group; /* one of those that synchronise with the legacy stream */
};

static bool may_block(const struct stream *s, uint64_t oldest)
{
	return atomic_load(&s->outstanding) || atomic_load(&s->waits_for) >= oldest;
}

static void count_one(void *user, const void *key, void *value)
{
	struct count *c = user;
	struct stream *s = value;

	if (!may_block(s, c->oldest))
		return;
	if (s->blocking)
		c->group = true;
	else
		c->blocked++;
}

static struct count count_blocked(void)
{
	struct count c = {.oldest = managed_oldest()};

	if (c.oldest != UINT64_MAX)
		map_each(&streams, count_one, &c);
	if (c.group)
		c.blocked += atomic_load(&n_blocking);
	return c;
}

unsigned stream_blocked(void)
{
	return count_blocked().blocked;
}

static unsigned channels(void)
{
	return shim.connections > SPARE_CHANNELS ? shim.connections - SPARE_CHANNELS : 0;
}

bool stream_admits(struct stream *s)
{
	struct count c;
	unsigned more;

	/* So few streams that all of them may wait. */
	if (atomic_load(&n_blocking) + atomic_load(&n_free) <= channels())
		return true;
	c = count_blocked();
	if (may_block(s, c.oldest) || (s->blocking && c.group))
		return c.blocked <= channels();
	more = s->blocking ? atomic_load(&n_blocking) : 1;
	/* A quarter stays free for streams that will wait for events of these. */
	return c.blocked + more <= channels() * 3 / 4;
}

/* A stream is about to wait for an event behind managed work. Past the limit the call waits here
 * until enough has completed: the stream would hold the last channel, and what is preempted while
 * it does could never be resumed. */
static void admit_waiter(struct stream *s, uint64_t id)
{
	uint64_t before = atomic_load(&s->waits_for), began = 0;

	while (before < id && !atomic_compare_exchange_weak(&s->waits_for, &before, id))
		;
	if (atomic_load(&n_blocking) + atomic_load(&n_free) <= channels())
		return;
	while (stream_blocked() > channels() + 1) {
		if (!began)
			began = shim_now_ns();
		if (!managed_any_preempted() && shim_now_ns() - began > WAITER_NS)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
		managed_reap();
	}
}

/* ---- what the program calls ---- */

static CUstream resolve(CUstream s, bool per_thread)
{
	if (s)
		return s;
	return per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

static void created(CUresult r, CUstream *stream, unsigned flags)
{
	struct stream *s;

	if (r != CUDA_SUCCESS || !shim_maybe())
		return;
	s = new_stream(*stream, !(flags & CU_STREAM_NON_BLOCKING));
	if (s)
		map_put(&streams, *stream, s);
}

SHIM_API CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	CUresult r;

	SHIM_NEED(cuStreamCreate);
	/* The hardware's own priorities favour others' work in what the shim does not manage. */
	if (shim.is_low && cu.cuStreamCreateWithPriority)
		r = cu.cuStreamCreateWithPriority(stream, flags, shim.low_priority);
	else
		r = cu.cuStreamCreate(stream, flags);
	created(r, stream, flags);
	return r;
}

SHIM_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority);
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	CUresult r;

	SHIM_NEED(cuStreamCreateWithPriority);
	r = cu.cuStreamCreateWithPriority(
		stream, flags, shim.is_low ? shim.low_priority : priority);
	created(r, stream, flags);
	return r;
}

SHIM_API CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct stream *s = shim_maybe() ? map_get(&streams, stream) : NULL;
	CUresult r;

	SHIM_NEED(cuStreamDestroy);
	/* Out of sight first: the driver may give the handle away as soon as it is free. */
	if (s)
		map_put(&streams, stream, NULL);
	r = cu.cuStreamDestroy(stream);
	if (!s)
		return r;
	if (r != CUDA_SUCCESS) {
		map_put(&streams, stream, s);
		return r;
	}
	atomic_fetch_sub(s->blocking ? &n_blocking : &n_free, 1);
	managed_stream_destroyed(s);
	return r;
}

/* What an event stands for: the newest managed launch ahead of it. A number, kept as a pointer. */
static void recorded(CUevent event, CUstream stream)
{
	struct stream *s;
	uint64_t id = 0;

	if (!shim_on())
		return;
	if (managed_outstanding()) {
		s = stream_of(stream);
		if (s && may_block(s, managed_oldest()))
			id = atomic_load(&s->waits_for);
	}
	if (id || map_get(&events, event))
		map_put(&events, event, (void *)(uintptr_t)id);
}

static CUresult event_record(CUevent event, CUstream stream)
{
	CUresult r;

	SHIM_NEED(cuEventRecord);
	r = cu.cuEventRecord(event, stream);
	if (r == CUDA_SUCCESS)
		recorded(event, stream);
	return r;
}

static CUresult event_record_flags(CUevent event, CUstream stream, unsigned flags)
{
	CUresult r;

	SHIM_NEED(cuEventRecordWithFlags);
	r = cu.cuEventRecordWithFlags(event, stream, flags);
	if (r == CUDA_SUCCESS)
		recorded(event, stream);
	return r;
}

static CUresult wait_event(CUstream stream, CUevent event, unsigned flags)
{
	SHIM_NEED(cuStreamWaitEvent);
	if (shim_on() && managed_outstanding() && !stream_capturing(stream)) {
		uint64_t id = (uintptr_t)map_get(&events, event);
		struct stream *s = id >= managed_oldest() && id ? stream_of(stream) : NULL;

		if (s)
			admit_waiter(s, id);
	}
	return cu.cuStreamWaitEvent(stream, event, flags);
}

/* Both meanings of the default stream. */
#define TWICE(name, params, call_legacy, call_own) \
	SHIM_API CUresult name params;             \
	CUresult name params                       \
	{                                          \
		return call_legacy;                \
	}                                          \
	SHIM_API CUresult name##_ptsz params;      \
	CUresult name##_ptsz params                \
	{                                          \
		return call_own;                   \
	}

TWICE(cuEventRecord, (CUevent event, CUstream stream), event_record(event, resolve(stream, false)),
	event_record(event, resolve(stream, true)))
TWICE(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned int flags),
	event_record_flags(event, resolve(stream, false), flags),
	event_record_flags(event, resolve(stream, true), flags))
TWICE(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags),
	wait_event(resolve(stream, false), event, flags),
	wait_event(resolve(stream, true), event, flags))

/* Captures: counted, so that launches need to ask only while there are any. */
static CUresult begun(CUresult r)
{
	if (r != CUDA_SUCCESS)
		atomic_fetch_sub(&shim.captures, 1);
	return r;
}

static CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode)
{
	SHIM_NEED(cuStreamBeginCapture);
	atomic_fetch_add(&shim.captures, 1);
	return begun(cu.cuStreamBeginCapture(stream, mode));
}

static CUresult begin_capture_v1(CUstream stream)
{
	SHIM_NEED(cuStreamBeginCapture_v1);
	atomic_fetch_add(&shim.captures, 1);
	return begun(cu.cuStreamBeginCapture_v1(stream));
}

static CUresult begin_capture_graph(CUstream stream, CUgraph graph, const CUgraphNode *deps,
	const CUgraphEdgeData *edges, size_t n, CUstreamCaptureMode mode)
{
	SHIM_NEED(cuStreamBeginCaptureToGraph);
	atomic_fetch_add(&shim.captures, 1);
	return begun(cu.cuStreamBeginCaptureToGraph(stream, graph, deps, edges, n, mode));
}

static CUresult end_capture(CUstream stream, CUgraph *graph)
{
	CUresult r;

	SHIM_NEED(cuStreamEndCapture);
	r = cu.cuStreamEndCapture(stream, graph);
	/* An invalidated capture ends too; one that never was is an error of another kind. */
	if (r != CUDA_ERROR_ILLEGAL_STATE && r != CUDA_ERROR_INVALID_VALUE &&
		atomic_load(&shim.captures))
		atomic_fetch_sub(&shim.captures, 1);
	return r;
}

TWICE(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode),
	begin_capture(resolve(stream, false), mode), begin_capture(resolve(stream, true), mode))
TWICE(cuStreamBeginCapture, (CUstream stream), begin_capture_v1(resolve(stream, false)),
	begin_capture_v1(resolve(stream, true)))
TWICE(cuStreamBeginCaptureToGraph,
	(CUstream stream, CUgraph graph, const CUgraphNode *deps, const CUgraphEdgeData *edges,
		size_t n, CUstreamCaptureMode mode),
	begin_capture_graph(resolve(stream, false), graph, deps, edges, n, mode),
	begin_capture_graph(resolve(stream, true), graph, deps, edges, n, mode))
TWICE(cuStreamEndCapture, (CUstream stream, CUgraph *graph),
	end_capture(resolve(stream, false), graph), end_capture(resolve(stream, true), graph))
