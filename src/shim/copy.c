/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Copies that make the calling thread wait for a stream: to pageable memory, and whatever is
 * synchronous. The driver waits with a lock held, which the launch that resumes preempted work
 * would need; so the wait is done first, by a call that holds none. Where nothing managed is under
 * way they cost one load. */
#include "shim/managed.h"

#define SMALL_BYTES 65536

/* A small copy to the device is taken along, not waited for, unless launches may be taken off the
 * device meanwhile: behind them, a few such copies are enough for the driver to wait for room (seen
 * on an H200: cuMemcpyHtoD spins, a lock held, and the launch that would resume what is ahead of it
 * waits for that lock). */
static bool takes_along(size_t bytes)
{
	return bytes <= SMALL_BYTES &&
	       (shim.welcome.priority >= SHIM_HIGH ||
		       !__atomic_load_n(&shim.page->watch, __ATOMIC_ACQUIRE));
}

/* Neither registered nor allocated by the driver. Where it cannot say: yes. */
static bool pageable(const void *host)
{
	unsigned type = 0;

	return !cu.cuPointerGetAttribute ||
	       cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		       (CUdeviceptr)(uintptr_t)host) != CUDA_SUCCESS;
}

static bool pageable_2d(const CUDA_MEMCPY2D *c)
{
	return c && (c->dstMemoryType == CU_MEMORYTYPE_HOST ? pageable(c->dstHost)
			    : c->dstMemoryType == CU_MEMORYTYPE_UNIFIED
				    ? pageable((void *)(uintptr_t)c->dstDevice)
				    : false);
}

static bool pageable_3d(const CUDA_MEMCPY3D *c)
{
	return c && (c->dstMemoryType == CU_MEMORYTYPE_HOST ? pageable(c->dstHost)
			    : c->dstMemoryType == CU_MEMORYTYPE_UNIFIED
				    ? pageable((void *)(uintptr_t)c->dstDevice)
				    : false);
}

#define BODY(fn, where, waits, args)                    \
	CUresult r;                                     \
	bool fenced = managed_outstanding() && (waits); \
	if (fenced)                                     \
		fence_copy_begin(where);                \
	r = fn args;                                    \
	if (fenced)                                     \
		fence_end();                            \
	return r;

/* Of the legacy default stream, and of the thread's own: there the driver knows which. */
#define SYNC(name, symbol, types, params, waits, args)                          \
	SHIM_API CUresult symbol params;                                        \
	CUresult symbol params                                                  \
	{                                                                       \
		SHIM_NEED(name);                                                \
		BODY(cu.name, CU_STREAM_LEGACY, waits, args)                    \
	}                                                                       \
	SHIM_API CUresult symbol##_ptds params;                                 \
	CUresult symbol##_ptds params                                           \
	{                                                                       \
		static CUresult(*real) types;                                   \
		CUresult(*fn) types = __atomic_load_n(&real, __ATOMIC_RELAXED); \
		if (!fn) {                                                      \
			fn = (CUresult(*) types)shim_real(#symbol "_ptds");     \
			__atomic_store_n(&real, fn, __ATOMIC_RELAXED);          \
		}                                                               \
		if (!fn)                                                        \
			return shim_lacking();                                  \
		BODY(fn, CU_STREAM_PER_THREAD, waits, args)                     \
	}

#define ASYNC_FORM(name, symbol, params, own, waits, args)                        \
	SHIM_API CUresult symbol params;                                          \
	CUresult symbol params                                                    \
	{                                                                         \
		SHIM_NEED(name);                                                  \
		if (!stream)                                                      \
			stream = own ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;   \
		stream_touch(stream);                                             \
		BODY(cu.name, stream, (waits) && !stream_capturing(stream), args) \
	}
#define ASYNC(name, symbol, params, waits, args)             \
	ASYNC_FORM(name, symbol, params, false, waits, args) \
	ASYNC_FORM(name, symbol##_ptsz, params, true, waits, args)

SYNC(cuMemcpy, cuMemcpy, (CUdeviceptr, CUdeviceptr, size_t),
	(CUdeviceptr dst, CUdeviceptr src, size_t bytes), true, (dst, src, bytes))
SYNC(cuMemcpyDtoH, cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t),
	(void *dst, CUdeviceptr src, size_t bytes), true, (dst, src, bytes))
SYNC(cuMemcpyHtoD, cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t),
	(CUdeviceptr dst, const void *src, size_t bytes), !takes_along(bytes), (dst, src, bytes))
SYNC(cuMemcpy2D, cuMemcpy2D_v2, (const CUDA_MEMCPY2D *), (const CUDA_MEMCPY2D *copy), true, (copy))
SYNC(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D *),
	(const CUDA_MEMCPY2D *copy), true, (copy))
SYNC(cuMemcpy3D, cuMemcpy3D_v2, (const CUDA_MEMCPY3D *), (const CUDA_MEMCPY3D *copy), true, (copy))
ASYNC(cuMemcpyAsync, cuMemcpyAsync,
	(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream),
	pageable((void *)(uintptr_t)dst) ||
		(!takes_along(bytes) && pageable((void *)(uintptr_t)src)),
	(dst, src, bytes, stream))
ASYNC(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,
	(void *dst, CUdeviceptr src, size_t bytes, CUstream stream), pageable(dst),
	(dst, src, bytes, stream))
ASYNC(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,
	(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream),
	!takes_along(bytes) && pageable(src), (dst, src, bytes, stream))
ASYNC(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D *copy, CUstream stream),
	pageable_2d(copy), (copy, stream))
ASYNC(cuMemcpy3DAsync, cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D *copy, CUstream stream),
	pageable_3d(copy), (copy, stream))
/* Never waited for, but they put work on streams. */
ASYNC(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,
	(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), false,
	(dst, src, bytes, stream))
ASYNC(cuMemsetD8Async, cuMemsetD8Async,
	(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream), false,
	(dst, value, n, stream))
ASYNC(cuMemsetD16Async, cuMemsetD16Async,
	(CUdeviceptr dst, unsigned short value, size_t n, CUstream stream), false,
	(dst, value, n, stream))
ASYNC(cuMemsetD32Async, cuMemsetD32Async,
	(CUdeviceptr dst, unsigned int value, size_t n, CUstream stream), false,
	(dst, value, n, stream))
ASYNC(cuLaunchHostFunc, cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *user), false,
	(stream, fn, user))
