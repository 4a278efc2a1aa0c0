/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests merged launches beside a neighbour that occupies the SMs of one kernel: launches hand out
 * no blocks until the neighbour leaves, or until workers of other SMs may serve the kernel. The
 * test's own fake driver runs the launches. */
#include "host/merged.h"

#include "unit.h"

#include <string.h>

#define BLOCKS 40u

static struct {
	struct ctl_block block[2];
	struct ctl_turns turns;
	uint64_t turns_at;
	/* the first `busy` launches get no worker for kernel 1, unless CTL_HELP and `helps` are
	 * set */
	unsigned busy, launches;
	bool helps;
	uint32_t flags; /* flags of the last launch */
	const struct ctl_merge *merge;
} dev;

static void *at(CUdeviceptr p)
{
	return (void *)(uintptr_t)p;
}

static CUresult to_device(CUdeviceptr dst, const void *src, size_t n)
{
	memcpy(at(dst), src, n);
	return CUDA_SUCCESS;
}

static CUresult to_host(void *dst, CUdeviceptr src, size_t n)
{
	memcpy(dst, at(src), n);
	return CUDA_SUCCESS;
}

static CUresult fill(CUdeviceptr p, unsigned v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint32_t *)at(p))[i] = v;
	return CUDA_SUCCESS;
}

static CUresult record(CUevent e, CUstream s)
{
	return e || !s ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

static CUresult elapsed(float *ms, CUevent a, CUevent b)
{
	*ms = a == b ? 1 : 2;
	return CUDA_SUCCESS;
}

static CUresult synchronize(void)
{
	return CUDA_SUCCESS;
}

static void finish(unsigned k)
{
	dev.block[k].ticket = dev.block[k].finished = BLOCKS;
	dev.block[k].gate++;
}

/* The first launch runs kernel 0. The first launch after the busy ones runs kernel 1. */
static CUresult launch(CUfunction fn, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by,
	unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
{
	(void)fn, (void)x, (void)y, (void)z, (void)bx, (void)by, (void)bz, (void)shared, (void)s;
	(void)params, (void)extra;
	dev.launches++;
	dev.flags = dev.merge->flags;
	if (dev.launches == 1)
		finish(0);
	else if (dev.launches > dev.busy || (dev.helps && dev.flags & CTL_HELP))
		finish(1);
	return CUDA_SUCCESS;
}

static CUresult run(enum ctl_order order, unsigned busy, bool helps, struct host_merged_stats *ret)
{
	static char params[2048];
	static const struct pass_merged form = {.block = {32, 1, 1},
		.param_bytes = sizeof(params),
		.merge_offset = 1536,
		.of = {{.arg_offset = 0}, {.arg_offset = 768}}};
	struct host_merge_part all = {NULL, &form, params, 2};
	struct host_merge_shape shapes[2] = {
		{.shape = {.grid = {BLOCKS, 1, 1}, .block = {32, 1, 1}}},
		{.shape = {.grid = {BLOCKS, 1, 1}, .block = {32, 1, 1}}}};
	struct host_merging merging = {.order = order, .share = {1, 1}};
	struct cu_api cu = {.cuMemcpyHtoD = to_device,
		.cuMemcpyDtoH = to_host,
		.cuMemsetD32 = fill,
		.cuEventRecord = record,
		.cuEventElapsedTime = elapsed,
		.cuCtxSynchronize = synchronize,
		.cuLaunchKernel = launch};
	struct host_merged d = {.turns = (uintptr_t)&dev.turns,
		.block = {(uintptr_t)&dev.block[0], (uintptr_t)&dev.block[1]},
		.began = (CUevent)&dev,
		.ended = (CUevent)&dev};
	struct host_merge_plan plan;
	unsigned which;
	uint64_t blocks;

	memset(&dev, 0, sizeof(dev));
	dev.busy = busy;
	dev.helps = helps;
	dev.merge = (const struct ctl_merge *)(params + form.merge_offset);
	assert_int_equal(
		host_merge_plan(&merging, &all, NULL, 2, shapes, 4, &plan, &which, &blocks),
		HOST_MERGE_OK);
	return host_merged_run(&cu, &all, NULL, 2, shapes, &merging, &plan, &d, ret);
}

/* Runs both orders in which a kernel has SMs or workers of its own, beside neighbours that stay for
 * a while or for ever. */
static void waits(void **state)
{
	static const unsigned busy[] = {0, 1, 2, 7, 9, 12, 15};
	struct host_merged_stats s;

	for (unsigned i = 0; i < ARRAY_LEN(busy); i++) {
		assert_int_equal(run(CTL_APART, busy[i], false, &s), CUDA_SUCCESS);
		assert_int_equal(s.launches, MAX(busy[i] + 1, 2));
		assert_int_equal(run(CTL_MIXED, busy[i], false, &s), CUDA_SUCCESS);
		assert_int_equal(s.launches, MAX(busy[i] + 1, 2));
	}
	/* If the neighbours never leave, workers on other SMs serve the kernel. */
	assert_int_equal(run(CTL_APART, 1000000, true, &s), CUDA_SUCCESS);
	assert_true(s.launches > 2);
	assert_true(dev.flags & CTL_HELP);
	assert_int_equal(run(CTL_MIXED, 1000000, true, &s), CUDA_SUCCESS);
	assert_true(dev.flags & CTL_HELP);
	/* If the neighbours leave soon, the kernels keep their own SMs. */
	assert_int_equal(run(CTL_APART, 3, true, &s), CUDA_SUCCESS);
	assert_false(dev.flags & CTL_HELP);
}

/* With an order in which no neighbour can be the cause, a launch that hands out no block is an
 * error, which is reported at once. */
static void stalls(void **state)
{
	struct host_merged_stats s;

	assert_int_equal(run(CTL_STEAL, 1000000, false, &s), CUDA_ERROR_UNKNOWN);
	assert_int_equal(s.stalled, 1);
	assert_int_equal(dev.launches, 2);
	assert_int_equal(run(CTL_PARTITION, 1000000, false, &s), CUDA_ERROR_UNKNOWN);
	/* The order "apart" fails as well if workers on other SMs do not help. */
	assert_int_equal(run(CTL_APART, 1000000, false, &s), CUDA_ERROR_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits),
		cmocka_unit_test(stalls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
