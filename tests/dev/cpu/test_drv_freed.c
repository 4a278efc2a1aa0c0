/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Work that finds its memory freed: by an earlier cuMemFreeAsync, in its own stream or another
 * one, or after its graph was made. This is an error, and nothing is read or written, since the
 * virtual GPU's device memory is the host's heap. Each case has its own context, since the error
 * is sticky. This file also tests sizes that wrap around. */
#include "drv.h"

#include "base/base.h"

#define LARGE (64u << 20)

struct freed {
	struct drv_test t;
	CUstream s, s2;
	uint32_t *flag; /* flag on which the kernel in s spins */
	CUdeviceptr p;
	size_t bytes;
};

static void begin(struct freed *f, size_t bytes)
{
	drv_begin(&f->t, "workers=2,report=none");
	OK(cuStreamCreate(&f->s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&f->s2, CU_STREAM_NON_BLOCKING));
	f->flag = drv_mapped(1);
	f->bytes = bytes;
	OK(cuMemAlloc(&f->p, bytes));
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)f->flag;
	void *params[] = {&at};
	OK(cuLaunchKernel(drv_fn(&f->t, "spin"), 1, 1, 1, 32, 1, 1, 0, f->s, params, NULL));
}

static void go_on(struct freed *f)
{
	__atomic_store_n(f->flag, 1, __ATOMIC_RELEASE);
}

/* Resets the context, so that no freed memory stays cached: other cases' data would lie there. */
static void finish(void)
{
	cuDevicePrimaryCtxReset(0);
	cuDevicePrimaryCtxRelease(0);
	cuCtxSetCurrent(NULL);
}

/* Makes s2 wait until s has freed p. */
static void free_in_s(struct freed *f)
{
	CUevent e;

	OK(cuMemFreeAsync(f->p, f->s));
	OK(cuEventCreate(&e, 0));
	OK(cuEventRecord(e, f->s));
	OK(cuStreamWaitEvent(f->s2, e, 0));
}

