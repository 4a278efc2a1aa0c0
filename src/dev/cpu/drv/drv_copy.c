/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Copies and memsets. Device addresses are checked at the call. Pageable host memory behaves as on
 * a GPU: a source is read, and a destination is written, before the call returns. A captured copy
 * reads and writes pageable memory only when its graph runs. */
#include <stdlib.h>
#include <string.h>

#include "drv_ctx.h"
#include "drv_func.h"
#include "drv_graph.h"

/* The kind of memory that a call specifies for one side of a copy. */
enum side { SIDE_DEVICE, SIDE_HOST, SIDE_ANY };

/* Computes the number of bytes from the first to the last byte of a box. Returns false if it does
 * not fit in the address space. */
static bool find_extent(
	size_t width, size_t height, size_t depth, size_t pitch, size_t plane, uint64_t *ret)
{
	uint64_t rows, planes, sum;

	if (__builtin_mul_overflow((uint64_t)(height - 1), (uint64_t)pitch, &rows) ||
		__builtin_mul_overflow((uint64_t)(depth - 1), (uint64_t)plane, &planes) ||
		__builtin_add_overflow(rows, planes, &sum) ||
		__builtin_add_overflow(sum, (uint64_t)width, &sum))
		return false;
	*ret = sum;
	return true;
}

uint64_t drv_extent(size_t width, size_t height, size_t depth, size_t pitch, size_t plane)
{
	uint64_t bytes;

	return find_extent(width, height, depth, pitch, plane, &bytes) ? bytes : 0;
}

static bool is_known(uint64_t addr)
{
	uint64_t base, bytes;
	bool host;

	return vgpu_mem_find(drv.mem, addr, &base, &bytes, &host);
}

/* Checks the memory on one side of a copy, before the copy is queued in stream s (NULL: the copy is
 * a graph node). *ret_known tells whether the memory is in one of the driver's allocations. This
 * can be so even for the host side (SIDE_HOST). */
static bool side_ok(
	const struct drv_stream *s, enum side side, uint64_t addr, uint64_t bytes, bool *ret_known)
{
	*ret_known = is_known(addr);
	if (side == SIDE_DEVICE || (side == SIDE_ANY && *ret_known))
		return s ? drv_usable(s, addr, bytes) : drv_in_range(addr, bytes);
	*ret_known = *ret_known && drv_in_range(addr, bytes);
	return addr != 0;
}

static bool copy_ok(
	const struct drv_stream *stream, struct drv_copy *c, enum side dst, enum side src)
{
	uint64_t d, s;

	return find_extent(c->width, c->height, c->depth, c->dst_pitch, c->dst_plane, &d) &&
	       find_extent(c->width, c->height, c->depth, c->src_pitch, c->src_plane, &s) &&
	       side_ok(stream, dst, c->dst, d, &c->dst_known) &&
	       side_ok(stream, src, c->src, s, &c->src_known);
}

