/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Events. Each recording of an event is a separate object, so that a wait refers to the recording
 * that was the latest when the wait was submitted. */
#include <stdlib.h>

#include "drv_func.h"
#include "drv_graph.h"

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	DRV_ENTER(c);
	if (!event || (flags & ~7u) ||
		((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (flags & CU_EVENT_INTERPROCESS)
		return drv_leave(CUDA_ERROR_NOT_SUPPORTED);
	struct drv_event *e = calloc(1, sizeof(*e));
	if (!e)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	e->flags = flags;
	drv_obj_add(&e->obj, OBJ_EVENT, c);
	*event = (CUevent)e;
	return drv_leave(CUDA_SUCCESS);
}

void drv_event_destroy(struct drv_event *e)
{
	drv_record_unref(e->record);
	VEC_FREE(&e->deps);
	drv_obj_remove(&e->obj);
	free(e);
}

CUresult cuEventDestroy(CUevent event)
{
	DRV_ENTER(c);
	struct drv_event *e = drv_get(event, OBJ_EVENT);

	if (!e)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	drv_event_destroy(e);
	return drv_leave(CUDA_SUCCESS);
}

static struct drv_op *record_op(struct drv_stream *s)
{
	struct drv_op *op = drv_op_new(OP_RECORD, s);

	if (op)
		op->record = calloc(1, sizeof(*op->record));
	if (op && !op->record) {
		free(op);
		return NULL;
	}
	return op;
}

static CUresult record_event(CUevent event, struct drv_stream *s, bool external)
{
	struct drv_event *e = drv_get(event, OBJ_EVENT);

	if (!e || e->obj.ctx != s->obj.ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	if (external && !s->capture)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = capture_implicit(s);
	if (r != CUDA_SUCCESS)
		return r;
	if (s->capture && !external)
		return capture_record(s, e);
	struct drv_op *op = record_op(s);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (external) {
		op->record->refs = 1;
		op->event = e; /* a graph node creates a new record each time it runs */
		return drv_submit(s, op);
	}
	drv_record_unref(e->record);
	e->record = op->record;
	e->record->refs = 2;
	e->capture = NULL;
	return drv_submit(s, op);
}

CUresult drv_event_record(CUevent event, struct drv_stream *s)
{
	return record_event(event, s, false);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
	DRV_ENTER_ADDING(c);
	struct drv_stream *s = drv_stream_any(c, stream);

	if (!s)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	return drv_leave(record_event(event, s, flags != 0));
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	return cuEventRecordWithFlags(event, stream, 0);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	DRV_ENTER(c);
	struct drv_stream *s = drv_stream_any(c, stream);
	struct drv_event *e = drv_get(event, OBJ_EVENT);

	if (!s || !e)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	bool external = flags != 0;
	if (external && !s->capture)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (!external && (e->capture || s->capture))
		return drv_leave(capture_wait(s, e));
	CUresult r = capture_implicit(s);
	if (r != CUDA_SUCCESS)
		return drv_leave(r);
	if (!external && (!e->record || e->record->done))
		return drv_leave(CUDA_SUCCESS);
	struct drv_op *op = drv_op_new(OP_WAIT_EVENT, s);
	if (!op)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	if (external) {
		op->event = e;
	} else {
		op->record = e->record;
		e->record->refs++;
	}
	return drv_leave(drv_submit(s, op));
}

CUresult cuEventQuery(CUevent event)
{
	DRV_ENTER(c);
	struct drv_event *e = drv_get(event, OBJ_EVENT);

	if (!e)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (e->capture)
		return drv_leave(CUDA_ERROR_CAPTURED_EVENT);
	if (e->record && !e->record->done)
		drv_poll();
	if (c->error)
		return drv_leave(c->error);
	return drv_leave(!e->record || e->record->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult cuEventSynchronize(CUevent event)
{
	DRV_ENTER(c);
	struct drv_event *e = drv_get(event, OBJ_EVENT);

	if (!e)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (e->capture)
		return drv_leave(CUDA_ERROR_CAPTURED_EVENT);
	CUresult r = e->record ? drv_wait_record(c, e->record) : CUDA_SUCCESS;
	drv_leave(r);
	drv_ctx_flush_print(c);
	return r;
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	DRV_ENTER(c);
	struct drv_event *a = drv_get(start, OBJ_EVENT), *b = drv_get(end, OBJ_EVENT);

	if (!ms)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (!a || !b || !a->record || !b->record ||
		((a->flags | b->flags) & CU_EVENT_DISABLE_TIMING))
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!a->record->done || !b->record->done)
		drv_poll();
	if (!a->record->done || !b->record->done)
		return drv_leave(CUDA_ERROR_NOT_READY);
	*ms = (float)((double)(int64_t)(b->record->time_ns - a->record->time_ns) / 1e6);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuEventElapsedTime_v1(float *ms, CUevent start, CUevent end)
{
	return cuEventElapsedTime(ms, start, end);
}
