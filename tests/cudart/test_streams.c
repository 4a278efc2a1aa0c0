/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests streams and events: order, waiting, priorities, callbacks, the default streams; capture. */
#include "host.h"

#include <string.h>

/* Allocates a word of mapped host memory, 0 at first. wait_for spins until it is not 0. */
static unsigned *gate_new(void)
{
	void *h;

	OK(cudaHostAlloc(&h, sizeof(unsigned), CU_MEMHOSTALLOC_DEVICEMAP));
	*(unsigned *)h = 0;
	return h;
}

static void gate_open(unsigned *gate)
{
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
}

static void test_query(void **state)
{
	unsigned *gate = gate_new();
	CUevent before, after;
	CUstream s;
	float ms = -1;

	OK(cudaStreamCreateWithFlags(&s, CU_STREAM_NON_BLOCKING));
	OK(cudaEventCreate(&before));
	OK(cudaEventCreateWithFlags(&after, CU_EVENT_DEFAULT));
	OK(cudaStreamQuery(s));
	OK(cudaEventRecord(before, s));
	LAUNCH(wait_for, 1, 1, 0, s, gate);
	OK(cudaGetLastError());
	OK(cudaEventRecord(after, s));
	assert_int_equal(cudaStreamQuery(s), cudaErrorNotReady);
	assert_int_equal(cudaEventQuery(after), cudaErrorNotReady);
	assert_int_equal(cudaGetLastError(), cudaErrorNotReady);
	assert_int_equal(cudaEventElapsedTime(&ms, before, after), cudaErrorNotReady);
	gate_open(gate);
	OK(cudaEventSynchronize(after));
	OK(cudaStreamSynchronize(s));
	OK(cudaStreamQuery(s));
	OK(cudaEventQuery(after));
	OK(cudaEventElapsedTime(&ms, before, after));
	assert_true(ms >= 0);
#if RT_ABI == 12
	ms = -1;
	OK(cudaEventElapsedTime_v2(&ms, before, after));
	assert_true(ms >= 0);
#endif
	OK(cudaEventDestroy(before));
	OK(cudaEventDestroy(after));
	OK(cudaStreamDestroy(s));
	OK(cudaFreeHost(gate));
	cudaGetLastError();
}

/* Work that waits for an event runs after the work recorded before it. */
static void test_wait(void **state)
{
	unsigned *gate = gate_new(), host[8];
	CUevent event;
	CUstream a, b;
	CUdeviceptr p;

	OK(cudaStreamCreateWithFlags(&a, CU_STREAM_NON_BLOCKING));
	OK(cudaStreamCreateWithFlags(&b, CU_STREAM_NON_BLOCKING));
	OK(cudaEventCreateWithFlags(&event, CU_EVENT_DISABLE_TIMING));
	OK(cudaMalloc(&p, sizeof(host)));
	/* Loading a module waits for running kernels, so load it first. */
	LAUNCH(number, 1, 8, 0, b, (unsigned *)p, 8);
	LAUNCH(wait_for, 1, 1, 0, a, gate);
	OK(cudaMemsetAsync(p, 0, sizeof(host), a));
	OK(cudaEventRecord(event, a));
	OK(cudaStreamWaitEvent(b, event, 0));
	LAUNCH(number, 1, 8, 0, b, (unsigned *)p, 8);
	OK(cudaGetLastError());
	assert_int_equal(cudaStreamQuery(b), cudaErrorNotReady);
	gate_open(gate);
	OK(cudaStreamSynchronize(b));
	OK(cudaMemcpy(host, (void *)p, sizeof(host), RT_DEVICE_TO_HOST));
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(host[i], i);
	OK(cudaFree(p));
	OK(cudaEventDestroy(event));
	OK(cudaStreamDestroy(a));
	OK(cudaStreamDestroy(b));
	OK(cudaFreeHost(gate));
	cudaGetLastError();
}

/* The legacy default stream waits for a blocking stream; a thread's own default stream does not. */
static void test_defaults(void **state)
{
	unsigned *gate = gate_new(), host = 7;
	CUdeviceptr p;
	CUstream s;

	OK(cudaStreamCreate(&s));
	OK(cudaMalloc(&p, sizeof(host)));
	OK(cudaDeviceSynchronize());
	LAUNCH(wait_for, 1, 1, 0, s, gate);
	OK(cudaGetLastError());
	OK(cudaMemsetAsync_ptsz(p, 0, sizeof(host), NULL));
	OK(cudaStreamSynchronize_ptsz(NULL));
	OK(cudaMemcpyAsync(
		&host, (void *)p, sizeof(host), RT_DEVICE_TO_HOST, CU_STREAM_PER_THREAD));
	OK(cudaStreamSynchronize(CU_STREAM_PER_THREAD));
	assert_int_equal(host, 0);
	OK(cudaMemsetAsync(p, 1, sizeof(host), NULL));
	assert_int_equal(cudaStreamQuery(NULL), cudaErrorNotReady);
	gate_open(gate);
	OK(cudaMemcpy(&host, (void *)p, sizeof(host), RT_DEVICE_TO_HOST));
	assert_int_equal(host, 0x01010101);
	OK(cudaFree(p));
	OK(cudaStreamDestroy(s));
	OK(cudaFreeHost(gate));
	cudaGetLastError();
}

static void test_attributes(void **state)
{
	int least = 0, greatest = 0, priority = 99, device = -1;
	unsigned long long id = 0, other = 0;
	unsigned flags = 99;
	CUstream s;

	OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	OK(cudaStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, greatest));
	OK(cudaStreamGetPriority(s, &priority));
	assert_int_equal(priority, greatest);
	OK(cudaStreamGetFlags(s, &flags));
	assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
	OK(cudaStreamGetId(s, &id));
	OK(cudaStreamGetId(NULL, &other));
	assert_true(id != other);
	OK(cudaStreamGetDevice(s, &device));
	assert_int_equal(device, 0);
	OK(cudaStreamDestroy(s));
	assert_int_equal(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
}

static void note_callback(CUstream stream, CUresult result, void *user)
{
	((unsigned *)user)[0] = result == CUDA_SUCCESS ? 1 : 2;
}

static void note_host(void *user)
{
	((unsigned *)user)[1] = ((unsigned *)user)[0] + 10;
}

static void test_callbacks(void **state)
{
	unsigned seen[2] = {0, 0};
	CUstream s;

	OK(cudaStreamCreate(&s));
	OK(cudaStreamAddCallback(s, note_callback, seen, 0));
	OK(cudaLaunchHostFunc(s, note_host, seen));
	OK(cudaStreamSynchronize(s));
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[1], 11);
	OK(cudaStreamDestroy(s));
}

int run_streams(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_callbacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