/* Copies a pageable source to a staging buffer, so that the program can change it. */
static CUresult stage_source(struct drv_copy *c)
{
	struct drv_copy in = *c;
	size_t bytes;

	if (__builtin_mul_overflow(c->width, c->height, &bytes) ||
		__builtin_mul_overflow(bytes, c->depth, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	void *p = malloc(bytes);
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	in.dst = (uint64_t)(uintptr_t)p;
	in.dst_pitch = c->width;
	in.dst_plane = c->width * c->height;
	drv_copy_run(&in);
	c->src = in.dst;
	c->src_pitch = in.dst_pitch;
	c->src_plane = in.dst_plane;
	c->staged = p;
	c->src_known = false;
	return CUDA_SUCCESS;
}

static CUresult submit_copy(
	struct drv_ctx *c, struct drv_stream *s, const struct drv_copy *copy, bool sync)
{
	CUresult r = capture_implicit(s);

	if (r != CUDA_SUCCESS)
		return r;
	if (sync) {
		r = s->capture ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : capture_unsafe(c);
		if (r != CUDA_SUCCESS)
			return capture_invalidate(s, r);
	}
	struct drv_op *op = drv_op_new(OP_COPY, s);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->copy = *copy;
	if (sync)
		return drv_do(s, op);
	bool src_pageable = !is_known(copy->src), dst_pageable = !is_known(copy->dst);
	if (s->capture)
		return drv_submit(s, op);
	if (dst_pageable)
		return drv_do(s, op);
	if (src_pageable) {
		r = stage_source(&op->copy);
		if (r != CUDA_SUCCESS) {
			drv_op_free(op);
			return r;
		}
	}
	return drv_submit(s, op);
}

/* Checks a copy and submits it to a stream. All copying calls end here. */
static CUresult copy_call(
	CUstream stream, struct drv_copy *copy, enum side dst, enum side src, bool sync)
{
	DRV_ENTER_ADDING(c);
	struct drv_stream *s = drv_stream_any(c, stream);
	CUresult r = CUDA_SUCCESS;

	if (!s)
		r = CUDA_ERROR_INVALID_HANDLE;
	else if (copy->width && copy->height && copy->depth)
		r = copy_ok(s, copy, dst, src) ? submit_copy(c, s, copy, sync)
					       : CUDA_ERROR_INVALID_VALUE;
	drv_leave(r);
	if (sync)
		drv_ctx_flush_print(c);
	return r;
}

static CUresult copy_plain(CUstream stream, uint64_t dst, uint64_t src, size_t bytes,
	enum side dst_side, enum side src_side, bool sync)
{
	struct drv_copy c = {.dst = dst, .src = src, .width = bytes, .height = 1, .depth = 1};

	return copy_call(stream, &c, dst_side, src_side, sync);
}

/* ---- copies of one row ---- */

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy_plain(NULL, dst, src, bytes, SIDE_ANY, SIDE_ANY, true);
}

CUresult cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t bytes)
{
	return copy_plain(NULL, dst, (uint64_t)(uintptr_t)src, bytes, SIDE_DEVICE, SIDE_HOST, true);
}

CUresult cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t bytes)
{
	return copy_plain(NULL, (uint64_t)(uintptr_t)dst, src, bytes, SIDE_HOST, SIDE_DEVICE, true);
}

CUresult cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy_plain(NULL, dst, src, bytes, SIDE_DEVICE, SIDE_DEVICE, true);
}

/* Before a copy between two contexts, waits for all work of each of them that is not the current
 * context. The copy itself waits for the current context. */
static CUresult wait_for_both(CUcontext dst, CUcontext src)
{
	DRV_ENTER(c);
	CUcontext both[] = {dst, src};

	for (int i = 0; i < 2; i++) {
		struct drv_ctx *peer = drv_ctx_of(both[i]);
		CUresult r = peer ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
		if (peer && peer != c)
			r = drv_wait_ctx(peer);
		if (r != CUDA_SUCCESS)
			return drv_leave(r);
	}
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuMemcpyPeer(
	CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t bytes)
{
	CUresult r = wait_for_both(dst_ctx, src_ctx);

	if (r != CUDA_SUCCESS)
		return r;
	return copy_plain(NULL, dst, src, bytes, SIDE_DEVICE, SIDE_DEVICE, true);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_plain(stream, dst, src, bytes, SIDE_ANY, SIDE_ANY, false);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	return copy_plain(
		stream, dst, (uint64_t)(uintptr_t)src, bytes, SIDE_DEVICE, SIDE_HOST, false);
}

CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_plain(
		stream, (uint64_t)(uintptr_t)dst, src, bytes, SIDE_HOST, SIDE_DEVICE, false);
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_plain(stream, dst, src, bytes, SIDE_DEVICE, SIDE_DEVICE, false);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
	size_t bytes, CUstream stream)
{
	return copy_plain(stream, dst, src, bytes, SIDE_DEVICE, SIDE_DEVICE, false);
}

/* ---- copies of boxes ---- */

