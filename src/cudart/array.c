/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* CUDA arrays, and copies of rectangles from and to arrays. Positions and widths are in bytes in
 * this file; in copies of boxes (copy.c) they are in elements. */
#include "cudart/cudart.h"

enum channel_kind { CHANNEL_SIGNED, CHANNEL_UNSIGNED, CHANNEL_FLOAT }; /* cudaChannelFormatKind */

/* ---- formats ---- */

bool rt_format_of(const struct rt_channels *channels, CUarray_format *ret, unsigned *ret_channels)
{
	static const CUarray_format formats[3][3] = {
		{CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32},
		{CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16,
			CU_AD_FORMAT_UNSIGNED_INT32},
		{(CUarray_format)0, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT}};
	int bits[4] = {channels->x, channels->y, channels->z, channels->w};
	unsigned n = 0;

	while (n < 4 && bits[n])
		n++;
	/* All channels must have the same size. A channel must not be present if an earlier one is
	 * absent. */
	for (unsigned i = 0; i < 4; i++)
		if (bits[i] != (i < n ? bits[0] : 0))
			return false;
	if ((n != 1 && n != 2 && n != 4) || (bits[0] != 8 && bits[0] != 16 && bits[0] != 32) ||
		channels->kind < CHANNEL_SIGNED || channels->kind > CHANNEL_FLOAT)
		return false;
	*ret = formats[channels->kind][bits[0] == 8 ? 0 : bits[0] == 16 ? 1 : 2];
	*ret_channels = n;
	return *ret != 0;
}

struct rt_channels rt_channels_of(CUarray_format format, unsigned channels)
{
	int kind = format >= CU_AD_FORMAT_HALF         ? CHANNEL_FLOAT
		   : format & CU_AD_FORMAT_SIGNED_INT8 ? CHANNEL_SIGNED
						       : CHANNEL_UNSIGNED;
	int bits = format == CU_AD_FORMAT_HALF ? 16
		   : format == CU_AD_FORMAT_FLOAT
			   ? 32
			   : 8 << ((format & 7) - (kind == CHANNEL_UNSIGNED));

	return (struct rt_channels){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
		channels > 3 ? bits : 0, kind};
}

static rt_error describe_array(CUarray array, CUDA_ARRAY3D_DESCRIPTOR *ret)
{
	return RT_CALL(&rt_cu, cuArray3DGetDescriptor, ret, array);
}

static size_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	return (size_t)rt_channels_of(d->Format, 1).x / 8 * d->NumChannels;
}

rt_error rt_array_element(CUarray array, size_t *ret)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	rt_error r = describe_array(array, &d);

	if (!r)
		*ret = element_bytes(&d);
	return r;
}

/* ---- arrays ---- */

rt_error rt_malloc_3d_array(
	CUarray *array, const struct rt_channels *channels, struct rt_extent extent, unsigned flags)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {.Width = extent.width,
		.Height = extent.height,
		.Depth = extent.depth,
		.Flags = flags};

	if (!array || !channels || !rt_format_of(channels, &d.Format, &d.NumChannels))
		return cudaErrorInvalidValue;
	*array = NULL;
	return RT_CALL(&rt_cu, cuArray3DCreate, array, &d);
}

rt_error rt_malloc_array(CUarray *array, const struct rt_channels *channels, size_t width,
	size_t height, unsigned flags)
{
	return rt_malloc_3d_array(array, channels, (struct rt_extent){width, height, 0}, flags);
}

rt_error rt_free_array(CUarray array)
{
	return array ? RT_CALL(&rt_cu, cuArrayDestroy, array) : cudaSuccess;
}

rt_error rt_array_info(
	struct rt_channels *channels, struct rt_extent *extent, unsigned *flags, CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	rt_error r = describe_array(array, &d);

	if (r)
		return r;
	if (channels)
		*channels = rt_channels_of(d.Format, d.NumChannels);
	if (extent)
		*extent = (struct rt_extent){d.Width, d.Height, d.Depth};
	if (flags)
		*flags = d.Flags;
	return cudaSuccess;
}

rt_error rt_array_channels(struct rt_channels *channels, CUarray array)
{
	return channels ? rt_array_info(channels, NULL, NULL, array) : cudaErrorInvalidValue;
}

/* ---- copies ---- */

static rt_error copy_2d(const struct cu_api *cu, const CUDA_MEMCPY2D *c)
{
	return c->WidthInBytes && c->Height ? RT_CALL(cu, cuMemcpy2DUnaligned, c) : cudaSuccess;
}

static rt_error run_async(const struct cu_api *cu, const CUDA_MEMCPY2D *c, CUstream stream)
{
	return c->WidthInBytes && c->Height ? RT_CALL(cu, cuMemcpy2DAsync, c, stream) : cudaSuccess;
}

static CUDA_MEMCPY2D to_array(CUarray dst, size_t x, size_t y, const void *src, size_t pitch,
	size_t width, size_t height, int kind)
{
	return (CUDA_MEMCPY2D){
		.srcMemoryType = rt_src_type(kind),
		.srcHost = src,
		.srcDevice = (CUdeviceptr)src,
		.srcPitch = pitch,
		.dstMemoryType = CU_MEMORYTYPE_ARRAY,
		.dstArray = dst,
		.dstXInBytes = x,
		.dstY = y,
		.WidthInBytes = width,
		.Height = height,
	};
}

