/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* CUDA arrays: device memory with a size and a format, which kernels access only through textures
 * and surfaces. Here the rows of texels are contiguous, and layers and cube faces are slices. */
#include <errno.h>
#include <stdlib.h>

#include "drv_func.h"
#include "drv_graph.h"

#define KNOWN_FLAGS                                                                \
	(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | \
		CUDA_ARRAY3D_TEXTURE_GATHER)

struct drv_array *drv_array_of(CUarray array)
{
	return drv_get(array, OBJ_ARRAY);
}

unsigned drv_channel_bytes(CUarray_format format)
{
	switch ((int)format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	}
	return 0;
}

/* Checks that sizes and flags are compatible, then computes the layout. */
static CUresult lay_out_array(struct drv_array *a)
{
	const CUDA_ARRAY3D_DESCRIPTOR *d = &a->desc;
	bool layered = d->Flags & CUDA_ARRAY3D_LAYERED, cube = d->Flags & CUDA_ARRAY3D_CUBEMAP;
	size_t rows = d->Height ? d->Height : 1, slices = d->Depth ? d->Depth : 1;

	a->channel_bytes = drv_channel_bytes(d->Format);
	if (!d->Width || !a->channel_bytes || d->Flags & ~KNOWN_FLAGS ||
		(d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
		return CUDA_ERROR_INVALID_VALUE;
	if ((layered && !d->Depth) || (!layered && d->Depth && !d->Height) ||
		(cube && (d->Width != d->Height || !d->Depth || d->Depth % 6 ||
				 (!layered && d->Depth != 6))))
		return CUDA_ERROR_INVALID_VALUE;
	if (__builtin_mul_overflow(
		    d->Width, (size_t)(d->NumChannels * a->channel_bytes), &a->pitch) ||
		__builtin_mul_overflow(a->pitch, rows, &a->slice) ||
		__builtin_mul_overflow(a->slice, slices, &a->bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult array_make(
	struct drv_ctx *c, const CUDA_ARRAY3D_DESCRIPTOR *desc, struct drv_array **ret)
{
	struct drv_array *a = calloc(1, sizeof(*a));
	struct sm *sm = drv.device[c->dev].sm;
	CUresult r;

	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->desc = *desc;
	r = lay_out_array(a);
	if (r == CUDA_SUCCESS && sm_memory_take(sm, a->bytes) != 0)
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r != CUDA_SUCCESS) {
		free(a);
		return r;
	}
	if (vgpu_mem_alloc(drv.mem, a->bytes, &a->addr) != 0) {
		sm_memory_give(sm, a->bytes);
		free(a);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	vgpu_mem_belongs(drv.mem, a->addr, (unsigned)c->dev);
	drv_obj_add(&a->obj, OBJ_ARRAY, c);
	*ret = a;
	return CUDA_SUCCESS;
}

void drv_array_destroy(struct drv_array *a)
{
	sm_memory_give(drv.device[a->obj.ctx->dev].sm, a->bytes);
	drv_obj_remove(&a->obj);
	vgpu_mem_free(drv.mem, a->addr);
	free(a);
}

CUresult cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	struct drv_array *a;
	DRV_ENTER_ADDING(c);
	CUresult r = array && desc ? capture_unsafe(c) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS)
		r = array_make(c, desc, &a);
	if (r == CUDA_SUCCESS)
		*array = (CUarray)a;
	return drv_leave(r);
}

CUresult cuArrayCreate(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *desc)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {0};

	if (!desc)
		return CUDA_ERROR_INVALID_VALUE;
	d.Width = desc->Width;
	d.Height = desc->Height;
	d.Format = desc->Format;
	d.NumChannels = desc->NumChannels;
	return cuArray3DCreate(array, &d);
}

CUresult cuArrayDestroy(CUarray array)
{
	DRV_ENTER(c);
	CUresult r = drv_array_of(array) ? capture_unsafe(c) : CUDA_ERROR_INVALID_HANDLE;

	if (r == CUDA_SUCCESS)
		r = drv_wait_alone(c);
	/* Another thread may have destroyed the array during the wait. */
	struct drv_array *a = drv_array_of(array);
	if (r == CUDA_SUCCESS && a)
		drv_array_destroy(a);
	return drv_leave(r);
}

CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR *desc, CUarray array)
{
	DRV_ENTER_INIT();
	struct drv_array *a = drv_array_of(array);

	if (!desc || !a)
		return drv_leave(desc ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*desc = a->desc;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR *desc, CUarray array)
{
	CUDA_ARRAY3D_DESCRIPTOR d;
	CUresult r = desc ? cuArray3DGetDescriptor(&d, array) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS)
		*desc = (CUDA_ARRAY_DESCRIPTOR){d.Width, d.Height, d.Format, d.NumChannels};
	return r;
}

/* ---- copies ---- */

/* Returns true if the box of one side of a copy is inside the array. */
static bool is_inside(
	const struct drv_array *a, const CUDA_MEMCPY3D *m, size_t x, size_t y, size_t z)
{
	size_t rows = a->desc.Height ? a->desc.Height : 1;
	size_t slices = a->desc.Depth ? a->desc.Depth : 1;

	return x <= a->pitch && m->WidthInBytes <= a->pitch - x && y <= rows &&
	       m->Height <= rows - y && z <= slices && m->Depth <= slices - z;
}

CUresult drv_copy_without_arrays(CUDA_MEMCPY3D *io_copy)
{
	CUDA_MEMCPY3D *m = io_copy;

	if (m->srcMemoryType == CU_MEMORYTYPE_ARRAY) {
		const struct drv_array *a = drv_array_of(m->srcArray);

		if (!a || !is_inside(a, m, m->srcXInBytes, m->srcY, m->srcZ))
			return a ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
		m->srcMemoryType = CU_MEMORYTYPE_DEVICE;
		m->srcDevice = a->addr;
		m->srcPitch = a->pitch;
		m->srcHeight = a->desc.Height ? a->desc.Height : 1;
	}
	if (m->dstMemoryType == CU_MEMORYTYPE_ARRAY) {
		const struct drv_array *a = drv_array_of(m->dstArray);

		if (!a || !is_inside(a, m, m->dstXInBytes, m->dstY, m->dstZ))
			return a ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
		m->dstMemoryType = CU_MEMORYTYPE_DEVICE;
		m->dstDevice = a->addr;
		m->dstPitch = a->pitch;
		m->dstHeight = a->desc.Height ? a->desc.Height : 1;
	}
	return CUDA_SUCCESS;
}
