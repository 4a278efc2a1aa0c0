/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels as objects: attributes, parameters, occupancy (computed as for placing blocks on SMs),
 * and the launch functions from before CUDA 4. */
#include "drv_func.h"

#include "drv_accept.h"

#include <stdlib.h>
#include <string.h>

#define MAX_OPTIN_SHARED (227 * 1024)

static CUresult get_attribute(const struct drv_func *f, CUfunction_attribute attr, int *value)
{
	switch ((int)attr) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		/* The registers of an SM are not considered here. The virtual GPU only estimates a
		 * kernel's registers, so for lack of registers it refuses no launch, unless
		 * HEDDLE_VGPU gives the SM very few (sm_demand_limit). */
		*value = (int)f->info.max_threads;
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*value = (int)f->info.static_shared_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*value = (int)f->info.const_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*value = (int)f->info.local_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*value = (int)f->info.regs_per_thread;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION: /* virtual architecture: the kernel's .target */
		*value = (int)f->info.target;
		break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*value = DRV_DEVICE_CC;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*value = f->max_dynamic_shared;
		break;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*value = f->carveout;
		break;
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
		*value = 0; /* only a JIT option sets this, and it has no effect here */
		break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
		*value = f->info.needs_cluster;
		break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		*value = f->cluster[attr - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
		break;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		*value = f->large_clusters;
		break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		*value = f->cluster_policy;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult set_attribute(struct drv_func *f, CUfunction_attribute attr, int value)
{
	switch ((int)attr) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || value > MAX_OPTIN_SHARED - (int)f->info.static_shared_bytes)
			return CUDA_ERROR_INVALID_VALUE;
		f->max_dynamic_shared = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		f->carveout = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		if (f->info.cluster[0])
			return CUDA_ERROR_NOT_PERMITTED;
		if (value < 0)
			return CUDA_ERROR_INVALID_VALUE;
		f->cluster[attr - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		if (value != 0 && value != 1)
			return CUDA_ERROR_INVALID_VALUE;
		f->large_clusters = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT ||
			value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
			return CUDA_ERROR_INVALID_VALUE;
		f->cluster_policy = value;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attr, CUfunction fn)
{
	DRV_ENTER(c);
	struct drv_func *f = drv_func_of(fn);

	if (!value || !f)
		return drv_leave(f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	return drv_leave(get_attribute(f, attr, value));
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attr, CUkernel kernel, CUdevice dev)
{
	DRV_ENTER_INIT();
	struct drv_func *f = drv_func_on(dev, kernel);

	if (!drv_device_of(dev))
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	if (!value || !f)
		return drv_leave(f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	return drv_leave(get_attribute(f, attr, value));
}

CUresult cuFuncSetAttribute(CUfunction fn, CUfunction_attribute attr, int value)
{
	DRV_ENTER(c);
	struct drv_func *f = drv_func_of(fn);
	return drv_leave(f ? set_attribute(f, attr, value) : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attr, int value, CUkernel kernel, CUdevice dev)
{
	DRV_ENTER_INIT();
	struct drv_func *f = drv_func_on(dev, kernel);

	if (!drv_device_of(dev))
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	return drv_leave(f ? set_attribute(f, attr, value) : CUDA_ERROR_INVALID_HANDLE);
}

static CUresult set_cache(struct drv_func *f, CUfunc_cache config)
{
	if (!f || (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		return drv_leave(f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	f->cache = config;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuFuncSetCacheConfig(CUfunction fn, CUfunc_cache config)
{
	DRV_ENTER_INIT();
	return set_cache(drv_func_of(fn), config);
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	DRV_ENTER_INIT();
	if (!drv_device_of(dev))
		return drv_leave(CUDA_ERROR_INVALID_DEVICE);
	return set_cache(drv_func_on(dev, kernel), config);
}

CUresult cuFuncSetSharedMemConfig(CUfunction fn, CUsharedconfig config)
{
	DRV_ENTER(c);
	return drv_leave(drv_func_of(fn) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuFuncGetModule(CUmodule *mod, CUfunction fn)
{
	DRV_ENTER(c);
	struct drv_func *f = drv_func_of(fn);

	if (!mod || !f)
		return drv_leave(f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	*mod = (CUmodule)f->module;
	return drv_leave(CUDA_SUCCESS);
}

static CUresult name_of(const char **name, const void *fn)
{
	DRV_ENTER_INIT();
	struct drv_func *f = drv_func_of(fn);

	if (!name || !f)
		return drv_leave(f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	*name = f->info.name;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuFuncGetName(const char **name, CUfunction fn)
{
	return name_of(name, fn);
}

CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
	return name_of(name, kernel);
}

static CUresult param_info(const void *fn, size_t index, size_t *offset, size_t *size)
{
	DRV_ENTER_INIT();
	struct drv_func *f = drv_func_of(fn);

	if (!f)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!offset || index >= f->info.n_params)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	*offset = f->info.param_offset[index];
	if (size)
		*size = f->info.param_size[index];
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuFuncGetParamInfo(CUfunction fn, size_t index, size_t *offset, size_t *size)
{
	return param_info(fn, index, offset, size);
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
	return param_info(kernel, index, offset, size);
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction fn)
{
	DRV_ENTER(c);
	if (!state || !drv_func_of(fn))
		return drv_leave(state ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuFuncLoad(CUfunction fn)
{
	DRV_ENTER(c);
	struct drv_func *f = drv_func_on(c->dev, fn);

	return drv_leave(f ? drv_place(c, f->module->library) : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuKernelGetFunction(CUfunction *fn, CUkernel kernel)
{
	DRV_ENTER(c);
	struct obj *k = drv_get(kernel, OBJ_KERNEL);

	if (!fn || !k)
		return drv_leave(k ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	struct drv_func *f = drv_func_on(c->dev, kernel);
	if (!f)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	*fn = (CUfunction)&f->obj;
	return drv_leave(drv_place(c, f->module->library));
}

CUresult cuKernelGetLibrary(CUlibrary *lib, CUkernel kernel)
{
	DRV_ENTER_INIT();
	struct drv_func *f = drv_func_of(kernel);

	if (!lib || !f || !f->module->library)
		return drv_leave(lib ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
	*lib = (CUlibrary)f->module->library;
	return drv_leave(CUDA_SUCCESS);
}

/* ---- occupancy ---- */

static struct sm_demand estimated_demand(const struct drv_func *f, uint32_t threads, size_t shared)
{
	return sm_demand_of(
		threads, f->info.regs_per_thread, f->info.static_shared_bytes + (uint32_t)shared);
}

struct sm_demand drv_demand_of(const struct drv_func *f, uint32_t threads, uint32_t shared)
{
	struct sm_demand d = estimated_demand(f, threads, shared);

	sm_demand_limit(&drv.config, &d);
	return d;
}

/* Returns true if the block size and the dynamic shared memory are within the function's limits. As
 * in NVIDIA's driver (580.159, H100), occupancy is 0 if the dynamic shared memory exceeds the
 * function's current limit. */
static bool launch_fits(const struct drv_func *f, uint32_t threads, size_t shared)
{
	return threads && threads <= f->info.max_threads && shared <= (size_t)f->max_dynamic_shared;
}

uint32_t drv_blocks_per_sm(const struct drv_func *f, uint32_t threads, size_t shared)
{
	if (!launch_fits(f, threads, shared))
		return 0;
	struct sm_demand d = drv_demand_of(f, threads, (uint32_t)shared);
	return sm_blocks_per_sm(&drv.config, &d);
}

/* Returns how many blocks fit on an SM according to the estimated number of registers. Unlike
 * drv_demand_of, this does not reduce the number to what an SM has, because a suggested block size
 * must not assume that the kernel uses fewer registers. */
static uint32_t likely_blocks_per_sm(const struct drv_func *f, uint32_t threads, size_t shared)
{
	if (!launch_fits(f, threads, shared))
		return 0;
	struct sm_demand d = estimated_demand(f, threads, shared);
	return sm_blocks_per_sm(&drv.config, &d);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *blocks, CUfunction fn, int threads, size_t shared, unsigned int flags)
{
	DRV_ENTER(c);
	struct drv_func *f = drv_func_of(fn);

	if (!f)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!blocks || threads <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	*blocks = (int)drv_blocks_per_sm(f, (uint32_t)threads, shared);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(
	int *blocks, CUfunction fn, int threads, size_t shared)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, fn, threads, shared, 0);
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *threads, CUfunction fn,
	CUoccupancyB2DSize shared_of, size_t shared, int limit, unsigned int flags)
{
	DRV_ENTER(c);
	struct drv_func *f = drv_func_of(fn);

	if (!f)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!min_grid || !threads || limit < 0)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	uint32_t max = f->info.max_threads, best = 0, best_threads = 0, best_blocks = 0;
	if (limit && (uint32_t)limit < max)
		max = (uint32_t)limit;
	/* Chooses the largest of the sizes that keep the most threads resident. */
	for (uint32_t n = (uint32_t)round_up(max, 32); n > 0; n -= 32) {
		uint32_t t = MIN(n, max);
		uint32_t b = likely_blocks_per_sm(f, t, shared_of ? shared_of((int)t) : shared);
		if (b * t > best) {
			best = b * t;
			best_threads = t;
			best_blocks = b;
		}
	}
	*threads = (int)best_threads;
	*min_grid = (int)(best_blocks * drv.config.n_sms);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *min_grid, int *threads, CUfunction fn,
	CUoccupancyB2DSize shared_of, size_t shared, int limit)
{
	return cuOccupancyMaxPotentialBlockSizeWithFlags(
		min_grid, threads, fn, shared_of, shared, limit, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(
	size_t *bytes, CUfunction fn, int blocks, int threads)
{
	DRV_ENTER(c);
	struct drv_func *f = drv_func_of(fn);

	if (!f)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!bytes || blocks <= 0 || threads <= 0)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	uint32_t share = drv.config.shared_bytes / (uint32_t)blocks / 128 * 128;
	uint32_t taken = VGPU_SHARED_RESERVED + f->info.static_shared_bytes;
	if (share < taken || drv_blocks_per_sm(f, (uint32_t)threads, 0) < (uint32_t)blocks)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	*bytes = MIN(share - taken, MAX_OPTIN_SHARED - f->info.static_shared_bytes);
	return drv_leave(CUDA_SUCCESS);
}

/* ---- launch calls from before CUDA 4: the parameters are state of the function ---- */

CUresult cuFuncSetBlockShape(CUfunction fn, int x, int y, int z)
{
	DRV_ENTER(c);
	struct drv_func *f = drv_func_of(fn);

	if (!f || x <= 0 || y <= 0 || z <= 0)
		return drv_leave(f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	f->old_block[0] = (uint32_t)x;
	f->old_block[1] = (uint32_t)y;
	f->old_block[2] = (uint32_t)z;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuFuncSetSharedSize(CUfunction fn, unsigned int bytes)
{
	DRV_ENTER(c);
	struct drv_func *f = drv_func_of(fn);

	if (f)
		f->old_shared = bytes;
	return drv_leave(f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuParamSetSize(CUfunction fn, unsigned int bytes)
{
	DRV_ENTER(c);
	struct drv_func *f = drv_func_of(fn);

	if (!f || bytes > 32764)
		return drv_leave(f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	f->old_bytes = bytes;
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuParamSetv(CUfunction fn, int offset, void *value, unsigned int bytes)
{
	DRV_ENTER(c);
	struct drv_func *f = drv_func_of(fn);

	if (!f)
		return drv_leave(CUDA_ERROR_INVALID_HANDLE);
	if (!value || offset < 0 || bytes > 32764 || (unsigned)offset > 32764 - bytes)
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	if (!f->old_params)
		f->old_params = calloc(1, 32768);
	if (!f->old_params)
		return drv_leave(CUDA_ERROR_OUT_OF_MEMORY);
	memcpy(f->old_params + offset, value, bytes);
	return drv_leave(CUDA_SUCCESS);
}

CUresult cuParamSeti(CUfunction fn, int offset, unsigned int value)
{
	return cuParamSetv(fn, offset, &value, sizeof(value));
}

CUresult cuParamSetf(CUfunction fn, int offset, float value)
{
	return cuParamSetv(fn, offset, &value, sizeof(value));
}

CUresult cuLaunchGridAsync(CUfunction fn, int w, int h, CUstream stream)
{
	static uint8_t none[16];
	DRV_ENTER(c);
	struct drv_func *f = drv_func_of(fn);

	if (!f || w <= 0 || h <= 0)
		return drv_leave(f ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
	size_t bytes = f->old_bytes;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, f->old_params ? f->old_params : none,
		CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
	uint32_t b[3] = {f->old_block[0], f->old_block[1], f->old_block[2]};
	uint32_t shared = f->old_shared;
	if (!f->old_params && bytes > sizeof(none))
		return drv_leave(CUDA_ERROR_INVALID_VALUE);
	drv_leave(CUDA_SUCCESS);
	return cuLaunchKernel(
		fn, (unsigned)w, (unsigned)h, 1, b[0], b[1], b[2], shared, stream, NULL, extra);
}

CUresult cuLaunchGrid(CUfunction fn, int w, int h)
{
	return cuLaunchGridAsync(fn, w, h, NULL);
}

CUresult cuLaunch(CUfunction fn)
{
	return cuLaunchGridAsync(fn, 1, 1, NULL);
}
