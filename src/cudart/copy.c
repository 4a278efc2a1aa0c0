/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Copies and fills of linear memory, and copies of boxes from and to arrays. array.c has the other
 * copies of arrays. */
#include <string.h>

#include "cudart/cudart.h"

bool rt_is_kind(int kind)
{
	return kind >= RT_HOST_TO_HOST && kind <= RT_COPY_DEFAULT;
}

rt_error rt_copy(const struct cu_api *cu, void *dst, const void *src, size_t bytes, int kind)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;

	if (!rt_is_kind(kind))
		return cudaErrorInvalidMemcpyDirection;
	if (!bytes)
		return cudaSuccess;
	switch ((enum rt_copy_kind)kind) {
	case RT_HOST_TO_DEVICE:
		return RT_CALL(cu, cuMemcpyHtoD, to, src, bytes);
	case RT_DEVICE_TO_HOST:
		return RT_CALL(cu, cuMemcpyDtoH, dst, from, bytes);
	case RT_DEVICE_TO_DEVICE:
		return RT_CALL(cu, cuMemcpyDtoD, to, from, bytes);
	default:
		return RT_CALL(cu, cuMemcpy, to, from, bytes);
	}
}

rt_error rt_copy_async(const struct cu_api *cu, void *dst, const void *src, size_t bytes, int kind,
	CUstream stream)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;

	if (!rt_is_kind(kind))
		return cudaErrorInvalidMemcpyDirection;
	if (!bytes)
		return cudaSuccess;
	switch ((enum rt_copy_kind)kind) {
	case RT_HOST_TO_DEVICE:
		return RT_CALL(cu, cuMemcpyHtoDAsync, to, src, bytes, stream);
	case RT_DEVICE_TO_HOST:
		return RT_CALL(cu, cuMemcpyDtoHAsync, dst, from, bytes, stream);
	case RT_DEVICE_TO_DEVICE:
		return RT_CALL(cu, cuMemcpyDtoDAsync, to, from, bytes, stream);
	default:
		return RT_CALL(cu, cuMemcpyAsync, to, from, bytes, stream);
	}
}

/* ---- copies of two and three dimensions ---- */

CUmemorytype rt_src_type(int kind)
{
	if (kind == RT_COPY_DEFAULT)
		return CU_MEMORYTYPE_UNIFIED;
	return kind == RT_HOST_TO_HOST || kind == RT_HOST_TO_DEVICE ? CU_MEMORYTYPE_HOST
								    : CU_MEMORYTYPE_DEVICE;
}

CUmemorytype rt_dst_type(int kind)
{
	if (kind == RT_COPY_DEFAULT)
		return CU_MEMORYTYPE_UNIFIED;
	return kind == RT_HOST_TO_HOST || kind == RT_DEVICE_TO_HOST ? CU_MEMORYTYPE_HOST
								    : CU_MEMORYTYPE_DEVICE;
}

/* Sets *ret_any to false if the copy is empty. */
static rt_error make_2d(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
	size_t width, size_t height, int kind, CUDA_MEMCPY2D *ret, bool *ret_any)
{
	if (!rt_is_kind(kind))
		return cudaErrorInvalidMemcpyDirection;
	*ret_any = width && height;
	if (*ret_any && (width > dst_pitch || width > src_pitch))
		return cudaErrorInvalidPitchValue;
	*ret = (CUDA_MEMCPY2D){
		.srcMemoryType = rt_src_type(kind),
		.srcHost = src,
		.srcDevice = (CUdeviceptr)src,
		.srcPitch = src_pitch,
		.dstMemoryType = rt_dst_type(kind),
		.dstHost = dst,
		.dstDevice = (CUdeviceptr)dst,
		.dstPitch = dst_pitch,
		.WidthInBytes = width,
		.Height = height,
	};
	return cudaSuccess;
}

