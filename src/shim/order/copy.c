/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles copies that make the calling thread wait for a stream: synchronous copies, and copies to
 * pageable memory. The driver holds a lock while it waits for the stream. If the stream's work is
 * preempted, the shim needs the same lock for the launch that resumes it: a deadlock. So the shim
 * first waits for the stream with a call that holds no lock. If no managed launch is outstanding, a
 * copy costs only one additional load. */
#include "shim/order/copy.h"

#include "shim/order/channels.h"
#include "shim/order/fence.h"
#include "shim/order/hold.h"
#include "shim/order/launches.h"
#include "shim/order/sync.h"

#include <stdatomic.h>

#define SMALL_BYTES 65536

/* Returns true if the memory is neither registered with the driver nor allocated by it, and also if
 * the driver cannot tell. */
static bool is_pageable(const void *host)
{
	unsigned type = 0;

	return !cu.cuPointerGetAttribute ||
	       cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		       (CUdeviceptr)(uintptr_t)host) != CUDA_SUCCESS;
}

static bool on_host(CUdeviceptr at)
{
	unsigned type = CU_MEMORYTYPE_HOST;

	if (cu.cuPointerGetAttribute &&
		cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) !=
			CUDA_SUCCESS)
		type = CU_MEMORYTYPE_HOST;
	return type == CU_MEMORYTYPE_HOST;
}

/* Decides whether an asynchronous copy from pageable memory to the device needs a fence.
 * - For a large copy the driver waits for the stream.
 * - For a small copy the driver keeps the data in a buffer and returns at once. But if about 1,000
 *   commands or 4 MiB of such copies are queued (H200, driver 580), the driver waits for room in
 *   its queue, and holds a lock meanwhile. If a preempted launch precedes the copy, the shim's
 *   launch that resumes it waits for the same lock: a deadlock.
 *
 * So a small copy needs a fence if this tenant's launches may be preempted: heddled watches the
 * tenant, and the tenant's priority is not high. */
static enum fence_copy to_device(struct session *session, size_t bytes)
{
	if (bytes > SMALL_BYTES)
		return FENCE_COPY_WAITS;
	return shim_priority(session) < SHIM_HIGH &&
			       __atomic_load_n(&session->page->watch, __ATOMIC_ACQUIRE)
		       ? FENCE_COPY_MAY
		       : FENCE_NO_COPY;
}

/* Classifies a synchronous copy by its two addresses. A copy from or to host memory waits. A copy
 * within the device waits only if the driver's queue is full. */
static enum fence_copy wait_between(CUdeviceptr dst, CUdeviceptr src)
{
	return on_host(dst) || on_host(src) ? FENCE_COPY_WAITS : FENCE_COPY_MAY;
}

static enum fence_copy between_async(
	struct session *session, CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	if (is_pageable((void *)(uintptr_t)dst))
		return FENCE_COPY_WAITS;
	return is_pageable((void *)(uintptr_t)src) ? to_device(session, bytes) : FENCE_NO_COPY;
}

/* The source or the destination of a copy of several rows. */
struct side {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
};

static enum fence_copy wait_of_rows(
	struct session *session, struct side dst, struct side src, size_t bytes, bool async)
{
	const struct side *sides[] = {&dst, &src};
	bool host[2];

	for (int i = 0; i < 2; i++) {
		CUdeviceptr at = sides[i]->type == CU_MEMORYTYPE_HOST
					 ? (CUdeviceptr)(uintptr_t)sides[i]->host
					 : sides[i]->device;

		host[i] = sides[i]->type == CU_MEMORYTYPE_HOST ||
			  (sides[i]->type == CU_MEMORYTYPE_UNIFIED && on_host(at));
		if (async)
			host[i] = host[i] && is_pageable((void *)(uintptr_t)at);
	}
	if (host[0] || (host[1] && !async))
		return FENCE_COPY_WAITS;
	if (async)
		return host[1] ? to_device(session, bytes) : FENCE_NO_COPY;
	return FENCE_COPY_MAY;
}

static enum fence_copy rows_2d(struct session *session, const CUDA_MEMCPY2D *c, bool async)
{
	if (!c)
		return FENCE_NO_COPY;
	return wait_of_rows(session, (struct side){c->dstMemoryType, c->dstHost, c->dstDevice},
		(struct side){c->srcMemoryType, c->srcHost, c->srcDevice},
		c->WidthInBytes * c->Height, async);
}

static enum fence_copy rows_3d(struct session *session, const CUDA_MEMCPY3D *c, bool async)
{
	if (!c)
		return FENCE_NO_COPY;
	return wait_of_rows(session, (struct side){c->dstMemoryType, c->dstHost, c->dstDevice},
		(struct side){c->srcMemoryType, c->srcHost, c->srcDevice},
		c->WidthInBytes * c->Height * c->Depth, async);
}

void copies_anew(struct session *session)
{
	if (atomic_load_explicit(&session->copied, memory_order_relaxed))
		atomic_store_explicit(&session->copied, false, memory_order_relaxed);
}