static CUresult side_of(
	CUmemorytype type, const void *host, CUdeviceptr device, enum side *ret, uint64_t *ret_base)
{
	switch ((int)type) {
	case CU_MEMORYTYPE_HOST:
		*ret = SIDE_HOST;
		*ret_base = (uint64_t)(uintptr_t)host;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_DEVICE:
		*ret = SIDE_DEVICE;
		*ret_base = device;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_UNIFIED:
		*ret = SIDE_ANY;
		*ret_base = device;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_ARRAY: /* the caller has already resolved arrays */
		break;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Advances *at to a box's corner. Returns false if that is outside the address space. */
static bool move_side(uint64_t *at, size_t x, size_t y, size_t pitch, size_t z, size_t plane)
{
	size_t rows, planes;

	return !__builtin_mul_overflow(y, pitch, &rows) &&
	       !__builtin_mul_overflow(z, plane, &planes) && !__builtin_add_overflow(*at, x, at) &&
	       !__builtin_add_overflow(*at, rows, at) && !__builtin_add_overflow(*at, planes, at);
}

static CUresult box_of(const CUDA_MEMCPY3D *m, struct drv_copy *ret, enum side *dst, enum side *src)
{
	uint64_t s, d;
	CUresult r = side_of(m->srcMemoryType, m->srcHost, m->srcDevice, src, &s);

	if (r == CUDA_SUCCESS)
		r = side_of(m->dstMemoryType, m->dstHost, m->dstDevice, dst, &d);
	if (r != CUDA_SUCCESS)
		return r;
	if (!m->WidthInBytes || !m->Height || !m->Depth) {
		/* an empty copy, whatever the other sizes are */
		*ret = (struct drv_copy){.src = s, .dst = d};
		return CUDA_SUCCESS;
	}
	/* A pitch or height of 0 means that rows or planes are contiguous. */
	size_t sp = m->srcPitch ? m->srcPitch : m->WidthInBytes;
	size_t dp = m->dstPitch ? m->dstPitch : m->WidthInBytes;
	size_t splane, dplane;
	if ((m->Height > 1 && (sp < m->WidthInBytes || dp < m->WidthInBytes)) ||
		__builtin_mul_overflow(sp, m->srcHeight ? m->srcHeight : m->Height, &splane) ||
		__builtin_mul_overflow(dp, m->dstHeight ? m->dstHeight : m->Height, &dplane) ||
		!move_side(&s, m->srcXInBytes, m->srcY, sp, m->srcZ, splane) ||
		!move_side(&d, m->dstXInBytes, m->dstY, dp, m->dstZ, dplane))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (struct drv_copy){
		.src = s,
		.dst = d,
		.src_pitch = sp,
		.dst_pitch = dp,
		.src_plane = splane,
		.dst_plane = dplane,
		.width = m->WidthInBytes,
		.height = m->Height,
		.depth = m->Depth,
	};
	return CUDA_SUCCESS;
}

static CUDA_MEMCPY3D widen_copy(const CUDA_MEMCPY2D *m)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = m->srcXInBytes,
		.srcY = m->srcY,
		.srcMemoryType = m->srcMemoryType,
		.srcArray = m->srcArray,
		.srcHost = m->srcHost,
		.srcDevice = m->srcDevice,
		.srcPitch = m->srcPitch,
		.dstXInBytes = m->dstXInBytes,
		.dstY = m->dstY,
		.dstMemoryType = m->dstMemoryType,
		.dstArray = m->dstArray,
		.dstHost = m->dstHost,
		.dstDevice = m->dstDevice,
		.dstPitch = m->dstPitch,
		.WidthInBytes = m->WidthInBytes,
		.Height = m->Height,
		.Depth = 1,
	};
}

static CUresult box_call(CUstream stream, const CUDA_MEMCPY3D *m, bool sync)
{
	struct drv_copy c;
	CUDA_MEMCPY3D plain;
	enum side dst, src;
	CUresult r;

	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	plain = *m;
	DRV_ENTER_INIT();
	r = drv_leave(drv_copy_without_arrays(&plain));
	if (r == CUDA_SUCCESS)
		r = box_of(&plain, &c, &dst, &src);
	return r == CUDA_SUCCESS ? copy_call(stream, &c, dst, src, sync) : r;
}

static CUresult rect_call(CUstream stream, const CUDA_MEMCPY2D *m, bool sync)
{
	if (!m)
		return CUDA_ERROR_INVALID_VALUE;
	CUDA_MEMCPY3D wide = widen_copy(m);
	return box_call(stream, &wide, sync);
}

