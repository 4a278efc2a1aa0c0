/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Stream capture and graphs on the virtual GPU, and the calls that a capture forbids. */
#include "base/base.h"
#include "drv.h"

static void count_up(void *user)
{
	__atomic_fetch_add((int *)user, 1, __ATOMIC_SEQ_CST);
}

/* Captures a fork and a join through events, a copy, a memset and a host function, and launches the
 * graph twice. */
static void capture(void **state)
{
	struct drv_test *t = *state;
	CUdeviceptr log = drv_words(16), word = drv_words(2);
	CUstream a, b;
	CUevent fork_event, join;
	CUgraph graph;
	CUgraphExec exec;
	CUstreamCaptureStatus status;
	size_t n = 0;
	int count = 0;
	uint32_t got[9];

	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&fork_event, 0));
	OK(cuEventCreate(&join, 0));
	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(drv_note(t, a, log, 1));
	OK(cuEventRecord(fork_event, a));
	OK(cuStreamWaitEvent(b, fork_event, 0));
	OK(cuStreamIsCapturing(b, &status));
	assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	OK(drv_note(t, b, log, 2));
	OK(cuMemsetD32Async(word, 9, 1, b));
	OK(cuEventRecord(join, b));
	OK(cuLaunchHostFunc(a, count_up, &count));
	OK(cuStreamWaitEvent(a, join, 0));
	OK(cuMemcpyDtoDAsync(word + 4, word, 4, a));
	OK(drv_note(t, a, log, 3));
	OK(cuStreamEndCapture(a, &graph));
	OK(cuGraphGetNodes(graph, NULL, &n));
	assert_int_equal(n, 6);
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphDestroy(graph));
	assert_int_equal(drv_read(log), 0); /* nothing has run yet */
	OK(cuGraphLaunch(exec, a));
	OK(cuGraphLaunch(exec, a));
	OK(cuStreamSynchronize(a));
	OK(cuMemcpyDtoH(got, log, sizeof(got)));
	assert_int_equal(got[0], 6);
	for (int i = 0; i < 6; i++)
		assert_int_equal(got[1 + i], 1 + i % 3);
	assert_int_equal(count, 2);
	assert_int_equal(drv_read(word + 4), 9);
	OK(cuGraphExecDestroy(exec));
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
}

/* Copies and memsets with an extent of 0 are empty, whatever the other extents are: as plain
 * calls, during capture, and as nodes. Each call returns at once. */
static void zero_extents(void **state)
{
	static const size_t sizes[] = {0, 1, (size_t)1 << 31, (size_t)1 << 40, SIZE_MAX};
	const unsigned n = ARRAY_LEN(sizes);
	double from = drv_seconds();
	CUdeviceptr p = drv_words(4);
	CUgraphExec exec;
	CUgraphNode node;
	CUgraph graph;

	OK(cuGraphCreate(&graph, 0));
	for (unsigned i = 0; i < n * n * n; i++) {
		size_t w = sizes[i % n], h = sizes[i / n % n], d = sizes[i / n / n];
		CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			.srcDevice = p,
			.dstMemoryType = CU_MEMORYTYPE_DEVICE,
			.dstDevice = p,
			.WidthInBytes = w,
			.Height = h,
			.Depth = d};
		CUDA_MEMCPY2D flat = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			.srcDevice = p,
			.dstMemoryType = CU_MEMORYTYPE_DEVICE,
			.dstDevice = p,
			.WidthInBytes = w,
			.Height = h};

		if (w && h && d)
			continue;
		OK(cuMemcpy3D(&box));
		OK(cuMemcpy3DAsync(&box, NULL));
		OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &box, NULL));
		if (w && h)
			continue;
		OK(cuMemcpy2D(&flat));
		OK(cuMemcpy2DUnaligned(&flat));
		OK(cuMemcpy2DAsync(&flat, NULL));
		OK(cuMemsetD2D8(p, 0, 1, w, h));
		OK(cuMemsetD2D16(p, 0, 1, w, h));
		OK(cuMemsetD2D32(p, 0, 1, w, h));
		OK(cuMemsetD2D8Async(p, 0, 1, w, h, NULL));
		OK(cuMemsetD2D16Async(p, 0, 1, w, h, NULL));
		OK(cuMemsetD2D32Async(p, 0, 1, w, h, NULL));
	}
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuCtxSynchronize());
	assert_true(drv_seconds() - from < 1);
	assert_int_equal(drv_read(p), 0);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