void copy_note(struct session *session)
{
	uint64_t now;

	if (!shim_on(session) || !__atomic_load_n(&session->page->watch, __ATOMIC_RELAXED))
		return;
	now = shim_now_ns();
	__atomic_store_n(&session->page->last_copy_ns, now, __ATOMIC_RELEASE);
	if (!atomic_exchange_explicit(&session->copied, true, memory_order_relaxed))
		__atomic_store_n(&session->page->copied_ns, now, __ATOMIC_RELEASE);
}

/* kind: an enum fence_copy. */
#define BODY(fn, where, kind, args)                                                               \
	CUresult r;                                                                               \
	bool served;                                                                              \
	session = stream_session(session, where);                                                 \
	served = shim_on(session);                                                                \
	copy_note(session);                                                                       \
	enum fence_copy fenced = served && managed_outstanding(session) ? (kind) : FENCE_NO_COPY; \
	if (fenced)                                                                               \
		fence_copy_begin(session, where, fenced);                                         \
	r = fn args;                                                                              \
	if (fenced)                                                                               \
		fence_end(session);                                                               \
	return r;

/* Defines two functions for a synchronous copy: one for the legacy default stream, and one for the
 * per-thread default stream (_ptds). */
#define SYNC(name, symbol, types, params, kind, args)       \
	SHIM_API CUresult symbol params;                    \
	CUresult symbol params                              \
	{                                                   \
		SHIM_NEED(name);                            \
		sync_done(session);                         \
		BODY(cu.name, CU_STREAM_LEGACY, kind, args) \
	}                                                   \
	SHIM_API CUresult symbol##_ptds params;             \
	CUresult symbol##_ptds params                       \
	{                                                   \
		typedef CUresult(*real_fn) types;           \
		SHIM_REAL(fn, real_fn, symbol##_ptds);      \
		sync_done(session);                         \
		BODY(fn, CU_STREAM_PER_THREAD, kind, args)  \
	}

#define ASYNC_FORM(name, symbol, params, own, kind, args)                                         \
	SHIM_API CUresult symbol params;                                                          \
	CUresult symbol params                                                                    \
	{                                                                                         \
		SHIM_NEED(name);                                                                  \
		stream = shim_stream(stream, own);                                                \
		session = stream_touch(session, stream);                                          \
		BODY(cu.name, stream, stream_capturing(session, stream) ? FENCE_NO_COPY : (kind), \
			args)                                                                     \
	}
#define ASYNC(name, symbol, params, kind, args)             \
	ASYNC_FORM(name, symbol, params, false, kind, args) \
	ASYNC_FORM(name, symbol##_ptsz, params, true, kind, args)

SYNC(cuMemcpy, cuMemcpy, (CUdeviceptr, CUdeviceptr, size_t),
	(CUdeviceptr dst, CUdeviceptr src, size_t bytes), wait_between(dst, src), (dst, src, bytes))
SYNC(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t),
	(void *dst, CUdeviceptr src, size_t bytes), FENCE_COPY_WAITS, (dst, src, bytes))
/* Even a copy of four bytes needs the fence: on an H200, cuMemcpyHtoD spins until the preceding
 * work is complete, and holds a lock meanwhile. */
SYNC(cuMemcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t),
	(CUdeviceptr dst, const void *src, size_t bytes), FENCE_COPY_WAITS, (dst, src, bytes))
SYNC(cuMemcpy2D, cuMemcpy2D_v2, (const CUDA_MEMCPY2D *), (const CUDA_MEMCPY2D *copy),
	rows_2d(session, copy, false), (copy))
SYNC(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *),
	(const CUDA_MEMCPY2D *copy), rows_2d(session, copy, false), (copy))
SYNC(cuMemcpy3D, cuMemcpy3D_v2, (const CUDA_MEMCPY3D *), (const CUDA_MEMCPY3D *copy),
	rows_3d(session, copy, false), (copy))
ASYNC(cuMemcpyAsync, cuMemcpyAsync,
	(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
	between_async(session, dst, src, bytes), (dst, src, bytes, stream))
ASYNC(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,
	(void *dst, CUdeviceptr src, size_t bytes, CUstream stream),
	is_pageable(dst) ? FENCE_COPY_WAITS : FENCE_NO_COPY, (dst, src, bytes, stream))
ASYNC(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,
	(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream),
	is_pageable(src) ? to_device(session, bytes) : FENCE_NO_COPY, (dst, src, bytes, stream))
ASYNC(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream),
	rows_2d(session, copy, true), (copy, stream))
ASYNC(cuMemcpy3DAsync, cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *copy, CUstream stream),
	rows_3d(session, copy, true), (copy, stream))
/* These copies never wait, but they put work on streams. */
ASYNC(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,
	(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), FENCE_NO_COPY,
	(dst, src, bytes, stream))
static CUresult launch_host_func(CUstream stream, CUhostFn fn, void *user)
{
	CUresult r;

	SHIM_NEED(cuLaunchHostFunc);
	session = stream_touch(session, stream);
	hold_pass(session);
	r = cu.cuLaunchHostFunc(stream, fn, user);
	hold_passed(session);
	return r;
}

SHIM_TWICE(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *user),
	launch_host_func(shim_stream(stream, false), fn, user),
	launch_host_func(shim_stream(stream, true), fn, user))
