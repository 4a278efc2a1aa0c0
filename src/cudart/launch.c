/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Launches, and properties of kernels. A <<< >>> launch pushes its configuration onto a stack. Then
 * it calls the kernel's host function, which pops the configuration and launches. */
#include "cudart/cudart.h"

#define MAX_PUSHED 32

struct configuration {
	struct rt_dim3 grid, block;
	size_t shared_bytes;
	CUstream stream;
};

/* The stack of pushed configurations. It has several entries if an expression among the arguments
 * of a kernel launch launches another kernel. */
static _Thread_local struct configuration pushed[MAX_PUSHED];
static _Thread_local unsigned n_pushed;

RT_API unsigned __cudaPushCallConfiguration(
	struct rt_dim3 grid, struct rt_dim3 block, size_t shared, void *stream);
RT_API rt_error __cudaPopCallConfiguration(
	struct rt_dim3 *grid, struct rt_dim3 *block, size_t *shared, void *stream);

unsigned __cudaPushCallConfiguration(
	struct rt_dim3 grid, struct rt_dim3 block, size_t shared, void *stream)
{
	if (n_pushed == MAX_PUSHED)
		return (unsigned)rt_end(cudaErrorInvalidConfiguration);
	pushed[n_pushed++] = (struct configuration){grid, block, shared, stream};
	return 0;
}

/* `stream` points to a cudaStream_t, which receives the launch's stream. */
rt_error __cudaPopCallConfiguration(
	struct rt_dim3 *grid, struct rt_dim3 *block, size_t *shared, void *stream)
{
	const struct configuration *c;

	if (!n_pushed)
		return rt_end(cudaErrorMissingConfiguration);
	c = &pushed[--n_pushed];
	*grid = c->grid;
	*block = c->block;
	*shared = c->shared_bytes;
	*(CUstream *)stream = c->stream;
	return cudaSuccess;
}

/* ---- launches ---- */

static int device_attribute(CUdevice_attribute attribute)
{
	CUdevice device;
	int value = 0;

	if (rt_get_device(&device) ||
		RT_CALL(&rt_cu, cuDeviceGetAttribute, &value, attribute, device))
		return 0;
	return value;
}

static bool dim_fits(struct rt_dim3 d, CUdevice_attribute x)
{
	return d.x && d.y && d.z && d.x <= (unsigned)device_attribute(x) &&
	       d.y <= (unsigned)device_attribute(x + 1) && d.z <= (unsigned)device_attribute(x + 2);
}

/* Converts the driver's error of a launch. For a grid or block that exceeds the device's limits,
 * the driver returns "invalid value", but the runtime returns "invalid configuration". */
static rt_error launch_error(rt_error error, struct rt_dim3 grid, struct rt_dim3 block)
{
	if (error != cudaErrorInvalidValue)
		return error;
	if (dim_fits(grid, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) &&
		dim_fits(block, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) &&
		(uint64_t)block.x * block.y * block.z <=
			(unsigned)device_attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK))
		return error;
	return cudaErrorInvalidConfiguration;
}

static rt_error launch_with(const struct cu_api *cu, CUkernel kernel, struct rt_dim3 grid,
	struct rt_dim3 block, void **args, size_t shared, CUstream stream)
{
	return launch_error(
		RT_CALL(cu, cuLaunchKernel, (CUfunction)kernel, grid.x, grid.y, grid.z, block.x,
			block.y, block.z, (unsigned)shared, stream, args, NULL),
		grid, block);
}

/* Launches the kernel that rt_kernel_to_launch found, or fails with the reason that it found none. */
rt_error rt_launch_kernel(const struct cu_api *cu, CUkernel kernel, struct rt_dim3 grid,
	struct rt_dim3 block, void **args, size_t shared, CUstream stream)
{
	CUkernel found;