static CUDA_MEMCPY2D from_array(void *dst, size_t pitch, CUarray src, size_t x, size_t y,
	size_t width, size_t height, int kind)
{
	return (CUDA_MEMCPY2D){
		.srcMemoryType = CU_MEMORYTYPE_ARRAY,
		.srcArray = src,
		.srcXInBytes = x,
		.srcY = y,
		.dstMemoryType = rt_dst_type(kind),
		.dstHost = dst,
		.dstDevice = (CUdeviceptr)dst,
		.dstPitch = pitch,
		.WidthInBytes = width,
		.Height = height,
	};
}

/* Checks the direction of a copy from or to an array. The array is on the device, so a copy within
 * host memory is invalid. */
static rt_error check_kind(int kind, bool is_to, size_t width, size_t height, size_t pitch)
{
	if (!rt_is_kind(kind) || kind == RT_HOST_TO_HOST ||
		kind == (is_to ? RT_DEVICE_TO_HOST : RT_HOST_TO_DEVICE))
		return cudaErrorInvalidMemcpyDirection;
	return height > 1 && width > pitch ? cudaErrorInvalidPitchValue : cudaSuccess;
}

rt_error rt_copy_2d_to_array(const struct cu_api *cu, CUarray dst, size_t x, size_t y,
	const void *src, size_t pitch, size_t width, size_t height, int kind)
{
	CUDA_MEMCPY2D c = to_array(dst, x, y, src, pitch, width, height, kind);
	rt_error r = check_kind(kind, true, width, height, pitch);

	return r ? r : copy_2d(cu, &c);
}

rt_error rt_copy_2d_to_array_async(const struct cu_api *cu, CUarray dst, size_t x, size_t y,
	const void *src, size_t pitch, size_t width, size_t height, int kind, CUstream stream)
{
	CUDA_MEMCPY2D c = to_array(dst, x, y, src, pitch, width, height, kind);
	rt_error r = check_kind(kind, true, width, height, pitch);

	return r ? r : run_async(cu, &c, stream);
}

rt_error rt_copy_2d_from_array(const struct cu_api *cu, void *dst, size_t pitch, CUarray src,
	size_t x, size_t y, size_t width, size_t height, int kind)
{
	CUDA_MEMCPY2D c = from_array(dst, pitch, src, x, y, width, height, kind);
	rt_error r = check_kind(kind, false, width, height, pitch);

	return r ? r : copy_2d(cu, &c);
}

rt_error rt_copy_2d_from_array_async(const struct cu_api *cu, void *dst, size_t pitch, CUarray src,
	size_t x, size_t y, size_t width, size_t height, int kind, CUstream stream)
{
	CUDA_MEMCPY2D c = from_array(dst, pitch, src, x, y, width, height, kind);
	rt_error r = check_kind(kind, false, width, height, pitch);

	return r ? r : run_async(cu, &c, stream);
}

rt_error rt_copy_2d_arrays(const struct cu_api *cu, CUarray dst, size_t dst_x, size_t dst_y,
	CUarray src, size_t src_x, size_t src_y, size_t width, size_t height, int kind)
{
	CUDA_MEMCPY2D c = from_array(NULL, 0, src, src_x, src_y, width, height, kind);

	if (kind != RT_DEVICE_TO_DEVICE && kind != RT_COPY_DEFAULT)
		return cudaErrorInvalidMemcpyDirection;
	c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	c.dstArray = dst;
	c.dstXInBytes = dst_x;
	c.dstY = dst_y;
	return copy_2d(cu, &c);
}

/* Converts `bytes` bytes from offset x of an array to a rectangle: whole rows, or a part of one
 * row. */
static rt_error rows_of(CUarray array, size_t x, size_t bytes, size_t *ret_width, size_t *ret_rows)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	rt_error r = describe_array(array, &d);
	size_t row;

	if (r)
		return r;
	row = d.Width * element_bytes(&d);
	if (x <= row && bytes <= row - x) {
		*ret_width = bytes;
		*ret_rows = 1;
		return cudaSuccess;
	}
	*ret_width = row;
	*ret_rows = bytes / row;
	return x || bytes % row ? cudaErrorInvalidValue : cudaSuccess;
}

rt_error rt_copy_to_array(const struct cu_api *cu, CUarray dst, size_t x, size_t y, const void *src,
	size_t bytes, int kind)
{
	size_t width, rows;
	rt_error r = rows_of(dst, x, bytes, &width, &rows);

	return r ? r : rt_copy_2d_to_array(cu, dst, x, y, src, width, width, rows, kind);
}

rt_error rt_copy_from_array(
	const struct cu_api *cu, void *dst, CUarray src, size_t x, size_t y, size_t bytes, int kind)
{
	size_t width, rows;
	rt_error r = rows_of(src, x, bytes, &width, &rows);

	return r ? r : rt_copy_2d_from_array(cu, dst, width, src, x, y, width, rows, kind);
}
