/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Stream-ordered allocation: memory is allocated at the call and freed in stream order. Pools do
 * not keep freed memory, so their attributes are stored but have no effect. This file also has the
 * queries about pointers. */
#include <stdlib.h>
#include <string.h>

#include "drv_func.h"
#include "drv_graph.h"

struct drv_pool {
	struct obj obj;
	CUdevice dev;
	uint64_t attr[16];
	uint64_t used, high;
};

static struct drv_pool *pool_new(CUdevice dev)
{
	struct drv_pool *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->dev = dev;
	drv_obj_add(&p->obj, OBJ_POOL, NULL);
	return p;
}

static struct drv_pool *default_pool(CUdevice dev)
{
	struct drv_pool **p = &drv.device[dev].default_pool;

	if (!*p && (*p = pool_new(dev)) != NULL)
		for (int i = 1; i <= 3; i++) /* enable the three ways to reuse memory */
			(*p)->attr[i] = 1;
	return *p;
}

static bool is_default(const struct drv_pool *p)
{
	return p == drv.device[p->dev].default_pool;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice dev)
{
	DRV_ENTER_INIT();
	if (!pool)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (!drv_device_of(dev))
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	*pool = (CUmemoryPool)default_pool(dev);
	return drv_leave(*pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	return cuDeviceGetDefaultMemPool(pool, dev);
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	DRV_ENTER_INIT();
	if (!drv_device_of(dev))
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	const struct drv_pool *p = drv_get(pool, OBJ_POOL);
	return drv_leave(p && p->dev == dev ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	DRV_ENTER_INIT();
	if (!pool || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
		return drv_leave(CUDA_ERROR_NOT_SUPPORTED);
	if (!drv_device_of(props->location.id))
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	struct drv_pool *p = pool_new(props->location.id);
	if (!p)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*pool = (CUmemoryPool)p;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	DRV_ENTER_INIT();
	struct drv_pool *p = drv_get(pool, OBJ_POOL);

	if (!p || is_default(p))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	drv_obj_remove(&p->obj);
	free(p);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	DRV_ENTER_INIT();
	return drv_leave(drv_get(pool, OBJ_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

static bool attr_wide(CUmemPool_attribute attr)
{
	return attr >= CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	DRV_ENTER_INIT();
	struct drv_pool *p = drv_get(pool, OBJ_POOL);

	if (!p || !value || attr < 1 || (unsigned)attr >= ARRAY_LEN(p->attr))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	p->attr[attr] = attr_wide(attr) ? *(uint64_t *)value : (uint64_t) * (int *)value;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	DRV_ENTER_INIT();
	struct drv_pool *p = drv_get(pool, OBJ_POOL);

	if (!p || !value || attr < 1 || (unsigned)attr >= ARRAY_LEN(p->attr))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (attr_wide(attr))
		*(uint64_t *)value = p->attr[attr];
	else
		*(int *)value = (int)p->attr[attr];
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t n)
{
	DRV_ENTER_INIT();
	return drv_leave(drv_get(pool, OBJ_POOL) && map ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *where)
{
	DRV_ENTER_INIT();
	if (!flags || !where || !drv_get(pool, OBJ_POOL))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	DRV_ENTER(c);
	struct drv_stream *s = drv_stream_any(c, stream);
	const struct drv_pool *p = drv_get(pool, OBJ_POOL);

	if (!s || (pool && !p))
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (s->capture)
		return drv_leave(capture_invalidate(s, CUDA_ERROR_NOT_SUPPORTED));
	CUdevice dev = p ? p->dev : s->obj.ctx->dev;
	drv_leave(CUDA_SUCCESS);
	return ptr ? drv_alloc_pooled(dev, bytes, ptr) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	return cuMemAllocFromPoolAsync(ptr, bytes, NULL, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
	DRV_ENTER(c);
	struct drv_stream *s = drv_stream_any(c, stream);
	struct drv_alloc *a = drv_get((void *)(uintptr_t)ptr, OBJ_ALLOC);

	if (!s)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!ptr)
		return drv_leave(CUDA_SUCCESS);
	if (!a || a->freed || a->kind != ALLOC_DEVICE)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (s->capture)
		return drv_leave(capture_invalidate(s, CUDA_ERROR_NOT_SUPPORTED));
	struct drv_op *op = drv_op_new(OP_FREE, s);
	if (!op)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	op->alloc = a;
	a->freed = true;
	a->freed_in = s;
	return drv_leave(drv_submit(s, op));
}

/* ---- pointer attributes ---- */

static CUresult device_attribute(void *data, CUpointer_attribute attr, const struct drv_alloc *a)
{
	bool host = a->kind == ALLOC_HOST || a->kind == ALLOC_REGISTERED;

	switch ((int)attr) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = (CUcontext)a->obj.ctx;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned *)data = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(unsigned *)data = a->sync_memops;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*(unsigned long long *)data = a->id;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(unsigned *)data = a->kind == ALLOC_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = a->dev;
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		*(unsigned *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*(uint64_t *)data = a->addr;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*(size_t *)data = a->bytes;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(unsigned *)data = 1;
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(uint64_t *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(unsigned *)data = 3;
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data =
			a->pooled ? (CUmemoryPool)drv.device[a->dev].default_pool : NULL;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult pointer_attribute(void *data, CUpointer_attribute attr, uint64_t ptr)
{
	struct drv_alloc *a = drv_alloc_of(ptr);
	uint64_t base, bytes;
	bool host;

	if (attr == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ||
		attr == CU_POINTER_ATTRIBUTE_HOST_POINTER) {
		bool can = a &&
			   (attr == CU_POINTER_ATTRIBUTE_DEVICE_POINTER || a->kind != ALLOC_DEVICE);
		*(uint64_t *)data = can ? ptr : 0;
		return can ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	}
	if (a)
		return device_attribute(data, attr, a);
	/* The address may be in a variable of a module. */
	if (!vgpu_mem_find(drv.mem, ptr, &base, &bytes, &host))
		return CUDA_ERROR_INVALID_VALUE;
	struct drv_alloc global = {.kind = ALLOC_DEVICE, .addr = base, .bytes = bytes};
	global.obj.ctx = drv.device[0].primary;
	return device_attribute(data, attr, &global);
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attr, CUdeviceptr ptr)
{
	DRV_ENTER(c);
	return drv_leave(data ? pointer_attribute(data, attr, ptr) : CUDA_ERROR_INVALID_VALUE);
}

/* Unlike for cuPointerGetAttribute, an unknown pointer is not an error: the device ordinal is then
 * CU_DEVICE_INVALID, and all other attributes are zero. */
CUresult cuPointerGetAttributes(
	unsigned int n, CUpointer_attribute *attrs, void **data, CUdeviceptr ptr)
{
	DRV_ENTER(c);
	if (n && (!attrs || !data))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	for (unsigned i = 0; i < n; i++) {
		uint64_t value[2] = {0};
		size_t bytes = 8;
		switch ((int)attrs[i]) {
		case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		case CU_POINTER_ATTRIBUTE_MAPPED:
		case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
			bytes = 4;
			break;
		case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
			return drv_leave(CUDA_ERROR_INVALID_VALUE);
		}
		if (!data[i])
			return drv_leave(CUDA_ERROR_INVALID_VALUE);
		if (attrs[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL && !drv_alloc_of(ptr))
			value[0] = (uint64_t)CU_DEVICE_INVALID;
		pointer_attribute(value, attrs[i], ptr);
		memcpy(data[i], value, bytes);
	}
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attr, CUdeviceptr ptr)
{
	DRV_ENTER(c);
	struct drv_alloc *a = drv_alloc_of(ptr);

	if (!value || !a || attr != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	a->sync_memops = *(const unsigned *)value != 0;
	return drv_leave(CUDA_SUCCESS);
}