static void forbidden(void **state)
{
	struct drv_test *t = *state;
	CUstream a, b;
	CUevent e;
	CUgraph graph;
	CUdeviceptr p, log = drv_words(4);
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	OK(cuStreamCreate(&a, 0));
	OK(cuStreamCreate(&b, 0));
	OK(cuEventCreate(&e, 0));
	/* A thread in relaxed capture mode may allocate memory; in global mode it may not. */
	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	OK(cuMemAlloc(&p, 4));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	assert_int_equal(cuMemAlloc(&p, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_int_equal(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	assert_null(graph);
	OK(cuMemFree(p));
	/* The legacy stream would have to wait for the capture. */
	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	assert_int_equal(drv_note(t, NULL, log, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	assert_int_equal(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	/* A program cannot wait for captured work. */
	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	assert_int_equal(cuStreamSynchronize(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	assert_int_equal(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	/* A stream was forked into the capture and has not joined it. */
	OK(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	OK(drv_note(t, b, log, 1));
	assert_int_equal(cuEventQuery(e), CUDA_ERROR_CAPTURED_EVENT);
	assert_int_equal(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	assert_int_equal(cuStreamEndCapture(a, &graph), CUDA_ERROR_ILLEGAL_STATE);
	assert_int_equal(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED),
		CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	/* A graph cannot be destroyed during a capture into it. */
	OK(cuGraphCreate(&graph, 0));
	OK(cuStreamBeginCaptureToGraph(a, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(drv_note(t, a, log, 1));
	assert_int_equal(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
	OK(drv_note(t, a, log, 2));
	OK(cuStreamEndCapture(a, &graph));
	OK(cuGraphDestroy(graph));
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
}

static void by_hand(void **state)
{
	struct drv_test *t = *state;
	CUdeviceptr log = drv_words(8);
	uint32_t id = 1, got[4];
	void *params[] = {&log, &id};
	CUDA_KERNEL_NODE_PARAMS p = {.func = drv_fn(t, "note"),
		.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 32,
		.blockDimY = 1,
		.blockDimZ = 1,
		.kernelParams = params};
	CUgraph graph;
	CUgraphNode first, second;
	CUgraphExec exec;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode(&first, graph, NULL, 0, &p));
	id = 2;
	OK(cuGraphAddKernelNode(&second, graph, &first, 1, &p));
	OK(cuGraphInstantiate(&exec, graph, 0));
	id = 7;
	OK(cuGraphExecKernelNodeSetParams(exec, second, &p));
	OK(cuGraphLaunch(exec, NULL));
	OK(cuMemcpyDtoH(got, log, 12));
	assert_int_equal(got[1], 1);
	assert_int_equal(got[2], 7);
	/* The program reads a node's parameters, changes them and sets them again. */
	CUDA_KERNEL_NODE_PARAMS read;
	OK(cuGraphKernelNodeGetParams(first, &read));
	assert_ptr_equal(read.func, p.func);
	assert_int_equal(read.blockDimX, 32);
	assert_non_null(read.kernelParams);
	assert_memory_equal(read.kernelParams[0], params[0], sizeof(CUdeviceptr));
	id = 1;
	assert_memory_equal(read.kernelParams[1], params[1], sizeof(id));
	*(unsigned *)read.kernelParams[1] = 5;
	OK(cuGraphKernelNodeSetParams(first, &read));
	OK(cuGraphExecKernelNodeSetParams(exec, first, &p));
	OK(cuGraphKernelNodeGetParams(first, &read));
	assert_int_equal(*(unsigned *)read.kernelParams[1], 5);
	/* A graph must not have a cycle. */
	OK(cuGraphAddDependencies(graph, &second, &first, 1));
	CUgraphExec none;
	assert_int_equal(cuGraphInstantiate(&none, graph, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphDestroy(graph));
	assert_int_equal(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphExecDestroy(exec));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capture),
		cmocka_unit_test(zero_extents),
		cmocka_unit_test(forbidden),
		cmocka_unit_test(by_hand),
	};
	return cmocka_run_group_tests(tests, drv_setup, drv_teardown);
}