CUresult drv_copy_of_3d(const CUDA_MEMCPY3D *from, struct drv_copy *ret)
{
	CUDA_MEMCPY3D plain = *from;
	enum side dst, src;
	CUresult r = drv_copy_without_arrays(&plain);

	if (r == CUDA_SUCCESS)
		r = box_of(&plain, ret, &dst, &src);

	if (r == CUDA_SUCCESS && ret->width && ret->height && ret->depth &&
		!copy_ok(NULL, ret, dst, src))
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

CUresult cuMemcpy2D(const CUDA_MEMCPY2D *copy)
{
	return rect_call(NULL, copy, true);
}

CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *copy)
{
	return rect_call(NULL, copy, true);
}

CUresult cuMemcpy3D(const CUDA_MEMCPY3D *copy)
{
	return box_call(NULL, copy, true);
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *copy, CUstream stream)
{
	return rect_call(stream, copy, false);
}

CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream)
{
	return box_call(stream, copy, false);
}

/* ---- memsets ---- */

bool drv_set_ok(const struct drv_set *s)
{
	uint64_t bytes, row;

	return s->dst % s->element == 0 && (s->height <= 1 || s->pitch % s->element == 0) &&
	       !__builtin_mul_overflow((uint64_t)s->width, (uint64_t)s->element, &row) &&
	       (s->height <= 1 || s->pitch >= row) &&
	       find_extent(row, s->height, 1, s->pitch, 0, &bytes) && drv_in_range(s->dst, bytes);
}

/* Submits a memset. A memset of device memory returns without waiting, even if its name has no
 * Async. A synchronous memset of host or managed memory waits. */
static CUresult set_call(CUstream stream, CUdeviceptr dst, size_t pitch, uint32_t value,
	unsigned element, size_t width, size_t height, bool sync)
{
	struct drv_set set = {dst, pitch, width, height, value, element};
	DRV_ENTER_ADDING(c);
	struct drv_stream *s = drv_stream_any(c, stream);

	if (!s)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!width || !height)
		return drv_leave(CUDA_SUCCESS);
	if (!drv_set_ok(&set) || !drv_usable(s, dst, 1))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	CUresult r = capture_implicit(s);
	if (r == CUDA_SUCCESS && sync)
		r = s->capture ? capture_invalidate(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
			       : capture_unsafe(c);
	struct drv_op *op = r == CUDA_SUCCESS ? drv_op_new(OP_SET, s) : NULL;
	if (!op)
		return drv_leave(r == CUDA_SUCCESS ? CUDA_ERROR_OUT_OF_MEMORY : r);
	op->set = set;
	struct drv_alloc *a = drv_alloc_of(dst);
	bool host = a && a->kind != ALLOC_DEVICE;
	return drv_leave(sync && host ? drv_do(s, op) : drv_submit(s, op));
}

CUresult cuMemsetD8(CUdeviceptr dst, unsigned char value, size_t n)
{
	return set_call(NULL, dst, 0, value, 1, n, 1, true);
}

CUresult cuMemsetD16(CUdeviceptr dst, unsigned short value, size_t n)
{
	return set_call(NULL, dst, 0, value, 2, n, 1, true);
}

CUresult cuMemsetD32(CUdeviceptr dst, unsigned int value, size_t n)
{
	return set_call(NULL, dst, 0, value, 4, n, 1, true);
}

CUresult cuMemsetD2D8(
	CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height)
{
	return set_call(NULL, dst, pitch, value, 1, width, height, true);
}

CUresult cuMemsetD2D16(
	CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height)
{
	return set_call(NULL, dst, pitch, value, 2, width, height, true);
}

CUresult cuMemsetD2D32(
	CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height)
{
	return set_call(NULL, dst, pitch, value, 4, width, height, true);
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)
{
	return set_call(stream, dst, 0, value, 1, n, 1, false);
}

CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t n, CUstream stream)
{
	return set_call(stream, dst, 0, value, 2, n, 1, false);
}

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned int value, size_t n, CUstream stream)
{
	return set_call(stream, dst, 0, value, 4, n, 1, false);
}

CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
	size_t height, CUstream stream)
{
	return set_call(stream, dst, pitch, value, 1, width, height, false);
}

CUresult cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
	size_t height, CUstream stream)
{
	return set_call(stream, dst, pitch, value, 2, width, height, false);
}

CUresult cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned int value, size_t width,
	size_t height, CUstream stream)
{
	return set_call(stream, dst, pitch, value, 4, width, height, false);
}
