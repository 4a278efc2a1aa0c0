/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles copies that make the calling thread wait for a stream: synchronous copies, and copies to
 * pageable memory. The driver holds a lock while it waits for the stream. If the stream's work is
 * preempted, the shim needs the same lock for the launch that resumes it: a deadlock. So the shim
 * first waits for the stream with a call that holds no lock. If no managed launch is outstanding, a
 * copy costs only one additional load. */
#include "shim/placing.h"

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
static enum fence_copy to_device(size_t bytes)
{
	if (bytes > SMALL_BYTES)
		return FENCE_COPY_WAITS;
	return shim_priority() < SHIM_HIGH && __atomic_load_n(&shim->page->watch, __ATOMIC_ACQUIRE)
		       ? FENCE_COPY_MAY
		       : FENCE_NO_COPY;
}

/* Classifies a synchronous copy by its two addresses. A copy from or to host memory waits. A copy
 * within the device waits only if the driver's queue is full. */
static enum fence_copy wait_between(CUdeviceptr dst, CUdeviceptr src)
{
	return on_host(dst) || on_host(src) ? FENCE_COPY_WAITS : FENCE_COPY_MAY;
}

static enum fence_copy between_async(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	if (is_pageable((void *)(uintptr_t)dst))
		return FENCE_COPY_WAITS;
	return is_pageable((void *)(uintptr_t)src) ? to_device(bytes) : FENCE_NO_COPY;
}

/* One side of a copy of several rows. */
struct side {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
};

static enum fence_copy wait_of_rows(struct side dst, struct side src, size_t bytes, bool async)
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
		return host[1] ? to_device(bytes) : FENCE_NO_COPY;
	return FENCE_COPY_MAY;
}

static enum fence_copy rows_2d(const CUDA_MEMCPY2D *c, bool async)
{
	if (!c)
		return FENCE_NO_COPY;
	return wait_of_rows((struct side){c->dstMemoryType, c->dstHost, c->dstDevice},
		(struct side){c->srcMemoryType, c->srcHost, c->srcDevice},
		c->WidthInBytes * c->Height, async);
}

static enum fence_copy rows_3d(const CUDA_MEMCPY3D *c, bool async)
{
	if (!c)
		return FENCE_NO_COPY;
	return wait_of_rows((struct side){c->dstMemoryType, c->dstHost, c->dstDevice},
		(struct side){c->srcMemoryType, c->srcHost, c->srcDevice},
		c->WidthInBytes * c->Height * c->Depth, async);
}

static _Atomic bool copied[SHIM_SESSIONS]; /* since the last launch */

void copies_anew(void)
{
	if (atomic_load_explicit(&copied[shim_at()], memory_order_relaxed))
		atomic_store_explicit(&copied[shim_at()], false, memory_order_relaxed);
}

/* Records the time of a copy in the page. If tenants run in time slices, a copy shortly after a
 * launch, such as the copy of its results, would need two more switches between tenants. So heddled
 * waits for such a copy before it switches to tenants of lower priority (sched/engine/pauses.c). */
static void note_copy(void)
{
	uint64_t now;

	if (!shim_on() || !__atomic_load_n(&shim->page->watch, __ATOMIC_RELAXED))
		return;
	now = shim_now_ns();
	__atomic_store_n(&shim->page->last_copy_ns, now, __ATOMIC_RELEASE);
	if (!atomic_exchange_explicit(&copied[shim_at()], true, memory_order_relaxed))
		__atomic_store_n(&shim->page->copied_ns, now, __ATOMIC_RELEASE);
}

/* kind: enum fence_copy. */
#define BODY(fn, where, kind, args)                                                        \
	CUresult r;                                                                        \
	bool served = stream_served(where);                                                \
	note_copy();                                                                       \
	enum fence_copy fenced = served && managed_outstanding() ? (kind) : FENCE_NO_COPY; \
	if (fenced)                                                                        \
		fence_copy_begin(where, fenced);                                           \
	r = fn args;                                                                       \
	if (fenced)                                                                        \
		fence_end();                                                               \
	return r;

/* Defines two functions for a synchronous copy: one for the legacy default stream, and one for the
 * per-thread default stream (_ptds). */
