/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles the calls that make and destroy streams, that order streams by events, and that capture
 * them. */
#include "shim/order/channels.h"
#include "shim/order/follow.h"
#include "shim/order/hold.h"
#include "shim/order/launches.h"

#include <stdatomic.h>

SHIM_API CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	int priority;
	CUresult r;

	SHIM_NEED(cuStreamCreate);
	priority = shim_stream_priority(session, 0);
	if (priority && cu.cuStreamCreateWithPriority)
		r = cu.cuStreamCreateWithPriority(stream, flags, priority);
	else
		r = cu.cuStreamCreate(stream, flags);
	if (r == CUDA_SUCCESS && shim_maybe(session))
		stream_created(session, *stream, 0);
	return r;
}

SHIM_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority);
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	CUresult r;

	SHIM_NEED(cuStreamCreateWithPriority);
	r = cu.cuStreamCreateWithPriority(stream, flags, shim_stream_priority(session, priority));
	if (r == CUDA_SUCCESS && shim_maybe(session))
		stream_created(session, *stream, priority);
	return r;
}

/* Returns true if the stream's work may wait for a launch that is or will be preempted. */
static bool may_be_blocked(struct session *session, CUstream stream)
{
	struct shim_inside in;
	CUresult r = CUDA_ERROR_NOT_READY;

	managed_reap(session);
	if (!managed_outstanding(session))
		return false;
	if (atomic_load(&session->captures)) /* a captured stream cannot be queried */
		return true;
	if (shim_enter(session, &in) == CUDA_SUCCESS)
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
	session = stream_session(session, stream);
	s = shim_maybe(session) ? stream_remove(session, stream) : NULL;
	lingers = s && atomic_load(&s->used) && may_be_blocked(session, stream);
	if (s)
		follow_end_of(session, s, true);
	r = cu.cuStreamDestroy(stream);
	if (!s)
		return r;
	if (r != CUDA_SUCCESS) {
		follow_end_of(session, s, false);
		stream_put_back(session, s);
		return r;
	}
	stream_ended(session, s, lingers);
	return r;
}

static CUresult event_record(CUevent event, CUstream stream)
{
	SHIM_NEED(cuEventRecord);
	stream_touch(session, stream);
	return cu.cuEventRecord(event, stream);
}

static CUresult event_record_flags(CUevent event, CUstream stream, unsigned flags)
{
	SHIM_NEED(cuEventRecordWithFlags);
	stream_touch(session, stream);
	return cu.cuEventRecordWithFlags(event, stream, flags);
}

static CUresult wait_event(CUstream stream, CUevent event, unsigned flags)
{
	CUresult r;

	SHIM_NEED(cuStreamWaitEvent);
	session = stream_touch(session, stream);
	hold_pass(session);
	r = cu.cuStreamWaitEvent(stream, event, flags);
	hold_passed(session);
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
static void capture_begins(struct session *session)
{
	hold_pass(session);
	follow_capture(session, 1);
}

static CUresult capture_begun(struct session *session, CUresult r)
{
	if (r != CUDA_SUCCESS)
		follow_capture(session, -1);
	hold_passed(session);
	return r;
}

static CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode)
{
	SHIM_NEED(cuStreamBeginCapture);
	session = stream_session(session, stream);
	capture_begins(session);
	return capture_begun(session, cu.cuStreamBeginCapture(stream, mode));
}

static CUresult begin_capture_v1(CUstream stream)
{
	SHIM_NEED(cuStreamBeginCapture_v1);
	session = stream_session(session, stream);
	capture_begins(session);
	return capture_begun(session, cu.cuStreamBeginCapture_v1(stream));
}

static CUresult begin_capture_graph(CUstream stream, CUgraph graph, const CUgraphNode *deps,
	const CUgraphEdgeData *edges, size_t n, CUstreamCaptureMode mode)
{
	SHIM_NEED(cuStreamBeginCaptureToGraph);
	session = stream_session(session, stream);
	capture_begins(session);
	return capture_begun(
		session, cu.cuStreamBeginCaptureToGraph(stream, graph, deps, edges, n, mode));
}

static CUresult end_capture(CUstream stream, CUgraph *graph)
{
	CUresult r;

	SHIM_NEED(cuStreamEndCapture);
	session = stream_session(session, stream);
	r = cu.cuStreamEndCapture(stream, graph);
	/* An invalidated capture has ended as well. These two errors mean that there was no
	 * capture. */
	if (r != CUDA_ERROR_ILLEGAL_STATE && r != CUDA_ERROR_INVALID_VALUE &&
		atomic_load(&session->captures))
		follow_capture(session, -1);
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
