/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Contexts: creation, the current context, destruction. A device's primary context is one object,
 * created at the first cuDevicePrimaryCtxRetain and kept until the process ends. While no caller
 * retains it, it behaves like a destroyed context. */
#include "drv_ctx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drv_engine.h"
#include "drv_func.h"
#include "drv_graph.h"

#define CTX_STACK 64
static _Thread_local CUcontext stack[CTX_STACK];
static _Thread_local unsigned depth;

struct drv_ctx *drv_ctx_of(CUcontext h)
{
	struct drv_ctx *c = drv_get(h, OBJ_CTX);

	return c && c->refs ? c : NULL;
}

CUresult drv_ctx_current(struct drv_ctx **ret)
{
	if (!depth || !stack[depth - 1])
		return CUDA_ERROR_INVALID_CONTEXT;
	struct drv_ctx *c = drv_ctx_of(stack[depth - 1]);
	if (!c)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret = c;
	return CUDA_SUCCESS;
}

static CUresult push_ctx(struct drv_ctx *c)
{
	if (depth == CTX_STACK)
		return CUDA_ERROR_INVALID_VALUE;
	stack[depth++] = (CUcontext)c;
	return CUDA_SUCCESS;
}

static void set_defaults(struct drv_ctx *c)
{
	c->cache = CU_FUNC_CACHE_PREFER_NONE;
	c->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	memset(c->limit, 0, sizeof(c->limit));
	c->limit[CU_LIMIT_STACK_SIZE] = 1024;
	c->limit[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	c->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	c->limit[CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2;
	c->limit[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
	c->limit[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 128;
}

static struct drv_ctx *drv_ctx_new(unsigned flags, CUdevice dev)
{
	struct drv_ctx *c = calloc(1, sizeof(*c));

	if (!c || drv.n_contexts == ARRAY_LEN(drv.contexts)) {
		free(c);
		return NULL;
	}
	c->all.prev = c->all.next = &c->all;
	c->flags = flags;
	c->dev = dev;
	c->refs = 1;
	c->api_version = 3020;
	c->id = ++drv.next_id;
	pthread_mutex_init(&c->print_lock, NULL);
	set_defaults(c);
	drv_obj_add(&c->obj, OBJ_CTX, c);
	c->legacy = drv_stream_new(c, 0, 0);
	if (!c->legacy) {
		drv_obj_remove(&c->obj);
		free(c);
		return NULL;
	}
	c->legacy->legacy = true;
	drv.contexts[drv.n_contexts++] = c;
	return c;
}

static void destroy_object(struct obj *o)
{
	switch (o->kind) {
	case OBJ_STREAM:
		drv_stream_release((struct drv_stream *)o);
		break;
	case OBJ_EVENT:
		drv_event_destroy((struct drv_event *)o);
		break;
	case OBJ_MODULE:
		drv_module_destroy((struct drv_module *)o);
		break;
	case OBJ_ALLOC:
		drv_alloc_destroy((struct drv_alloc *)o);
		break;
	case OBJ_ARRAY:
		drv_array_destroy((struct drv_array *)o);
		break;
	case OBJ_IMAGE:
		drv_image_destroy((struct drv_image *)o);
		break;
	case OBJ_GRAPH:
		graph_destroy((struct drv_graph *)o);
		break;
	case OBJ_EXEC:
		drv_obj_remove(o);
		graph_exec_unref(CONTAINER_OF(o, struct graph_exec, obj));
		break;
	default: /* freed together with another object */
		drv_obj_remove(o);
		break;
	}
}

/* Ends all work in the context and destroys its objects. Libraries stay, because they belong to the
 * process. */
static void empty_ctx(struct drv_ctx *c)
{
	static const enum obj_kind order[] = {OBJ_STREAM, OBJ_EXEC, OBJ_GRAPH, OBJ_EVENT,
		OBJ_MODULE, OBJ_ALLOC, OBJ_IMAGE, OBJ_ARRAY};

	drv_fail(c, CUDA_ERROR_CONTEXT_IS_DESTROYED);
	while (c->active)
		drv_engine_wait();
	drv_unplace_all(c);
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		struct obj *o = c->all.next;
		while (o != &c->all) {
			struct obj *next = o->next;
			if (o->kind == order[i] && o != &c->legacy->obj) {
				destroy_object(o);
				/* destroying it may have destroyed the next one as well */
				next = c->all.next;
			}
			o = next;
		}
	}
}

void drv_ctx_flush_print(struct drv_ctx *c)
{
	int was;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
	pthread_mutex_lock(&c->print_lock);
	struct strbuf b = c->printed;
	memset(&c->printed, 0, sizeof(c->printed));
	pthread_mutex_unlock(&c->print_lock);
	if (b.len)
		fwrite(b.at, 1, b.len, stdout);
	strbuf_finish(&b);
	pthread_setcancelstate(was, NULL);
}

static void reset_ctx(struct drv_ctx *c)
{
	empty_ctx(c);
	drv_ctx_flush_print(c);
	c->error = CUDA_SUCCESS;
	c->peers = 0;
	set_defaults(c);
}

void drv_ctx_destroy(struct drv_ctx *c)
{
	empty_ctx(c);
	drv_ctx_flush_print(c);
	drv_stream_release(c->legacy);
	for (unsigned i = 0; i < drv.n_contexts; i++)
		if (drv.contexts[i] == c)
			drv.contexts[i] = drv.contexts[--drv.n_contexts];
	drv_obj_remove(&c->obj);
	pthread_mutex_destroy(&c->print_lock);
	free(c);
}

/* ---- primary contexts ---- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
	DRV_ENTER_INIT();
	struct drv_device *d = drv_device_of(dev);

	if (!ctx)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (!d)
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	if (!d->primary) {
		d->primary = drv_ctx_new(d->primary_flags, dev);
		if (!d->primary)
			return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
		d->primary->primary = true;
		d->primary->refs = 0;
	}
	d->primary->refs++;
	d->primary->is_unused = false;
	*ctx = (CUcontext)d->primary;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
	DRV_ENTER_INIT();
	struct drv_device *d = drv_device_of(dev);

	if (!d)
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	if (!d->primary || !d->primary->refs)
		return drv_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (d->primary->refs == 1)
		reset_ctx(d->primary);
	d->primary->refs--;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
	DRV_ENTER_INIT();
	struct drv_device *d = drv_device_of(dev);

	if (!d)
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	if (d->primary) {
		reset_ctx(d->primary);
		d->primary->is_unused = true;
	}
	return drv_leave(CUDA_SUCCESS);
}

static bool flags_ok(unsigned flags)
{
	return (flags & CU_CTX_SCHED_MASK) <= CU_CTX_SCHED_BLOCKING_SYNC && !(flags & ~0xffu);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	DRV_ENTER_INIT();
	struct drv_device *d = drv_device_of(dev);

	if (!d)
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	if (!flags_ok(flags))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	d->primary_flags = flags;
	if (d->primary)
		d->primary->flags = flags;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	DRV_ENTER_INIT();
	const struct drv_device *d = drv_device_of(dev);

	if (!d)
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	if (!flags || !active)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = d->primary_flags;
	*active = d->primary && d->primary->refs && !d->primary->is_unused;
	return drv_leave(CUDA_SUCCESS);
}

/* ---- creating contexts and making them current ---- */

CUresult cuCtxCreate(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
	DRV_ENTER_INIT();
	if (!ctx || !flags_ok(flags))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (!drv_device_of(dev))
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	struct drv_ctx *c = drv_ctx_new(flags, dev);
	if (!c)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	CUresult r = push_ctx(c);
	if (r == CUDA_SUCCESS)
		*ctx = (CUcontext)c;
	else
		drv_ctx_destroy(c);
	return drv_leave(r);
}

CUresult cuCtxCreate_v3(
	CUcontext *ctx, CUexecAffinityParam *params, int n, unsigned int flags, CUdevice dev)
{
	return params || n ? CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY : cuCtxCreate(ctx, flags, dev);
}

CUresult cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
	if (params && (params->execAffinityParams || params->cigParams))
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return cuCtxCreate(ctx, flags, dev);
}

CUresult cuCtxDestroy(CUcontext ctx)
{
	DRV_ENTER_INIT();
	struct drv_ctx *c = drv_ctx_of(ctx);

	if (!c || c->primary)
		return drv_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (depth && stack[depth - 1] == ctx)
		depth--;
	drv_ctx_destroy(c);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxPushCurrent(CUcontext ctx)
{
	DRV_ENTER_INIT();
	struct drv_ctx *c = drv_ctx_of(ctx);
	return drv_leave(c ? push_ctx(c) : CUDA_ERROR_INVALID_CONTEXT);
}

CUresult cuCtxPopCurrent(CUcontext *ctx)
{
	DRV_ENTER_INIT();
	if (!depth)
		return drv_leave(CUDA_ERROR_INVALID_CONTEXT);
	depth--;
	if (ctx)
		*ctx = stack[depth];
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	DRV_ENTER_INIT();
	if (ctx && !drv_ctx_of(ctx))
		return drv_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (ctx) {
		if (!depth)
			depth = 1;
		stack[depth - 1] = ctx;
	} else if (depth) {
		depth--;
	}
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	DRV_ENTER_INIT();
	if (!ctx)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	*ctx = depth ? stack[depth - 1] : NULL;
	return drv_leave(CUDA_SUCCESS);
}
