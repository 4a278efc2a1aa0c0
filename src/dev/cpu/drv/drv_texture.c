/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Texture and surface objects. The driver checks them here and writes a descriptor (texture.h) to
 * the device's constant memory; the descriptor's address is the handle. Mipmaps, resource views and
 * sRGB are refused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dev/cpu/mem.h"
#include "dev/cpu/texture.h"
#include "drv_func.h"

#define KNOWN_TEXTURE_FLAGS       (CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES)
#define CU_TRSF_DISABLE_TRILINEAR 0x20 /* has no effect without mipmaps */

struct drv_image {
	struct obj obj;
	uint64_t handle;
	bool is_surface;
	CUDA_RESOURCE_DESC resource;
	CUDA_TEXTURE_DESC desc;
};

static bool image_format(struct vgpu_image *im, CUarray_format format, unsigned channels)
{
	im->channel_bytes = (uint8_t)drv_channel_bytes(format);
	im->channels = (uint8_t)channels;
	im->kind = format == CU_AD_FORMAT_HALF || format == CU_AD_FORMAT_FLOAT ? VIMG_FLOAT
		   : format & CU_AD_FORMAT_SIGNED_INT8                         ? VIMG_SIGNED
									       : VIMG_UNSIGNED;
	return im->channel_bytes && (channels == 1 || channels == 2 || channels == 4);
}

static CUresult of_array(struct vgpu_image *im, CUarray array)
{
	const struct drv_array *a = drv_array_of(array);
	const CUDA_ARRAY3D_DESCRIPTOR *d = a ? &a->desc : NULL;

	if (!a)
		return CUDA_ERROR_INVALID_HANDLE;
	image_format(im, d->Format, d->NumChannels);
	im->base = a->addr;
	im->bytes = a->bytes;
	im->pitch = a->pitch;
	im->slice = a->slice;
	im->size[0] = (int64_t)d->Width;
	im->size[1] = (int64_t)MAX(d->Height, 1u);
	im->size[2] = d->Flags & CUDA_ARRAY3D_LAYERED ? 1 : (int64_t)MAX(d->Depth, 1u);
	im->shape = d->Flags & CUDA_ARRAY3D_CUBEMAP                  ? VIMG_CUBE
		    : d->Depth && !(d->Flags & CUDA_ARRAY3D_LAYERED) ? VIMG_3D
		    : d->Height                                      ? VIMG_2D
								     : VIMG_1D;
	if (d->Flags & CUDA_ARRAY3D_LAYERED)
		im->layers = (int64_t)(d->Flags & CUDA_ARRAY3D_CUBEMAP ? d->Depth / 6 : d->Depth);
	return CUDA_SUCCESS;
}

static CUresult of_memory(struct vgpu_image *im, const CUDA_RESOURCE_DESC *from)
{
	bool flat = from->resType == CU_RESOURCE_TYPE_LINEAR;
	size_t width = from->res.pitch2D.width, height = from->res.pitch2D.height, element;
	size_t rows;

	/* Both kinds of resource begin with the address, the format and the channels. */
	if (!image_format(im, from->res.linear.format, from->res.linear.numChannels))
		return CUDA_ERROR_INVALID_VALUE;
	element = (size_t)im->channels * im->channel_bytes;
	if (flat) {
		width = from->res.linear.sizeInBytes / element;
		height = 1;
	}
	im->pitch = flat ? width * element : from->res.pitch2D.pitchInBytes;
	if (!width || !height || width > INT32_MAX || height > INT32_MAX ||
		im->pitch < width * element ||
		__builtin_mul_overflow(height - 1, im->pitch, &rows) ||
		__builtin_add_overflow(rows, width * element, &im->bytes) ||
		!drv_in_range(from->res.linear.devPtr, im->bytes) ||
		from->res.linear.devPtr % element)
		return CUDA_ERROR_INVALID_VALUE;
	im->base = from->res.linear.devPtr;
	im->shape = flat ? VIMG_LINEAR : VIMG_2D;
	im->size[0] = (int64_t)width;
	im->size[1] = (int64_t)height;
	im->size[2] = 1;
	return CUDA_SUCCESS;
}