	if (shared > UINT32_MAX)
		return cudaErrorInvalidValue;
	rt_error r = launch_with(cu, kernel, grid, block, args, shared, stream);
	if (r != cudaErrorInvalidResourceHandle || !kernel)
		return r;
	rt_error why = rt_kernel_of((const void *)kernel, &found);
	if (why)
		return why;
	return found == kernel ? r : launch_with(cu, found, grid, block, args, shared, stream);
}

rt_error rt_launch(const struct cu_api *cu, const void *func, struct rt_dim3 grid,
	struct rt_dim3 block, void **args, size_t shared, CUstream stream)
{
	CUkernel kernel;
	rt_error r = rt_kernel_of(func, &kernel);

	return r ? r : rt_launch_kernel(cu, kernel, grid, block, args, shared, stream);
}

rt_error rt_launch_cooperative(const struct cu_api *cu, const void *func, struct rt_dim3 grid,
	struct rt_dim3 block, void **args, size_t shared, CUstream stream)
{
	CUkernel kernel;
	rt_error r = rt_kernel_of(func, &kernel);

	if (!r && shared > UINT32_MAX)
		r = cudaErrorInvalidValue;
	if (r)
		return r;
	r = RT_CALL(cu, cuLaunchCooperativeKernel, (CUfunction)kernel, grid.x, grid.y, grid.z,
		block.x, block.y, block.z, (unsigned)shared, stream, args);
	return launch_error(r, grid, block);
}

static CUlaunchConfig config_of(const struct rt_launch_config *c)
{
	return (CUlaunchConfig){
		.gridDimX = c->grid.x,
		.gridDimY = c->grid.y,
		.gridDimZ = c->grid.z,
		.blockDimX = c->block.x,
		.blockDimY = c->block.y,
		.blockDimZ = c->block.z,
		.sharedMemBytes = (unsigned)c->shared_bytes,
		.hStream = c->stream,
		.attrs = c->attributes,
		.numAttrs = c->n_attributes,
	};
}

rt_error rt_launch_ex(const struct cu_api *cu, const struct rt_launch_config *config,
	const void *func, void **args)
{
	CUkernel kernel;
	CUlaunchConfig c;
	rt_error r = config ? rt_kernel_of(func, &kernel) : cudaErrorInvalidValue;

	if (!r && config->shared_bytes > UINT32_MAX)
		r = cudaErrorInvalidValue;
	if (r)
		return r;
	c = config_of(config);
	r = RT_CALL(cu, cuLaunchKernelEx, &c, (CUfunction)kernel, args, NULL);
	return launch_error(r, config->grid, config->block);
}

/* ---- kernels ---- */

rt_error rt_get_kernel(CUkernel *ret, const void *func)
{
	return ret ? rt_kernel_of(func, ret) : cudaErrorInvalidValue;
}

/* Code that nvcc generates calls this at a kernel's first launch, ignores the result, and keeps the
 * handle. If there is no kernel, the handle is the host function, for rt_launch_kernel. */
rt_error rt_kernel_to_launch(CUkernel *ret, const void *func)
{
	rt_error r = rt_get_kernel(ret, func);

	if (r && ret)
		*ret = (CUkernel)func;
	return r;
}

rt_error rt_get_function(CUfunction *ret, const void *func)
{
	return ret ? rt_function_of(func, ret) : cudaErrorInvalidValue;
}