rt_error rt_copy_2d(const struct cu_api *cu, void *dst, size_t dst_pitch, const void *src,
	size_t src_pitch, size_t width, size_t height, int kind)
{
	CUDA_MEMCPY2D c;
	bool any;
	rt_error r = make_2d(dst, dst_pitch, src, src_pitch, width, height, kind, &c, &any);

	return r || !any ? r : RT_CALL(cu, cuMemcpy2DUnaligned, &c);
}

rt_error rt_copy_2d_async(const struct cu_api *cu, void *dst, size_t dst_pitch, const void *src,
	size_t src_pitch, size_t width, size_t height, int kind, CUstream stream)
{
	CUDA_MEMCPY2D c;
	bool any;
	rt_error r = make_2d(dst, dst_pitch, src, src_pitch, width, height, kind, &c, &any);

	return r || !any ? r : RT_CALL(cu, cuMemcpy2DAsync, &c, stream);
}

/* Converts *io, the description of a copy of a box, for the case that one side of the copy or both
 * is a CUDA array. The runtime then gives the copy's width, and the position in an array, in
 * elements of the array; the driver wants bytes. If both sides are arrays, their elements must have
 * the same size. */
static rt_error box_of_arrays(const struct rt_copy3d *copy, CUDA_MEMCPY3D *io)
{
	size_t src = 0, dst = 0, width;
	rt_error r = cudaSuccess;

	if (copy->src_array)
		r = rt_array_element(copy->src_array, &src);
	if (!r && copy->dst_array)
		r = rt_array_element(copy->dst_array, &dst);
	if (r || (!src && !dst))
		return r;
	if (src && dst && src != dst)
		return cudaErrorInvalidValue;
	if (__builtin_mul_overflow(io->WidthInBytes, src ? src : dst, &width))
		return cudaErrorInvalidValue;
	io->WidthInBytes = width;
	if (src) {
		io->srcMemoryType = CU_MEMORYTYPE_ARRAY;
		io->srcArray = copy->src_array;
		io->srcXInBytes *= src;
	}
	if (dst) {
		io->dstMemoryType = CU_MEMORYTYPE_ARRAY;
		io->dstArray = copy->dst_array;
		io->dstXInBytes *= dst;
	}
	return cudaSuccess;
}

rt_error rt_make_3d(const struct rt_copy3d *copy, CUDA_MEMCPY3D *ret, bool *ret_any)
{
	if (!copy)
		return cudaErrorInvalidValue;
	if (!rt_is_kind(copy->kind))
		return cudaErrorInvalidMemcpyDirection;
	*ret_any = copy->extent.width && copy->extent.height && copy->extent.depth;
	*ret = (CUDA_MEMCPY3D){
		.srcXInBytes = copy->src_pos.x,
		.srcY = copy->src_pos.y,
		.srcZ = copy->src_pos.z,
		.srcMemoryType = rt_src_type(copy->kind),
		.srcHost = copy->src.ptr,
		.srcDevice = (CUdeviceptr)copy->src.ptr,
		.srcPitch = copy->src.pitch,
		.srcHeight = copy->src.height,
		.dstXInBytes = copy->dst_pos.x,
		.dstY = copy->dst_pos.y,
		.dstZ = copy->dst_pos.z,
		.dstMemoryType = rt_dst_type(copy->kind),
		.dstHost = copy->dst.ptr,
		.dstDevice = (CUdeviceptr)copy->dst.ptr,
		.dstPitch = copy->dst.pitch,
		.dstHeight = copy->dst.height,
		.WidthInBytes = copy->extent.width,
		.Height = copy->extent.height,
		.Depth = copy->extent.depth,
	};
	return box_of_arrays(copy, ret);
}

rt_error rt_copy_3d(const struct cu_api *cu, const struct rt_copy3d *copy)
{
	CUDA_MEMCPY3D c;
	bool any;
	rt_error r = rt_make_3d(copy, &c, &any);

	return r || !any ? r : RT_CALL(cu, cuMemcpy3D, &c);
}

