/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles calls that wait for the device. When such a call returns, the program's work is complete,
 * and other tenants may be waiting for the SMs. So the shim tells heddled at once that the work is
 * complete, and does not leave this to the agent thread, which checks only now and then. */
#include "shim/order/sync.h"

#include "shim/order/follow.h"
#include "shim/order/stream.h"

#include <stdatomic.h>

/* Records the wait before it begins, because heddled may notice the end of the work before the
 * program does. */
static void note_wait(struct session *session)
{
	if (shim_on(session))
		__atomic_store_n(&session->page->opaque_waited,
			__atomic_load_n(&session->page->opaque_submitted, __ATOMIC_RELAXED),
			__ATOMIC_RELEASE);
}

void sync_done(struct session *session)
{
	atomic_fetch_add_explicit(&session->synced, 1, memory_order_relaxed);
	note_wait(session);
}

unsigned sync_count(struct session *session)
{
	return atomic_load_explicit(&session->synced, memory_order_relaxed);
}

static CUresult report_wait(struct session *session, CUresult r)
{
	sync_done(session);
	if (shim_on(session))
		follow_waited(session);
	return r;
}

SHIM_API CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream)
{
	SHIM_NEED(cuStreamSynchronize);
	session = stream_session(session, stream);
	note_wait(session);
	return report_wait(session, cu.cuStreamSynchronize(stream));
}

SHIM_API CUresult cuStreamSynchronize_ptsz(CUstream stream);
CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
	SHIM_NEED(cuStreamSynchronize);
	session = stream_session(session, stream);
	note_wait(session);
	return report_wait(session, cu.cuStreamSynchronize(stream ? stream : CU_STREAM_PER_THREAD));
}

SHIM_API CUresult cuEventSynchronize(CUevent event);
CUresult cuEventSynchronize(CUevent event)
{
	SHIM_NEED(cuEventSynchronize);
	note_wait(session);
	return report_wait(session, cu.cuEventSynchronize(event));
}

SHIM_API CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize(void)
{
	SHIM_NEED(cuCtxSynchronize);
	note_wait(session);
	return report_wait(session, cu.cuCtxSynchronize());
}

SHIM_API CUresult cuCtxSynchronize_v2(CUcontext ctx);
CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	SHIM_NEED(cuCtxSynchronize_v2);
	note_wait(session);
	return report_wait(session, cu.cuCtxSynchronize_v2(ctx));
}

bool sync_open(struct session *session)
{
	atomic_store(&session->synced, 1);
	return true;
}