rt_error rt_func_attributes(struct rt_func_attributes *ret, const void *func)
{
	int v[CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE + 1];
	CUfunction fn;
	rt_error r = ret ? rt_function_of(func, &fn) : cudaErrorInvalidValue;

	if (r)
		return r;
	for (unsigned i = 0; i < ARRAY_LEN(v); i++)
		if (RT_CALL(&rt_cu, cuFuncGetAttribute, &v[i], (CUfunction_attribute)i, fn))
			v[i] = 0; /* an older driver does not know this attribute */
	*ret = (struct rt_func_attributes){
		.shared_bytes = (size_t)v[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES],
		.const_bytes = (size_t)v[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES],
		.local_bytes = (size_t)v[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES],
		.max_threads = v[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK],
		.registers = v[CU_FUNC_ATTRIBUTE_NUM_REGS],
		.ptx_version = v[CU_FUNC_ATTRIBUTE_PTX_VERSION],
		.binary_version = v[CU_FUNC_ATTRIBUTE_BINARY_VERSION],
		.cache_mode_ca = v[CU_FUNC_ATTRIBUTE_CACHE_MODE_CA],
		.max_dynamic_shared_bytes = v[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES],
		.carveout = v[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT],
		.cluster_must_be_set = v[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET],
		.cluster = {v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH],
			v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT],
			v[CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH]},
		.cluster_scheduling = v[CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE],
		.cluster_may_be_large = v[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED],
	};
	return cudaSuccess;
}

rt_error rt_func_set_attribute(const void *func, CUfunction_attribute attr, int value)
{
	CUfunction fn;
	rt_error r = rt_function_of(func, &fn);

	return r ? r : RT_CALL(&rt_cu, cuFuncSetAttribute, fn, attr, value);
}

rt_error rt_func_set_cache(const void *func, CUfunc_cache config)
{
	CUfunction fn;
	rt_error r = rt_function_of(func, &fn);

	return r ? r : RT_CALL(&rt_cu, cuFuncSetCacheConfig, fn, config);
}

rt_error rt_func_set_shared_config(const void *func, CUsharedconfig config)
{
	CUfunction fn;
	rt_error r = rt_function_of(func, &fn);

	return r ? r : RT_CALL(&rt_cu, cuFuncSetSharedMemConfig, fn, config);
}

rt_error rt_func_name(const char **ret, const void *func)
{
	CUfunction fn;
	rt_error r = ret ? rt_function_of(func, &fn) : cudaErrorInvalidValue;

	return r ? r : RT_CALL(&rt_cu, cuFuncGetName, ret, fn);
}

rt_error rt_func_param(const void *func, size_t index, size_t *ret_offset, size_t *ret_size)
{
	CUfunction fn;
	rt_error r = rt_function_of(func, &fn);

	return r ? r : RT_CALL(&rt_cu, cuFuncGetParamInfo, fn, index, ret_offset, ret_size);
}

/* ---- occupancy ---- */

rt_error rt_occupancy_flags(
	int *blocks, const void *func, int threads, size_t shared, unsigned flags)
{
	CUfunction fn;
	rt_error r = rt_function_of(func, &fn);

	return r ? r
		 : RT_CALL(&rt_cu, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, fn,
			   threads, shared, flags);
}

rt_error rt_occupancy(int *blocks, const void *func, int threads, size_t shared)
{
	return rt_occupancy_flags(blocks, func, threads, shared, CU_OCCUPANCY_DEFAULT);
}

rt_error rt_available_shared(size_t *bytes, const void *func, int blocks, int threads)
{
	CUfunction fn;
	rt_error r = rt_function_of(func, &fn);

	return r ? r
		 : RT_CALL(&rt_cu, cuOccupancyAvailableDynamicSMemPerBlock, bytes, fn, blocks,
			   threads);
}

rt_error rt_max_cluster(int *size, const void *func, const struct rt_launch_config *config)
{
	CUlaunchConfig c;
	CUfunction fn;
	rt_error r = config ? rt_function_of(func, &fn) : cudaErrorInvalidValue;

	if (r)
		return r;
	c = config_of(config);
	return RT_CALL(&rt_cu, cuOccupancyMaxPotentialClusterSize, size, fn, &c);
}

rt_error rt_active_clusters(int *n, const void *func, const struct rt_launch_config *config)
{
	CUlaunchConfig c;
	CUfunction fn;
	rt_error r = config ? rt_function_of(func, &fn) : cudaErrorInvalidValue;

	if (r)
		return r;
	c = config_of(config);
	return RT_CALL(&rt_cu, cuOccupancyMaxActiveClusters, n, fn, &c);
}
