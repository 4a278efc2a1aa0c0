/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Memory. An allocation of zero bytes returns NULL (managed memory: an error), and freeing NULL
 * succeeds. The driver rejects both. */
#include <string.h>

#include "cudart/cudart.h"

rt_error rt_malloc(CUdeviceptr *ret, size_t bytes)
{
	if (!ret)
		return cudaErrorInvalidValue;
	*ret = 0;
	return bytes ? RT_CALL(&rt_cu, cuMemAlloc, ret, bytes) : cudaSuccess;
}

/* Frees memory. Programs free NULL in order to make a context, or to test whether the current
 * context still works, so this calls the driver for NULL as well. */
rt_error rt_free(CUdeviceptr ptr)
{
	size_t free_bytes, all;

	return ptr ? RT_CALL(&rt_cu, cuMemFree, ptr)
		   : RT_CALL(&rt_cu, cuMemGetInfo, &free_bytes, &all);
}

rt_error rt_malloc_pitch(CUdeviceptr *ret, size_t *ret_pitch, size_t width, size_t height)
{
	if (!ret || !ret_pitch)
		return cudaErrorInvalidValue;
	*ret = 0;
	*ret_pitch = 0;
	if (!width || !height)
		return cudaSuccess;
	return RT_CALL(&rt_cu, cuMemAllocPitch, ret, ret_pitch, width, height, 4);
}

rt_error rt_malloc_3d(struct rt_pitched *ret, struct rt_extent extent)
{
	CUdeviceptr at;
	size_t pitch, rows;
	rt_error r;

	if (!ret || __builtin_mul_overflow(extent.height, extent.depth, &rows))
		return cudaErrorInvalidValue;
	r = rt_malloc_pitch(&at, &pitch, extent.width, rows);
	if (!r)
		*ret = (struct rt_pitched){
			(void *)(uintptr_t)at, pitch, extent.width, extent.height};
	return r;
}

rt_error rt_malloc_managed(CUdeviceptr *ret, size_t bytes, unsigned flags)
{
	return ret && bytes ? RT_CALL(&rt_cu, cuMemAllocManaged, ret, bytes, flags)
			    : cudaErrorInvalidValue;
}

rt_error rt_host_alloc(void **ret, size_t bytes, unsigned flags)
{
	if (!ret)
		return cudaErrorInvalidValue;
	*ret = NULL;
	return bytes ? RT_CALL(&rt_cu, cuMemHostAlloc, ret, bytes, flags) : cudaSuccess;
}

rt_error rt_malloc_host(void **ret, size_t bytes)
{
	return rt_host_alloc(ret, bytes, 0);
}

rt_error rt_free_host(void *ptr)
{
	return ptr ? RT_CALL(&rt_cu, cuMemFreeHost, ptr) : cudaSuccess;
}

rt_error rt_malloc_async(const struct cu_api *cu, CUdeviceptr *ret, size_t bytes, CUstream stream)
{
	if (!ret)
		return cudaErrorInvalidValue;
	*ret = 0;
	return bytes ? RT_CALL(cu, cuMemAllocAsync, ret, bytes, stream) : cudaSuccess;
}

rt_error rt_free_async(const struct cu_api *cu, CUdeviceptr ptr, CUstream stream)
{
	return ptr ? RT_CALL(cu, cuMemFreeAsync, ptr, stream) : cudaSuccess;
}

/* ---- pointer attributes ---- */

/* Fills in ret. The type is 0 if the driver does not know the address. */
static rt_error pointer_attributes(struct rt_pointer_attributes *ret, CUdeviceptr ptr)
{
	enum { HOST = 1, DEVICE = 2, MANAGED = 3 };
	unsigned type = 0, managed = 0;
	int device = CU_DEVICE_INVALID;
	CUdeviceptr on_device = 0, on_host = 0;
	CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER};
	void *where[] = {&type, &managed, &device, &on_device, &on_host};
	rt_error r = RT_CALL(&rt_cu, cuPointerGetAttributes, ARRAY_LEN(which), which, where, ptr);

	if (r)
		return r;
	ret->type = managed                        ? MANAGED
		    : type == CU_MEMORYTYPE_DEVICE ? DEVICE
		    : type == CU_MEMORYTYPE_HOST   ? HOST
						   : 0;
	ret->device = ret->type ? device : CU_DEVICE_INVALID;
	ret->device_ptr = (void *)(uintptr_t)on_device;
	ret->host_ptr = (void *)(uintptr_t)(ret->type ? on_host : ptr);
	return cudaSuccess;
}

rt_error rt_pointer_attributes12(struct rt_pointer_attributes *ret, CUdeviceptr ptr)
{
	struct rt_pointer_attributes a = {0};
	rt_error r = ret ? pointer_attributes(&a, ptr) : cudaErrorInvalidValue;

	if (!r)
		memcpy(ret, &a, offsetof(struct rt_pointer_attributes, reserved));
	return r;
}

rt_error rt_pointer_attributes13(struct rt_pointer_attributes *ret, CUdeviceptr ptr)
{
	struct rt_pointer_attributes a = {0};
	rt_error r = ret ? pointer_attributes(&a, ptr) : cudaErrorInvalidValue;

	if (!r)
		*ret = a;
	return r;
}

rt_error rt_range_attributes(void **data, size_t *bytes, CUmem_range_attribute *attrs, size_t n,
	CUdeviceptr ptr, size_t count)
{
	rt_error r = data && bytes && attrs && n ? cudaSuccess : cudaErrorInvalidValue;

	for (size_t i = 0; i < n && !r; i++)
		r = RT_CALL(
			&rt_cu, cuMemRangeGetAttribute, data[i], bytes[i], attrs[i], ptr, count);
	return r;
}
