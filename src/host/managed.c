/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs managed launches one at a time, and waits for each. Between launches no worker uses the
 * control block, so plain copies can read it and write its quotas. */
#include "host/managed.h"

#include <string.h>

uint64_t host_total_blocks(const struct host_shape *shape)
{
	return (uint64_t)shape->grid[0] * shape->grid[1] * shape->grid[2];
}

unsigned host_shrink(uint32_t workers)
{
	uint64_t n = 2 * (uint64_t)workers;
	unsigned shift = 0;

	while (shift < 31 && (1ull << shift) < n)
		shift++;
	return shift;
}

void host_fill_args(const struct host_shape *shape, const struct pass_kernel_info *info,
	uint64_t block, uint64_t host, uint32_t gen, uint32_t workers,
	const struct host_steering *s, struct ctl_args *ret)
{
	uint32_t chunk = s->chunk && !info->rising_order ? s->chunk : 1;

	*ret = (struct ctl_args){
		.block = block,
		.host = host,
		.total = host_total_blocks(shape),
		.grid = {shape->grid[0], shape->grid[1], shape->grid[2]},
		.gen = gen,
		.chunk = chunk,
		.shrink = chunk > 1 ? host_shrink(workers) : 0,
		.yield_every = s->yield_every,
	};
	/* All blocks of this kernel may wait for each other, so no worker may exit before the last
	 * block has begun. A worker exits when the quotas drop to 0. yield_every is the number of
	 * tickets after which they drop; 0 means that they never do. */
	if (info->rising_order && ret->total <= workers)
		ret->yield_every = 0;
	if (host)
		ret->flags |= CTL_RELAY;
	if (s->pull_ahead && !info->rising_order)
		ret->flags |= CTL_PULL_AHEAD;
	if (info->tier == PASS_GUARD) {
		ret->flags |= CTL_GUARD;
		ret->least = 1;
		ret->more = CTL_NO_QUOTA - 1;
	}
}

/* Computes how many workers of this kernel fill the device. The result is at most the number of
 * blocks. */
static CUresult workers_that_fit(const struct cu_api *cu, CUfunction fn,
	const struct host_shape *shape, uint32_t n_sms, uint32_t *ret_per_sm, uint32_t *ret_workers)
{
	uint32_t threads = shape->block[0] * shape->block[1] * shape->block[2];
	uint64_t all;
	int per_sm = 0;
	CUresult r = cu->cuOccupancyMaxActiveBlocksPerMultiprocessor(
		&per_sm, fn, (int)threads, shape->shared_bytes);

	if (r != CUDA_SUCCESS)
		return r;
	if (per_sm < 1)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	all = (uint64_t)per_sm * n_sms;
	*ret_per_sm = (uint32_t)per_sm;
	*ret_workers = (uint32_t)MIN(all, host_total_blocks(shape));
	return CUDA_SUCCESS;
}

static CUresult lift_quotas(const struct cu_api *cu, CUdeviceptr block)
{
	return cu->cuMemsetD32(
		block + offsetof(struct ctl_block, quota), CTL_NO_QUOTA, CTL_MAX_SMS);
}

CUresult host_control_create(const struct cu_api *cu, CUdeviceptr *ret_block)
{
	CUdeviceptr block;
	CUresult r = cu->cuMemAlloc(&block, sizeof(struct ctl_block));

	if (r == CUDA_SUCCESS)
		r = cu->cuMemsetD8(block, 0, sizeof(struct ctl_block));
	if (r == CUDA_SUCCESS)
		r = lift_quotas(cu, block);
	if (r == CUDA_SUCCESS)
		*ret_block = block;
	return r;
}

/* Sets the idle control block to the state of a launch that was preempted after `first` blocks of
 * this generation. */
static CUresult begin_at(const struct cu_api *cu, CUdeviceptr block, uint64_t first)
{
	CUresult r =
		cu->cuMemcpyHtoD(block + offsetof(struct ctl_block, ticket), &first, sizeof(first));

	return r != CUDA_SUCCESS ? r
				 : cu->cuMemcpyHtoD(block + offsetof(struct ctl_block, finished),
					   &first, sizeof(first));
}

