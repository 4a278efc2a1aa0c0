/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Streams: creation, queries, waits, and values in memory that streams wait for or write. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drv_engine.h"
#include "drv_func.h"
#include "drv_graph.h"

_Thread_local int drv_per_thread;

/* A default stream of the calling thread, one per context. It is released when the thread ends. */
struct own_stream {
	uint64_t ctx_id;
	struct drv_stream *stream;
	struct own_stream *next; /* next in the thread's list (own_key); thread_ends frees it */
};
static pthread_key_t own_key;
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

static void thread_ends(void *arg)
{
	if (drv_enter_init() != CUDA_SUCCESS)
		return;
	for (struct own_stream *o = arg, *next; o; o = next) {
		next = o->next;
		if (drv_get(o->stream, OBJ_STREAM) && o->stream->obj.ctx->id == o->ctx_id)
			drv_stream_release(o->stream);
		free(o);
	}
	drv_leave(CUDA_SUCCESS);
}

static void make_key(void)
{
	pthread_key_create(&own_key, thread_ends);
}

static struct drv_stream *drv_per_thread_stream(struct drv_ctx *c)
{
	pthread_once(&own_once, make_key);
	struct own_stream *first = pthread_getspecific(own_key);

	for (struct own_stream *o = first; o; o = o->next)
		if (o->ctx_id == c->id && drv_get(o->stream, OBJ_STREAM))
			return o->stream;
	struct own_stream *o = calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	o->stream = drv_stream_new(c, 0, 0);
	if (!o->stream) {
		free(o);
		return NULL;
	}
	o->ctx_id = c->id;
	o->next = first;
	pthread_setspecific(own_key, o);
	return o->stream;
}

struct drv_stream *drv_stream_of(struct drv_ctx *c, CUstream h)
{
	if (h == CU_STREAM_LEGACY || (!h && !drv_per_thread))
		return c->legacy;
	if (h == CU_STREAM_PER_THREAD || !h)
		return drv_per_thread_stream(c);
	struct drv_stream *s = drv_get(h, OBJ_STREAM);
	return s && s->obj.ctx == c && !s->destroyed && !s->legacy ? s : NULL;
}

struct drv_stream *drv_stream_any(struct drv_ctx *c, CUstream h)
{
	struct drv_stream *s = drv_stream_of(c, h);

	if (s)
		return s;
	s = drv_get(h, OBJ_STREAM);
	return s && !s->destroyed && !s->legacy && s->obj.ctx->refs ? s : NULL;
}

struct drv_stream *drv_stream_new(struct drv_ctx *c, unsigned flags, int priority)
{
	struct drv_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->flags = flags;
	s->priority = MAX(MIN(priority, 0), DRV_GREATEST_PRIORITY);
	s->id = ++drv.next_id;
	s->sync_policy = CU_SYNC_POLICY_AUTO;
	drv_obj_add(&s->obj, OBJ_STREAM, c);
	return s;
}

