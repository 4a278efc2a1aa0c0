/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles calls that wait for the device. When such a call returns, the program's work is complete,
 * and other tenants may be waiting for the SMs. So the shim tells heddled at once that the work is
 * complete, and does not leave this to the agent thread, which checks only now and then. */
#include "shim/follow.h"

#include <stdatomic.h>

static _Atomic unsigned waits[SHIM_SESSIONS] = {[0 ... SHIM_SESSIONS - 1] = 1};

/* Records the wait before it begins, because heddled may notice the end of the work before the
 * program does. */
static void note_wait(void)
{
	if (shim_on())
		__atomic_store_n(&shim->page->opaque_waited,
			__atomic_load_n(&shim->page->opaque_submitted, __ATOMIC_RELAXED),
			__ATOMIC_RELEASE);
}

void sync_done(void)
{
	atomic_fetch_add_explicit(&waits[shim_at()], 1, memory_order_relaxed);
	note_wait();
}

unsigned sync_count(void)
{
	return atomic_load_explicit(&waits[shim_at()], memory_order_relaxed);
}

static CUresult report_wait(CUresult r)
{
	sync_done();
	if (shim_on())
		follow_waited();
	return r;
}

SHIM_API CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream)
{
	SHIM_NEED(cuStreamSynchronize);
	stream_route(stream);
	note_wait();
	return report_wait(cu.cuStreamSynchronize(stream));
}

SHIM_API CUresult cuStreamSynchronize_ptsz(CUstream stream);
CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
	SHIM_NEED(cuStreamSynchronize);
	stream_route(stream);
	note_wait();
	return report_wait(cu.cuStreamSynchronize(stream ? stream : CU_STREAM_PER_THREAD));
}

SHIM_API CUresult cuEventSynchronize(CUevent event);
CUresult cuEventSynchronize(CUevent event)
{
	SHIM_NEED(cuEventSynchronize);
	note_wait();
	return report_wait(cu.cuEventSynchronize(event));
}

SHIM_API CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize(void)
{
	SHIM_NEED(cuCtxSynchronize);
	note_wait();
	return report_wait(cu.cuCtxSynchronize());
}

SHIM_API CUresult cuCtxSynchronize_v2(CUcontext ctx);
CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	SHIM_NEED(cuCtxSynchronize_v2);
	note_wait();
	return report_wait(cu.cuCtxSynchronize_v2(ctx));
}