static CUresult image_resource(struct vgpu_image *im, const CUDA_RESOURCE_DESC *from)
{
	switch ((int)from->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		return of_array(im, from->res.array.hArray);
	case CU_RESOURCE_TYPE_LINEAR:
	case CU_RESOURCE_TYPE_PITCH2D:
		return of_memory(im, from);
	case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Rounds the border color to a value that the texel format can represent. */
static float border_of(const struct vgpu_image *im, float v)
{
	bool is_signed = im->kind == VIMG_SIGNED;
	float most = im->channel_bytes == 1 ? (is_signed ? 127.f : 255.f)
					    : (is_signed ? 32767.f : 65535.f);

	if (!im->to_float)
		return v;
	v = v > 1 ? 1 : v < (is_signed ? -1 : 0) ? (is_signed ? -1 : 0) : v;
	return (float)lrintf(v * most) / most;
}

static CUresult image_texture(struct vgpu_image *im, const CUDA_TEXTURE_DESC *d)
{
	bool integer = im->kind != VIMG_FLOAT;

	if (d->flags & ~(unsigned)(KNOWN_TEXTURE_FLAGS | CU_TRSF_DISABLE_TRILINEAR))
		return CUDA_ERROR_NOT_SUPPORTED;
	for (unsigned i = 0; i < 3; i++) {
		if ((unsigned)d->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
			return CUDA_ERROR_INVALID_VALUE;
		im->address[i] = (uint8_t)d->addressMode[i];
	}
	im->to_float = integer && im->channel_bytes < 4 && !(d->flags & CU_TRSF_READ_AS_INTEGER);
	im->normalized = d->flags & CU_TRSF_NORMALIZED_COORDINATES || im->shape == VIMG_CUBE;
	im->linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR;
	/* Linear filtering computes values between texels, so reads must return floats. */
	if ((unsigned)d->filterMode > CU_TR_FILTER_MODE_LINEAR ||
		(im->linear && integer && !im->to_float))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < 4; i++)
		im->border[i] = border_of(im, d->borderColor[i]);
	return CUDA_SUCCESS;
}

static CUresult image_make(struct drv_ctx *c, const CUDA_RESOURCE_DESC *resource,
	const CUDA_TEXTURE_DESC *desc, uint64_t *ret)
{
	struct vgpu_image im = {.magic = VGPU_IMAGE_MAGIC, .is_surface = !desc};
	CUresult r = image_resource(&im, resource);
	struct drv_image *i;
	uint64_t at;

	if (r == CUDA_SUCCESS && desc)
		r = image_texture(&im, desc);
	if (r == CUDA_SUCCESS && !desc && resource->resType != CU_RESOURCE_TYPE_ARRAY)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	i = calloc(1, sizeof(*i));
	if (!i || vgpu_mem_alloc_const(drv.mem, sizeof(im), &at) != 0) {
		free(i);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	memcpy((void *)(uintptr_t)at, &im, sizeof(im));
	i->handle = at;
	i->is_surface = !desc;
	i->resource = *resource;
	if (desc)
		i->desc = *desc;
	drv_obj_add(&i->obj, OBJ_IMAGE, c);
	/* An image is looked up by its handle, not by its object's address. */
	drv_obj_remove_at(i, &i->obj);
	drv_obj_add_at((void *)(uintptr_t)at, &i->obj);
	*ret = at;
	return CUDA_SUCCESS;
}

void drv_image_destroy(struct drv_image *i)
{
	drv_obj_remove_at((void *)(uintptr_t)i->handle, &i->obj);
	drv_obj_remove(&i->obj);
	vgpu_mem_free(drv.mem, i->handle);
	free(i);
}

static struct drv_image *image_of(uint64_t handle, bool is_surface)
{
	struct drv_image *i = drv_get((void *)(uintptr_t)handle, OBJ_IMAGE);

	return i && i->is_surface == is_surface ? i : NULL;
}

/* Waits for running kernels, which may use the image, before destroying it. */
static CUresult image_end(uint64_t handle, bool is_surface)
{
	DRV_ENTER(c);
	CUresult r = image_of(handle, is_surface) ? drv_wait_alone(c) : CUDA_ERROR_INVALID_VALUE;
	struct drv_image *i = image_of(handle, is_surface);

	if (r == CUDA_SUCCESS && i)
		drv_image_destroy(i);
	return drv_leave(r);
}

static CUresult image_describe(
	uint64_t handle, bool is_surface, CUDA_RESOURCE_DESC *resource, CUDA_TEXTURE_DESC *desc)
{
	DRV_ENTER_INIT();
	const struct drv_image *i = image_of(handle, is_surface);

	if (!i || (!resource && !desc))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (resource)
		*resource = i->resource;
	if (desc)
		*desc = i->desc;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuTexObjectCreate(CUtexObject *texture, const CUDA_RESOURCE_DESC *resource,
	const CUDA_TEXTURE_DESC *desc, const CUDA_RESOURCE_VIEW_DESC *view)
{
	uint64_t at;
	DRV_ENTER_ADDING(c);
	CUresult r = !texture || !resource || !desc ? CUDA_ERROR_INVALID_VALUE
		     : view                         ? CUDA_ERROR_NOT_SUPPORTED
						    : image_make(c, resource, desc, &at);

	if (r == CUDA_SUCCESS)
		*texture = at;
	return drv_leave(r);
}

CUresult cuTexObjectDestroy(CUtexObject texture)
{
	return image_end(texture, false);
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *desc, CUtexObject texture)
{
	return image_describe(texture, false, desc, NULL);
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *desc, CUtexObject texture)
{
	return image_describe(texture, false, NULL, desc);
}

CUresult cuSurfObjectCreate(CUsurfObject *surface, const CUDA_RESOURCE_DESC *resource)
{
	uint64_t at;
	DRV_ENTER_ADDING(c);
	CUresult r =
		surface && resource ? image_make(c, resource, NULL, &at) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS)
		*surface = at;
	return drv_leave(r);
}

CUresult cuSurfObjectDestroy(CUsurfObject surface)
{
	return image_end(surface, true);
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *desc, CUsurfObject surface)
{
	return image_describe(surface, true, desc, NULL);
}