rt_error rt_copy_3d_async(const struct cu_api *cu, const struct rt_copy3d *copy, CUstream stream)
{
	CUDA_MEMCPY3D c;
	bool any;
	rt_error r = rt_make_3d(copy, &c, &any);

	return r || !any ? r : RT_CALL(cu, cuMemcpy3DAsync, &c, stream);
}

static rt_error contexts_of(int dst, int src, CUcontext *ret_dst, CUcontext *ret_src)
{
	rt_error r = rt_primary(dst, ret_dst);

	return r ? r : rt_primary(src, ret_src);
}

rt_error rt_copy_peer(
	CUdeviceptr dst, int dst_device, CUdeviceptr src, int src_device, size_t bytes)
{
	CUcontext to, from;
	rt_error r = contexts_of(dst_device, src_device, &to, &from);

	return r || !bytes ? r : RT_CALL(&rt_cu, cuMemcpyPeer, dst, to, src, from, bytes);
}

rt_error rt_copy_peer_async(CUdeviceptr dst, int dst_device, CUdeviceptr src, int src_device,
	size_t bytes, CUstream stream)
{
	CUcontext to, from;
	rt_error r = contexts_of(dst_device, src_device, &to, &from);

	return r || !bytes ? r
			   : RT_CALL(&rt_cu, cuMemcpyPeerAsync, dst, to, src, from, bytes, stream);
}

/* ---- variables ---- */

rt_error rt_symbol_range(const void *symbol, size_t bytes, size_t offset, void **ret)
{
	CUdeviceptr at;
	size_t size;
	rt_error r = rt_symbol_of(symbol, &at, &size);

	if (r)
		return r;
	if (offset > size || bytes > size - offset)
		return cudaErrorInvalidValue;
	*ret = (void *)(uintptr_t)(at + offset);
	return cudaSuccess;
}

/* Finds the device address of a variable as the destination of a copy. */
static rt_error to_symbol(const void *symbol, size_t bytes, size_t offset, int kind, void **ret)
{
	if (kind != RT_HOST_TO_DEVICE && kind != RT_DEVICE_TO_DEVICE && kind != RT_COPY_DEFAULT)
		return cudaErrorInvalidMemcpyDirection;
	return rt_symbol_range(symbol, bytes, offset, ret);
}

static rt_error from_symbol(const void *symbol, size_t bytes, size_t offset, int kind, void **ret)
{
	if (kind != RT_DEVICE_TO_HOST && kind != RT_DEVICE_TO_DEVICE && kind != RT_COPY_DEFAULT)
		return cudaErrorInvalidMemcpyDirection;
	return rt_symbol_range(symbol, bytes, offset, ret);
}

rt_error rt_copy_to_symbol(const struct cu_api *cu, const void *symbol, const void *src,
	size_t bytes, size_t offset, int kind)
{
	void *dst;
	rt_error r = to_symbol(symbol, bytes, offset, kind, &dst);

	return r ? r : rt_copy(cu, dst, src, bytes, kind);
}

rt_error rt_copy_to_symbol_async(const struct cu_api *cu, const void *symbol, const void *src,
	size_t bytes, size_t offset, int kind, CUstream stream)
{
	void *dst;
	rt_error r = to_symbol(symbol, bytes, offset, kind, &dst);

	return r ? r : rt_copy_async(cu, dst, src, bytes, kind, stream);
}

rt_error rt_copy_from_symbol(const struct cu_api *cu, void *dst, const void *symbol, size_t bytes,
	size_t offset, int kind)
{
	void *src;
	rt_error r = from_symbol(symbol, bytes, offset, kind, &src);

	return r ? r : rt_copy(cu, dst, src, bytes, kind);
}

rt_error rt_copy_from_symbol_async(const struct cu_api *cu, void *dst, const void *symbol,
	size_t bytes, size_t offset, int kind, CUstream stream)
{
	void *src;
	rt_error r = from_symbol(symbol, bytes, offset, kind, &src);

	return r ? r : rt_copy_async(cu, dst, src, bytes, kind, stream);
}