#define SYNC(name, symbol, types, params, kind, args)       \
	SHIM_API CUresult symbol params;                    \
	CUresult symbol params                              \
	{                                                   \
		SHIM_NEED(name);                            \
		sync_done();                                \
		BODY(cu.name, CU_STREAM_LEGACY, kind, args) \
	}                                                   \
	SHIM_API CUresult symbol##_ptds params;             \
	CUresult symbol##_ptds params                       \
	{                                                   \
		typedef CUresult(*real_fn) types;           \
		SHIM_REAL(fn, real_fn, symbol##_ptds);      \
		sync_done();                                \
		BODY(fn, CU_STREAM_PER_THREAD, kind, args)  \
	}

#define ASYNC_FORM(name, symbol, params, own, kind, args)                                      \
	SHIM_API CUresult symbol params;                                                       \
	CUresult symbol params                                                                 \
	{                                                                                      \
		SHIM_NEED(name);                                                               \
		stream = shim_stream(stream, own);                                             \
		stream_touch(stream);                                                          \
		BODY(cu.name, stream, stream_capturing(stream) ? FENCE_NO_COPY : (kind), args) \
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
	rows_2d(copy, false), (copy))
SYNC(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *),
	(const CUDA_MEMCPY2D *copy), rows_2d(copy, false), (copy))
SYNC(cuMemcpy3D, cuMemcpy3D_v2, (const CUDA_MEMCPY3D *), (const CUDA_MEMCPY3D *copy),
	rows_3d(copy, false), (copy))
ASYNC(cuMemcpyAsync, cuMemcpyAsync,
	(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
	between_async(dst, src, bytes), (dst, src, bytes, stream))
ASYNC(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,
	(void *dst, CUdeviceptr src, size_t bytes, CUstream stream),
	is_pageable(dst) ? FENCE_COPY_WAITS : FENCE_NO_COPY, (dst, src, bytes, stream))
ASYNC(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,
	(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream),
	is_pageable(src) ? to_device(bytes) : FENCE_NO_COPY, (dst, src, bytes, stream))
ASYNC(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream),
	rows_2d(copy, true), (copy, stream))
ASYNC(cuMemcpy3DAsync, cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *copy, CUstream stream),
	rows_3d(copy, true), (copy, stream))
/* Never waited for, but they put work on streams. */
ASYNC(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,
	(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), FENCE_NO_COPY,
	(dst, src, bytes, stream))
/* Defines a wrapper of a memset. The driver executes a memset as a kernel.
 * - Under MPS that kernel waits until another program's workers leave room on an SM, so the memset
 *   counts as an unmanaged launch.
 * - Without MPS the memset is not counted. The device's own time slicing lets it run. Counting it
 *   would make heddled switch to this tenant, which takes longer than the memset. */
#define MEMSET_FORM(name, symbol, params, own, args)                  \
	SHIM_API CUresult symbol params;                              \
	CUresult symbol params                                        \
	{                                                             \
		struct opaque o = {0};                                \
		struct stream *s;                                     \
		CUresult r;                                           \
		SHIM_NEED(name);                                      \
		stream = shim_stream(stream, own);                    \
		stream_touch(stream);                                 \
		note_copy();                                          \
		s = stream_served(stream) ? stream_of(stream) : NULL; \
		opaque_pass(s, &o);                                   \
		r = cu.name args;                                     \
		opaque_end(s, &o, r);                                 \
		return r;                                             \
	}
#define MEMSET(name, params, args)                   \
	MEMSET_FORM(name, name, params, false, args) \
	MEMSET_FORM(name, name##_ptsz, params, true, args)

MEMSET(cuMemsetD8Async, (CUdeviceptr dst, unsigned char value, size_t n, CUstream stream),
	(dst, value, n, stream))
MEMSET(cuMemsetD16Async, (CUdeviceptr dst, unsigned short value, size_t n, CUstream stream),
	(dst, value, n, stream))
MEMSET(cuMemsetD32Async, (CUdeviceptr dst, unsigned int value, size_t n, CUstream stream),
	(dst, value, n, stream))

static CUresult launch_host_func(CUstream stream, CUhostFn fn, void *user)
{
	CUresult r;

	SHIM_NEED(cuLaunchHostFunc);
	stream_touch(stream);
	placing_pass();
	r = cu.cuLaunchHostFunc(stream, fn, user);
	placing_passed();
	return r;
}

SHIM_TWICE(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *user),
	launch_host_func(shim_stream(stream, false), fn, user),
	launch_host_func(shim_stream(stream, true), fn, user))