/* Destroys a stream. Its queued work continues; the object is freed when that work has ended. */
void drv_stream_release(struct drv_stream *s)
{
	if (!s->destroyed) {
		s->destroyed = true;
		capture_leave(s);
		drv_obj_remove(&s->obj);
	}
	if (s->head)
		return;
	free(s->deps);
	free(s);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	DRV_ENTER_ADDING(c);
	if (!stream || (flags & ~CU_STREAM_NON_BLOCKING))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	struct drv_stream *s = drv_stream_new(c, flags, priority);
	if (!s)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*stream = (CUstream)s;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult cuStreamDestroy(CUstream stream)
{
	DRV_ENTER(c);
	struct drv_stream *s = drv_get(stream, OBJ_STREAM);

	if (!s || s->legacy || s->destroyed)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	drv_stream_release(s);
	return drv_leave(CUDA_SUCCESS);
}

/* Takes the lock and finds the stream. Most calls on an existing stream begin with this function.
 * On failure the lock is not held. */
static CUresult enter_stream(CUstream h, struct drv_ctx **ret_c, struct drv_stream **ret_s)
{
	CUresult r = drv_enter(ret_c);

	if (r != CUDA_SUCCESS)
		return r;
	*ret_s = drv_stream_any(*ret_c, h);
	if (*ret_s)
		*ret_c = (*ret_s)->obj.ctx;
	return *ret_s ? CUDA_SUCCESS : drv_leave(CUDA_ERROR_INVALID_HANDLE);
}
#define ENTER_STREAM(c, s, h)                               \
	struct drv_ctx *c;                                  \
	struct drv_stream *s;                               \
	do {                                                \
		CUresult enter_r = enter_stream(h, &c, &s); \
		if (enter_r != CUDA_SUCCESS)                \
			return enter_r;                     \
	} while (0)

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
	ENTER_STREAM(c, s, stream);
	if (priority)
		*priority = s->priority;
	return drv_leave(priority ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags)
{
	ENTER_STREAM(c, s, stream);
	if (flags)
		*flags = s->flags;
	return drv_leave(flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
	ENTER_STREAM(c, s, stream);
	if (id)
		*id = s->id;
	return drv_leave(id ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *dev)
{
	ENTER_STREAM(c, s, stream);
	if (dev)
		*dev = c->dev;
	return drv_leave(dev ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
	ENTER_STREAM(c, s, stream);
	if (ctx)
		*ctx = (CUcontext)s->obj.ctx;
	return drv_leave(ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *ctx, CUgreenCtx *green)
{
	if (green)
		*green = NULL;
	return cuStreamGetCtx(stream, ctx);
}

CUresult cuStreamQuery(CUstream stream)
{
	ENTER_STREAM(c, s, stream);
	if (s->capture)
		return drv_leave(capture_invalidate(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
	uint64_t seq = drv_last_seq();
	if (!drv_stream_idle(s, seq))
		drv_poll();
	if (c->error)
		return drv_leave(c->error);
	return drv_leave(drv_stream_idle(s, seq) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult cuStreamSynchronize(CUstream stream)
{
	ENTER_STREAM(c, s, stream);
	if (s->capture)
		return drv_leave(capture_invalidate(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
	CUresult r = capture_implicit(s);
	if (r == CUDA_SUCCESS)
		r = drv_wait_stream(s);
	drv_leave(r);
	drv_ctx_flush_print(c);
	return r;
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback fn, void *user, unsigned int flags)
{
	ENTER_STREAM(c, s, stream);
	if (!fn || flags)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (s->capture)
		return drv_leave(capture_invalidate(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
	CUresult r = capture_implicit(s);
	if (r == CUDA_SUCCESS)
		r = drv_engine_ready(OP_CALLBACK, s->obj.ctx->dev);
	if (r != CUDA_SUCCESS)
		return drv_leave(r);
	struct drv_op *op = drv_op_new(OP_CALLBACK, s);
	if (!op)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	op->callback = fn;
	op->user = user;
	return drv_leave(drv_submit(s, op));
}

CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t bytes, unsigned int flags)
{
	ENTER_STREAM(c, s, stream);
	struct drv_alloc *a = drv_alloc_of(ptr);
	return drv_leave(a && a->kind == ALLOC_MANAGED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---- attributes ---- */

CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attr, CUstreamAttrValue *value)
{
	ENTER_STREAM(c, s, stream);
	if (!value)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	memset(value, 0, sizeof(*value));
	switch ((int)attr) {
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		value->priority = s->priority;
		break;
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		value->syncPolicy = s->sync_policy;
		break;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		break;
	default:
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	}
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID attr, const CUstreamAttrValue *value)
{
	ENTER_STREAM(c, s, stream);
	if (!value)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	switch ((int)attr) {
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		s->priority = MAX(MIN(value->priority, 0), DRV_GREATEST_PRIORITY);
		break;
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		s->sync_policy = value->syncPolicy;
		break;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		break;
	default:
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	}
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuStreamCopyAttributes(CUstream dst, CUstream src)
{
	ENTER_STREAM(c, s, src);
	struct drv_stream *d = drv_stream_of(c, dst);
	if (!d)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	d->sync_policy = s->sync_policy;
	d->priority = s->priority;
	return drv_leave(CUDA_SUCCESS);
}

/* ---- waiting for and writing values in memory ---- */

static CUresult drv_value_op(struct drv_stream *s, enum op_kind kind, uint64_t addr, uint64_t value,
	unsigned flags, bool wide)
{
	unsigned bytes = wide ? 8 : 4;
	unsigned known = kind == OP_WAIT_VALUE ? 3u | CU_STREAM_WAIT_VALUE_FLUSH
					       : CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;

	if ((flags & ~known) || addr % bytes || !drv_usable(s, addr, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = capture_implicit(s);
	if (r == CUDA_SUCCESS)
		r = drv_engine_ready(kind, s->obj.ctx->dev);
	if (r != CUDA_SUCCESS)
		return r;
	struct drv_op *op = drv_op_new(kind, s);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->value = (struct drv_value){addr, value, flags, wide};
	return drv_submit(s, op);
}

static CUresult value_call(CUstream stream, enum op_kind kind, CUdeviceptr addr, uint64_t value,
	unsigned flags, bool wide)
{
	ENTER_STREAM(c, s, stream);
	return drv_leave(drv_value_op(s, kind, addr, value, flags, wide));
}

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, uint32_t value, unsigned int flags)
{
	return value_call(stream, OP_WAIT_VALUE, addr, value, flags, false);
}

CUresult cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *semaphores,
	const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params, unsigned int n, CUstream stream)
{
	return CUDA_ERROR_NOT_SUPPORTED; /* the device has no external semaphores */
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned int flags)
{
	return value_call(stream, OP_WAIT_VALUE, addr, value, flags, true);
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, uint32_t value, unsigned int flags)
{
	return value_call(stream, OP_WRITE_VALUE, addr, value, flags, false);
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned int flags)
{
	return value_call(stream, OP_WRITE_VALUE, addr, value, flags, true);
}

static CUresult batch_one(struct drv_stream *s, const CUstreamBatchMemOpParams *p)
{
	switch ((int)p->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return drv_value_op(s, OP_WAIT_VALUE, p->waitValue.address, p->waitValue.value,
			p->waitValue.flags, false);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return drv_value_op(s, OP_WAIT_VALUE, p->waitValue.address, p->waitValue.value64,
			p->waitValue.flags, true);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return drv_value_op(s, OP_WRITE_VALUE, p->writeValue.address, p->writeValue.value,
			p->writeValue.flags, false);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return drv_value_op(s, OP_WRITE_VALUE, p->writeValue.address, p->writeValue.value64,
			p->writeValue.flags, true);
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
	case CU_STREAM_MEM_OP_BARRIER:
		/* Nothing to do: the effects of every op are visible before the next op starts. */
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamBatchMemOp(
	CUstream stream, unsigned int n, CUstreamBatchMemOpParams *ops, unsigned int flags)
{
	ENTER_STREAM(c, s, stream);
	if (!ops || !n || n > 256 || flags)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	CUresult r = CUDA_SUCCESS;
	for (unsigned i = 0; i < n && r == CUDA_SUCCESS; i++)
		r = batch_one(s, &ops[i]);
	return drv_leave(r);
}