static void same_stream(void **state)
{
	static char host[4096];
	struct freed f;
	CUdeviceptr q;

	(void)state;
	begin(&f, sizeof(host));
	OK(cuMemAlloc(&q, sizeof(host)));
	OK(cuMemFreeAsync(f.p, f.s));
	assert_int_equal(cuMemcpyHtoDAsync(f.p, host, sizeof(host), f.s), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemcpyDtoHAsync(host, f.p, sizeof(host), f.s), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemcpyDtoDAsync(q, f.p + 8, 8, f.s), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemcpyAsync(f.p + 8, q, 8, f.s), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemsetD32Async(f.p, 5, 4, f.s), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuStreamWriteValue32(f.s, f.p, 7, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuStreamWaitValue32(f.s, f.p, 7, CU_STREAM_WAIT_VALUE_EQ),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFree(f.p), CUDA_ERROR_INVALID_VALUE);
	go_on(&f);
	OK(cuCtxSynchronize());
	finish();
}

enum what { COPY_TO, COPY_FROM, COPY_HOST, SET, WRITE, WAIT };

static CUresult queue(struct freed *f, enum what what, CUdeviceptr other)
{
	static char host[16];

	switch (what) {
	case COPY_TO:
		return cuMemcpyDtoDAsync(f->p, other, f->bytes, f->s2);
	case COPY_FROM:
		return cuMemcpyDtoDAsync(other, f->p, f->bytes, f->s2);
	case COPY_HOST:
		return cuMemcpyHtoDAsync(f->p, host, sizeof(host), f->s2);
	case SET:
		return cuMemsetD8Async(f->p, 0x41, f->bytes, f->s2);
	case WRITE:
		return cuStreamWriteValue64(f->s2, f->p, 7, 0);
	case WAIT:
		return cuStreamWaitValue32(f->s2, f->p, 7, CU_STREAM_WAIT_VALUE_EQ);
	}
	return CUDA_ERROR_UNKNOWN;
}

static void other_stream(void **state)
{
	static const size_t sizes[] = {4096, 1 << 20};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		for (enum what what = COPY_TO; what <= WAIT; what++) {
			struct freed f;
			CUdeviceptr other;
			begin(&f, sizes[i]);
			OK(cuMemAlloc(&other, sizes[i]));
			free_in_s(&f);
			OK(queue(&f, what, other));
			go_on(&f);
			assert_int_equal(cuStreamSynchronize(f.s2), CUDA_ERROR_ILLEGAL_ADDRESS);
			finish();
		}
}

/* The free waits for work that stream order puts before it, even if that work was queued later. */
static void in_order(void **state)
{
	struct freed f;
	CUdeviceptr other, value;

	(void)state;
	begin(&f, 1 << 20);
	go_on(&f);
	other = drv_words(f.bytes / 4);
	value = drv_words(1);
	OK(cuMemsetD32Async(f.p, 77, f.bytes / 4, f.s2));
	OK(cuStreamWaitValue32(f.s, value, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuMemFreeAsync(f.p, f.s));
	OK(cuMemcpyDtoDAsync(other, f.p, f.bytes, f.s2));
	OK(cuStreamWriteValue32(f.s2, value, 1, 0));
	OK(cuCtxSynchronize());
	assert_int_equal(drv_read(other + f.bytes - 4), 77);
	finish();
}

/* A stream waits for a value in memory, and the memory is freed during the wait. */
static void wait_goes(void **state)
{
	struct freed f;

	(void)state;
	begin(&f, LARGE);
	OK(cuStreamWaitValue32(f.s2, f.p, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuMemFreeAsync(f.p, f.s));
	go_on(&f);
	assert_int_equal(cuStreamSynchronize(f.s2), CUDA_ERROR_ILLEGAL_ADDRESS);
	finish();
}

/* Memory is freed while a copy or memset of it may be running. Whether the free or the other
 * operation comes first, no freed memory is accessed. */
static void under_way(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct freed f;
		CUdeviceptr other;
		begin(&f, LARGE);
		OK(cuMemAlloc(&other, LARGE));
		go_on(&f);
		OK(cuStreamSynchronize(f.s));
		if (i % 2)
			OK(cuMemcpyDtoDAsync(f.p, other, LARGE, f.s2));
		else
			OK(cuMemsetD8Async(f.p, 1, LARGE, f.s2));
		usleep((unsigned)i * 100);
		OK(cuMemFreeAsync(f.p, f.s));
		CUresult r = cuCtxSynchronize();
		assert_true(r == CUDA_SUCCESS || r == CUDA_ERROR_ILLEGAL_ADDRESS);
		finish();
	}
}

/* cuMemFree does not know of graphs that have not been launched yet. */
static void graphs(void **state)
{
	struct freed f;
	CUgraph graph;
	CUgraphExec exec;

	(void)state;
	begin(&f, 1 << 20);
	go_on(&f);
	OK(cuStreamSynchronize(f.s));
	OK(cuStreamBeginCapture(f.s2, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuMemsetD8Async(f.p, 1, f.bytes, f.s2));
	OK(cuStreamEndCapture(f.s2, &graph));
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphLaunch(exec, f.s2));
	OK(cuStreamSynchronize(f.s2));
	OK(cuMemFree(f.p));
	OK(cuGraphLaunch(exec, f.s2));
	assert_int_equal(cuStreamSynchronize(f.s2), CUDA_ERROR_ILLEGAL_ADDRESS);
	finish();
}

static void sizes(void **state)
{
	static char host[64];
	struct drv_test t;
	CUdeviceptr p = 0;
	size_t pitch;

	(void)state;
	drv_begin(&t, "workers=2,report=none");
	assert_int_not_equal(
		cuMemAllocPitch(&p, &pitch, 1, ((size_t)1 << 55) + 1, 4), CUDA_SUCCESS);
	assert_int_not_equal(cuMemAllocPitch(&p, &pitch, SIZE_MAX - 5, 1, 4), CUDA_SUCCESS);
	assert_int_not_equal(cuMemAllocPitch(&p, &pitch, SIZE_MAX / 3, 3, 4), CUDA_SUCCESS);
	assert_int_equal(cuMemHostRegister(host, SIZE_MAX - 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_not_equal(cuMemAlloc(&p, SIZE_MAX), CUDA_SUCCESS);
	assert_int_not_equal(cuMemHostAlloc((void **)&p, SIZE_MAX, 0), CUDA_SUCCESS);
	p = drv_words(64);
	/* The distance between the planes wraps around to 0. */
	CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = host,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = p,
		.dstPitch = (size_t)1 << 32,
		.dstHeight = (size_t)1 << 32,
		.srcPitch = 16,
		.srcHeight = 1,
		.WidthInBytes = 16,
		.Height = 1,
		.Depth = 4};
	assert_int_equal(cuMemcpy3D(&box), CUDA_ERROR_INVALID_VALUE);
	box.dstHeight = 1;
	box.dstPitch = 16;
	box.Depth = 1;
	box.dstY = SIZE_MAX / 16 + 1; /* wraps around to the first row */
	assert_int_equal(cuMemcpy3D(&box), CUDA_ERROR_INVALID_VALUE);
	box.dstY = 0;
	OK(cuMemcpy3D(&box));
	drv_end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_stream),
		cmocka_unit_test(in_order),
		cmocka_unit_test(other_stream),
		cmocka_unit_test(wait_goes),
		cmocka_unit_test(under_way),
		cmocka_unit_test(graphs),
		cmocka_unit_test(sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