rt_error rt_symbol_address(CUdeviceptr *ret, const void *symbol)
{
	size_t bytes;

	return ret ? rt_symbol_of(symbol, ret, &bytes) : cudaErrorInvalidValue;
}

rt_error rt_symbol_size(size_t *ret, const void *symbol)
{
	CUdeviceptr at;

	return ret ? rt_symbol_of(symbol, &at, ret) : cudaErrorInvalidValue;
}

/* ---- fills ---- */

rt_error rt_set(const struct cu_api *cu, CUdeviceptr dst, int value, size_t bytes)
{
	return bytes ? RT_CALL(cu, cuMemsetD8, dst, (unsigned char)value, bytes) : cudaSuccess;
}

rt_error rt_set_async(
	const struct cu_api *cu, CUdeviceptr dst, int value, size_t bytes, CUstream stream)
{
	return bytes ? RT_CALL(cu, cuMemsetD8Async, dst, (unsigned char)value, bytes, stream)
		     : cudaSuccess;
}

rt_error rt_set_2d(const struct cu_api *cu, CUdeviceptr dst, size_t pitch, int value, size_t width,
	size_t height)
{
	if (!width || !height)
		return cudaSuccess;
	if (width > pitch && height > 1)
		return cudaErrorInvalidValue;
	return RT_CALL(cu, cuMemsetD2D8, dst, pitch, (unsigned char)value, width, height);
}

rt_error rt_set_2d_async(const struct cu_api *cu, CUdeviceptr dst, size_t pitch, int value,
	size_t width, size_t height, CUstream stream)
{
	if (!width || !height)
		return cudaSuccess;
	if (width > pitch && height > 1)
		return cudaErrorInvalidValue;
	return RT_CALL(
		cu, cuMemsetD2D8Async, dst, pitch, (unsigned char)value, width, height, stream);
}

/* Finds the number of slices of a box (0: nothing is to do) and the bytes from one to the next. A slice
 * of the allocation can have more rows than the box, and those rows must not change. */
static rt_error slices_of(
	const struct rt_pitched *dst, struct rt_extent extent, size_t *ret_n, size_t *ret_stride)
{
	size_t last;

	*ret_n = 0;
	*ret_stride = 0;
	if (!extent.width || !extent.height || !extent.depth)
		return cudaSuccess;
	if (extent.depth > 1 && (extent.width > dst->pitch || extent.height > dst->height))
		return cudaErrorInvalidValue;
	if (extent.depth > 1 &&
		(__builtin_mul_overflow(dst->pitch, dst->height, ret_stride) ||
			__builtin_mul_overflow(*ret_stride, extent.depth - 1, &last)))
		return cudaErrorInvalidValue;
	*ret_n = extent.depth;
	return cudaSuccess;
}

/* Sets a box of memory to a value, one slice at a time. The last slice is first: if the box does not
 * fit in the memory, nothing changes. */
rt_error rt_set_3d(
	const struct cu_api *cu, struct rt_pitched dst, int value, struct rt_extent extent)
{
	size_t n, stride;
	rt_error r = slices_of(&dst, extent, &n, &stride);

	while (n-- > 0 && !r)
		r = rt_set_2d(cu, (CUdeviceptr)dst.ptr + n * stride, dst.pitch, value, extent.width,
			extent.height);
	return r;
}

rt_error rt_set_3d_async(const struct cu_api *cu, struct rt_pitched dst, int value,
	struct rt_extent extent, CUstream stream)
{
	size_t n, stride;
	rt_error r = slices_of(&dst, extent, &n, &stride);

	while (n-- > 0 && !r)
		r = rt_set_2d_async(cu, (CUdeviceptr)dst.ptr + n * stride, dst.pitch, value,
			extent.width, extent.height, stream);
	return r;
}
