/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Device and host memory. Device addresses are host addresses, so managed and pinned memory need no
 * mapping. As with a GPU's driver, freeing memory waits for the context's work (except
 * cuMemFreeAsync in drv_pool.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drv_func.h"
#include "drv_graph.h"

#define PITCH_ALIGN 512

static CUresult result_of(int e)
{
	switch (e) {
	case 0:
		return CUDA_SUCCESS;
	case -ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case -EEXIST:
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* ---- looking up allocations ---- */

struct drv_alloc *drv_alloc_of(uint64_t addr)
{
	uint64_t base, bytes;
	bool host;

	if (!vgpu_mem_find(drv.mem, addr, &base, &bytes, &host))
		return NULL;
	return drv_get((void *)(uintptr_t)base, OBJ_ALLOC);
}

bool drv_in_range(uint64_t addr, uint64_t bytes)
{
	uint64_t base, len;
	bool host;

	return vgpu_mem_find(drv.mem, addr, &base, &len, &host) && addr - base <= len &&
	       bytes <= len - (addr - base);
}

/* Returns true if work that is queued now in stream s can use this memory. It cannot if a free of
 * this memory is already queued in s. If the free is queued in another stream, the work can still
 * execute before the free, so the driver checks again when the work starts. */
bool drv_usable(const struct drv_stream *s, uint64_t addr, uint64_t bytes)
{
	const struct drv_alloc *a = drv_alloc_of(addr);

	return drv_in_range(addr, bytes) && !(a && a->freed && a->freed_in == s);
}

static CUresult add_alloc(struct drv_ctx *c, CUdevice dev, enum alloc_kind kind, uint64_t addr,
	uint64_t bytes, unsigned flags)
{
	struct drv_alloc *a = calloc(1, sizeof(*a));

	if (!a)
		return CUDA_ERROR_OUT_OF_MEMORY;
	a->kind = kind;
	a->dev = dev;
	a->addr = addr;
	a->bytes = bytes;
	a->flags = flags;
	a->id = ++drv.next_id;
	drv_obj_add(&a->obj, OBJ_ALLOC, c);
	/* An allocation is looked up by its memory address, not by its object's address. */
	drv_obj_remove_at(a, &a->obj);
	drv_obj_add_at((void *)(uintptr_t)addr, &a->obj);
	return CUDA_SUCCESS;
}

void drv_alloc_destroy(struct drv_alloc *a)
{
	drv_obj_remove_at((void *)(uintptr_t)a->addr, &a->obj);
	drv_obj_remove(&a->obj);
	switch (a->kind) {
	case ALLOC_DEVICE:
	case ALLOC_MANAGED:
		vgpu_mem_free(drv.mem, a->addr);
		sm_memory_give(drv.device[a->dev].sm, a->bytes);
		break;
	case ALLOC_HOST:
	case ALLOC_REGISTERED:
		vgpu_mem_remove_host(drv.mem, (void *)(uintptr_t)a->addr);
		break;
	}
	free(a);
}

static CUresult alloc_device(struct drv_ctx *c, CUdevice dev, enum alloc_kind kind, size_t bytes,
	unsigned flags, uint64_t *ret)
{
	struct sm *sm = drv.device[dev].sm;
	uint64_t addr;

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (sm_memory_take(sm, bytes) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult r = result_of(vgpu_mem_alloc(drv.mem, bytes, &addr));
	if (r == CUDA_SUCCESS) {
		r = add_alloc(c, dev, kind, addr, bytes, flags);
		if (r != CUDA_SUCCESS)
			vgpu_mem_free(drv.mem, addr);
	}
	if (r != CUDA_SUCCESS)
		sm_memory_give(sm, bytes);
	else
		*ret = addr;
	if (r == CUDA_SUCCESS && kind == ALLOC_DEVICE)
		vgpu_mem_belongs(drv.mem, addr, (unsigned)dev);
	return r;
}

/* ---- device memory ---- */

CUresult cuMemGetInfo(size_t *free_bytes, size_t *total)
{
	DRV_ENTER(c);
	uint64_t used = sm_memory_used(drv.device[c->dev].sm);

	if (free_bytes)
		*free_bytes = drv.config.memory_bytes - MIN(used, drv.config.memory_bytes);
	if (total)
		*total = drv.config.memory_bytes;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuMemAlloc(CUdeviceptr *ptr, size_t bytes)
{
	uint64_t addr;
	DRV_ENTER_ADDING(c);
	CUresult r = ptr ? capture_unsafe(c) : CUDA_ERROR_INVALID_VALUE;

	if (r == CUDA_SUCCESS)
		r = alloc_device(c, c->dev, ALLOC_DEVICE, bytes, 0, &addr);
	if (r == CUDA_SUCCESS)
		*ptr = addr;
	return drv_leave(r);
}

CUresult drv_alloc_pooled(CUdevice dev, size_t bytes, CUdeviceptr *ret)
{
	uint64_t addr;
	DRV_ENTER_ADDING(c);
	CUresult r = capture_unsafe(c);

	if (r == CUDA_SUCCESS)
		r = alloc_device(c, dev, ALLOC_DEVICE, bytes, 0, &addr);
	if (r == CUDA_SUCCESS) {
		drv_alloc_of(addr)->pooled = true;
		*ret = addr;
	}
	return drv_leave(r);
}

CUresult cuMemAllocPitch(
	CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height, unsigned int element)
{
	uint64_t addr, bytes;
	DRV_ENTER(c);

	if (!ptr || !pitch || !width || !height ||
		(element != 4 && element != 8 && element != 16) || width > SIZE_MAX - PITCH_ALIGN)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	size_t row = round_up(width, PITCH_ALIGN);
	if (__builtin_mul_overflow((uint64_t)row, (uint64_t)height, &bytes))
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	CUresult r = capture_unsafe(c);
	if (r == CUDA_SUCCESS)
		r = alloc_device(c, c->dev, ALLOC_DEVICE, bytes, 0, &addr);
	if (r == CUDA_SUCCESS) {
		*ptr = addr;
		*pitch = row;
	}
	return drv_leave(r);
}

CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned int flags)
{
	uint64_t addr;
	DRV_ENTER_ADDING(c);
	CUresult r = capture_unsafe(c);

	if (!ptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		r = alloc_device(c, c->dev, ALLOC_MANAGED, bytes, flags, &addr);
	if (r == CUDA_SUCCESS)
		*ptr = addr;
	return drv_leave(r);
}

/* Returns the allocation that begins at addr if this kind of call may free it, else NULL. */
static struct drv_alloc *find_freeable(uint64_t addr, bool host)
{
	struct drv_alloc *a = drv_get((void *)(uintptr_t)addr, OBJ_ALLOC);
	bool is_host = a && (a->kind == ALLOC_HOST || a->kind == ALLOC_REGISTERED);

	return a && !a->freed && is_host == host ? a : NULL;
}

static CUresult free_after_work(uint64_t addr, bool host, bool registered)
{
	DRV_ENTER(c);
	struct drv_alloc *a = find_freeable(addr, host);

	if (!a || (host && (a->kind == ALLOC_REGISTERED) != registered))
		return drv_leave(registered ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
					    : CUDA_ERROR_INVALID_VALUE);
	CUresult r = capture_unsafe(c);
	if (r == CUDA_SUCCESS)
		r = drv_wait_alone(c);
	/* Another thread may have freed the memory during the wait. */
	a = find_freeable(addr, host);
	if (r == CUDA_SUCCESS && a)
		drv_alloc_destroy(a);
	return drv_leave(r);
}

CUresult cuMemFree(CUdeviceptr ptr)
{
	if (!ptr) {
		DRV_ENTER(c);
		return drv_leave(CUDA_SUCCESS);
	}
	return free_after_work(ptr, false, false);
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr)
{
	DRV_ENTER(c);
	struct drv_alloc *a = drv_alloc_of(ptr);
	uint64_t at, len;
	bool host;

	if (a && a->kind == ALLOC_REGISTERED)
		return drv_leave(CUDA_ERROR_NOT_FOUND);
	if (!vgpu_mem_find(drv.mem, ptr, &at, &len, &host))
		return drv_leave(CUDA_ERROR_NOT_FOUND);
	if (base)
		*base = at;
	if (bytes)
		*bytes = len;
	return drv_leave(CUDA_SUCCESS);
}

/* ---- host memory ---- */

CUresult cuMemHostAlloc(void **p, size_t bytes, unsigned int flags)
{
	DRV_ENTER(c);
	if (!p || !bytes || (flags & ~7u))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	CUresult r = capture_unsafe(c);
	if (r != CUDA_SUCCESS)
		return drv_leave(r);
	uint64_t at;
	r = result_of(vgpu_mem_alloc_host(drv.mem, bytes, &at));
	if (r == CUDA_SUCCESS) {
		r = add_alloc(c, c->dev, ALLOC_HOST, at, bytes, flags);
		if (r != CUDA_SUCCESS)
			vgpu_mem_remove_host(drv.mem, (void *)(uintptr_t)at);
	}
	if (r == CUDA_SUCCESS)
		*p = (void *)(uintptr_t)at;
	return drv_leave(r);
}

CUresult cuMemAllocHost(void **p, size_t bytes)
{
	return cuMemHostAlloc(p, bytes, 0);
}

CUresult cuMemFreeHost(void *p)
{
	return free_after_work((uint64_t)(uintptr_t)p, true, false);
}

CUresult cuMemHostRegister(void *p, size_t bytes, unsigned int flags)
{
	DRV_ENTER(c);
	if (!p || !bytes || (flags & ~15u))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
		return drv_leave(CUDA_ERROR_NOT_SUPPORTED);
	CUresult r = capture_unsafe(c);
	if (r == CUDA_SUCCESS)
		r = result_of(vgpu_mem_add_host(drv.mem, p, bytes));
	if (r == CUDA_SUCCESS) {
		r = add_alloc(c, c->dev, ALLOC_REGISTERED, (uint64_t)(uintptr_t)p, bytes, flags);
		if (r != CUDA_SUCCESS)
			vgpu_mem_remove_host(drv.mem, p);
	}
	return drv_leave(r);
}

CUresult cuMemHostUnregister(void *p)
{
	return free_after_work((uint64_t)(uintptr_t)p, true, true);
}

static struct drv_alloc *host_alloc_of(const void *p)
{
	struct drv_alloc *a = drv_alloc_of((uint64_t)(uintptr_t)p);

	return a && (a->kind == ALLOC_HOST || a->kind == ALLOC_REGISTERED) ? a : NULL;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *ptr, void *p, unsigned int flags)
{
	DRV_ENTER(c);
	if (!ptr || flags || !host_alloc_of(p))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	*ptr = (CUdeviceptr)(uintptr_t)p;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *p)
{
	DRV_ENTER(c);
	struct drv_alloc *a = host_alloc_of(p);

	if (!flags || !a)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	*flags = a->flags | CU_MEMHOSTALLOC_DEVICEMAP;
	return drv_leave(CUDA_SUCCESS);
}

/* ---- hints about managed memory, which are ignored because it never moves here ---- */

static CUresult check_hint(CUdeviceptr ptr, size_t count)
{
	DRV_ENTER(c);
	return drv_leave(
		count && drv_in_range(ptr, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemAdvise(CUdeviceptr ptr, size_t count, CUmem_advise advice, CUmemLocation where)
{
	return check_hint(ptr, count);
}

CUresult cuMemAdvise_v1(CUdeviceptr ptr, size_t count, CUmem_advise advice, CUdevice dev)
{
	return check_hint(ptr, count);
}

static CUresult check_prefetch(CUdeviceptr ptr, size_t count, CUstream stream)
{
	DRV_ENTER(c);
	struct drv_stream *s = drv_stream_of(c, stream);

	if (!s)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	return drv_leave(
		count && drv_in_range(ptr, count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemPrefetchAsync(
	CUdeviceptr ptr, size_t count, CUmemLocation where, unsigned int flags, CUstream stream)
{
	return check_prefetch(ptr, count, stream);
}

CUresult cuMemPrefetchAsync_v1(CUdeviceptr ptr, size_t count, CUdevice dev, CUstream stream)
{
	return check_prefetch(ptr, count, stream);
}

CUresult cuMemRangeGetAttribute(
	void *data, size_t bytes, CUmem_range_attribute attr, CUdeviceptr ptr, size_t count)
{
	DRV_ENTER(c);
	if (!data || bytes < 4 || !count || !drv_in_range(ptr, count))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	memset(data, 0, bytes);
	if (attr == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION ||
		attr == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION)
		*(int *)data = CU_DEVICE_INVALID;
	return drv_leave(CUDA_SUCCESS);
}

/* ---- other processes' memory, which cannot be accessed here ---- */

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr ptr)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}