static CUresult launch_grid(const struct cu_api *cu, CUfunction fn, uint32_t blocks,
	const struct host_shape *shape, void *params, size_t bytes)
{
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, params, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};

	return cu->cuLaunchKernel(fn, blocks, 1, 1, shape->block[0], shape->block[1],
		shape->block[2], shape->shared_bytes, NULL, NULL, extra);
}

/* Returns the number of hardware blocks of the next launch: the workers, or in guard form the
 * blocks of the grid that are left. */
static uint32_t next_grid(const struct pass_kernel_info *info, uint32_t workers, uint64_t left)
{
	uint64_t blocks = info->tier == PASS_GUARD ? left : MIN(workers, left);

	return (uint32_t)MIN(blocks, (uint64_t)INT32_MAX);
}

static CUresult launch_once(const struct cu_api *cu, CUfunction fn, CUfunction closer,
	uint32_t blocks, const struct host_shape *shape, void *params, size_t bytes,
	struct ctl_args *args)
{
	static const struct host_shape one = {.block = {1, 1, 1}};
	CUresult r = launch_grid(cu, fn, blocks, shape, params, bytes);

	if (r == CUDA_SUCCESS && closer)
		r = launch_grid(cu, closer, 1, &one, args, sizeof(*args));
	if (r == CUDA_SUCCESS)
		r = cu->cuCtxSynchronize();
	return r;
}

/* Limits the number of workers to what the caller's settings allow. A kernel whose blocks may all
 * wait for each other keeps all its workers, if all its blocks fit at once. */
static uint32_t bound_workers(const struct host_steering *s, const struct pass_kernel_info *info,
	uint64_t blocks, uint32_t fit, uint32_t n_sms)
{
	uint64_t most = fit;

	if (info->rising_order && blocks <= fit)
		return fit;
	if (s->workers_per_sm)
		most = MIN(most, (uint64_t)s->workers_per_sm * n_sms);
	if (s->workers)
		most = MIN(most, s->workers);
	return (uint32_t)most;
}

CUresult host_managed_run(const struct cu_api *cu, CUfunction fn, CUfunction closer,
	const struct pass_kernel_info *info, const struct host_shape *shape, void *params,
	const struct host_steering *s, CUdeviceptr block, uint32_t *io_gen,
	struct host_managed_stats *ret)
{
	struct ctl_args args;
	struct ctl_block state = {0};
	struct host_managed_stats stats = {.total = host_total_blocks(shape)};
	uint32_t per_sm, workers;
	CUdevice device;
	int n_sms;
	CUresult r = cu->cuCtxGetDevice(&device);

	if (r == CUDA_SUCCESS)
		r = cu->cuDeviceGetAttribute(
			&n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
	if (r == CUDA_SUCCESS)
		r = workers_that_fit(cu, fn, shape, (uint32_t)n_sms, &per_sm, &workers);
	if (r != CUDA_SUCCESS)
		return r;
	workers = bound_workers(s, info, stats.total, workers, (uint32_t)n_sms);
	host_fill_args(shape, info, block, 0, *io_gen, workers, s, &args);
	memcpy((char *)params + info->arg_offset, &args, sizeof(args));
	stats.workers = workers;
	stats.together = info->rising_order && stats.total <= workers &&
			 (s->yield_every || s->workers || s->workers_per_sm);
	if (s->first) {
		state.ticket = s->first;
		r = begin_at(cu, block, s->first);
		if (r != CUDA_SUCCESS)
			return r;
	}
	for (;;) {
		uint64_t before = state.ticket;

		r = launch_once(cu, fn, closer, next_grid(info, workers, stats.total - before),
			shape, params, info->param_bytes, &args);
		if (r == CUDA_SUCCESS)
			r = cu->cuMemcpyDtoH(&state, block, sizeof(state));
		if (r != CUDA_SUCCESS)
			return r;
		stats.launches++;
		if (state.gate == *io_gen + 1)
			break;
		if (state.ticket <= before)
			return CUDA_ERROR_UNKNOWN;
		r = lift_quotas(cu, block);
		if (r != CUDA_SUCCESS)
			return r;
	}
	++*io_gen;
	*ret = stats;
	return CUDA_SUCCESS;
}
