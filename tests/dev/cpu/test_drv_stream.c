/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Streams and events of the virtual GPU: order within and between streams, both default streams,
 * stream memory operations, host functions, priorities. No test sleeps to make an order likely:
 * work that must not have run yet waits for a value that the test itself writes later. */
#include "drv.h"

#include <pthread.h>

/* The _ptsz entry points, which a program built for per-thread default streams calls. */
CUresult launch_ptsz(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
	unsigned, CUstream, void **, void **) __asm__("cuLaunchKernel_ptsz");
CUresult sync_ptsz(CUstream) __asm__("cuStreamSynchronize_ptsz");
CUresult query_ptsz(CUstream) __asm__("cuStreamQuery_ptsz");

static void read_log(CUdeviceptr log, uint32_t *ret, size_t n)
{
	OK(cuMemcpyDtoH(ret, log, (n + 1) * 4));
}

static void in_order(void **state)
{
	struct drv_test *t = *state;
	CUdeviceptr log = drv_words(64);
	uint32_t got[33];
	CUstream s;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (uint32_t i = 0; i < 32; i++)
		OK(drv_note(t, s, log, i));
	OK(cuStreamSynchronize(s));
	read_log(log, got, 32);
	assert_int_equal(got[0], 32);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(got[1 + i], i);
	OK(cuStreamDestroy(s));
}

/* A launch returns while its stream is held, and other streams continue. */
static void held_stream(void **state)
{
	struct drv_test *t = *state;
	uint32_t *gate = drv_mapped(1);
	CUdeviceptr log = drv_words(8), g = (CUdeviceptr)(uintptr_t)gate;
	uint32_t got[3];
	CUstream a, b;

	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitValue32(a, g, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(drv_note(t, a, log, 1));
	OK(drv_note(t, b, log, 2));
	OK(cuStreamSynchronize(b));
	assert_int_equal(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
	assert_int_equal(cuStreamQuery(b), CUDA_SUCCESS);
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(a));
	read_log(log, got, 2);
	assert_int_equal(got[1], 2);
	assert_int_equal(got[2], 1);
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
	OK(cuMemFreeHost(gate));
}

static void conditions(void **state)
{
	static const struct {
		uint64_t now, want;
		unsigned flags;
		bool wide, met;
	} rows[] = {
		{5, 5, CU_STREAM_WAIT_VALUE_GEQ, false, true},
		{4, 5, CU_STREAM_WAIT_VALUE_GEQ, false, false},
		/* the comparison wraps around */
		{2, 0xfffffffe, CU_STREAM_WAIT_VALUE_GEQ, false, true},
		{0xfffffffe, 2, CU_STREAM_WAIT_VALUE_GEQ, false, false},
		{0xfffffffe, 2, CU_STREAM_WAIT_VALUE_GEQ, true, true},
		{7, 6, CU_STREAM_WAIT_VALUE_EQ, false, false},
		{6, 6, CU_STREAM_WAIT_VALUE_EQ, false, true},
		{6, 9, CU_STREAM_WAIT_VALUE_AND, false, false},
		{6, 2, CU_STREAM_WAIT_VALUE_AND, false, true},
		{0xffff0000, 0x0000ffff, CU_STREAM_WAIT_VALUE_NOR, false, false},
		{0xffff0000, 0x00007fff, CU_STREAM_WAIT_VALUE_NOR, false, true},
		{(uint64_t)1 << 40, (uint64_t)1 << 40, CU_STREAM_WAIT_VALUE_AND, true, true},
	};
	CUstream s;

	(void)state;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CUdeviceptr p;
		OK(cuMemAlloc(&p, 8));
		OK(cuMemcpyHtoD(p, &rows[i].now, 8));
		OK(rows[i].wide ? cuStreamWaitValue64(s, p, rows[i].want, rows[i].flags)
				: cuStreamWaitValue32(s, p, (uint32_t)rows[i].want, rows[i].flags));
		if (rows[i].met) {
			OK(cuStreamSynchronize(s));
		} else {
			assert_int_equal(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
			uint64_t v = rows[i].flags == CU_STREAM_WAIT_VALUE_NOR ? 0 : rows[i].want;
			CUstream w;
			OK(cuStreamCreate(&w, CU_STREAM_NON_BLOCKING));
			OK(cuStreamWriteValue64(w, p, v, 0));
			OK(cuStreamSynchronize(s));
			OK(cuStreamDestroy(w));
		}
		OK(cuMemFree(p));
	}
	assert_int_equal(cuStreamWaitValue32(s, 0x1000, 0, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuStreamDestroy(s));
}

static void events(void **state)
{
	struct drv_test *t = *state;
	uint32_t *gate = drv_mapped(1);
	CUdeviceptr log = drv_words(8), g = (CUdeviceptr)(uintptr_t)gate;
	uint32_t got[4];
	CUstream a, b;
	CUevent e, never;
	float ms;

	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, 0));
	OK(cuEventCreate(&never, 0));
	OK(cuEventQuery(e)); /* an event that was never recorded */
	OK(cuStreamWaitEvent(b, e, 0));
	assert_int_equal(cuEventElapsedTime(&ms, never, e), CUDA_ERROR_INVALID_HANDLE);
	OK(cuStreamWaitValue32(a, g, 1, CU_STREAM_WAIT_VALUE_GEQ));
	OK(drv_note(t, a, log, 1));
	OK(cuEventRecord(e, a));
	OK(cuStreamWaitEvent(b, e, 0));
	/* Recording the event again does not change the point for which b waits. */
	OK(cuStreamWaitValue32(a, g, 2, CU_STREAM_WAIT_VALUE_GEQ));
	OK(cuEventRecord(e, a));
	OK(drv_note(t, b, log, 2));
	assert_int_equal(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	assert_int_equal(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(b));
	assert_int_equal(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	__atomic_store_n(gate, 2, __ATOMIC_RELEASE);
	OK(cuEventSynchronize(e));
	read_log(log, got, 2);
	assert_int_equal(got[1], 1);
	assert_int_equal(got[2], 2);
	OK(cuEventRecord(never, a));
	OK(cuEventSynchronize(never));
	OK(cuEventElapsedTime(&ms, e, never));
	assert_true(ms >= 0);
	OK(cuEventDestroy(e));
	OK(cuEventDestroy(never));
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
	OK(cuMemFreeHost(gate));
}

/* The legacy stream and blocking streams wait for each other; non-blocking streams do not take
 * part. */
static void legacy_stream(void **state)
{
	struct drv_test *t = *state;
	uint32_t *gate = drv_mapped(1);
	CUdeviceptr log = drv_words(8), g = (CUdeviceptr)(uintptr_t)gate;
	uint32_t got[5];
	CUstream a, b, free_one;

	OK(cuStreamCreate(&a, 0));
	OK(cuStreamCreate(&b, 0));
	OK(cuStreamCreate(&free_one, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitValue32(a, g, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(drv_note(t, a, log, 1));
	OK(drv_note(t, NULL, log, 2));
	OK(drv_note(t, b, log, 3));
	OK(drv_note(t, free_one, log, 4));
	OK(cuStreamSynchronize(free_one));
	assert_int_equal(cuStreamQuery(b), CUDA_ERROR_NOT_READY);
	assert_int_equal(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	OK(cuCtxSynchronize());
	read_log(log, got, 4);
	assert_int_equal(got[1], 4);
	assert_int_equal(got[2], 1);
	assert_int_equal(got[3], 2);
	assert_int_equal(got[4], 3);
	OK(cuStreamDestroy(a));
	OK(cuStreamDestroy(b));
	OK(cuStreamDestroy(free_one));
	OK(cuMemFreeHost(gate));
}

static void *other_thread(void *arg)
{
	struct drv_test *t = ((void **)arg)[0];
	CUdeviceptr log = *(CUdeviceptr *)((void **)arg)[1];
	uint32_t id = 2;
	void *params[] = {&log, &id};

	OK(cuCtxSetCurrent(t->ctx));
	OK(launch_ptsz(drv_fn(t, "note"), 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(sync_ptsz(NULL));
	return NULL;
}

static void per_thread_stream(void **state)
{
	struct drv_test *t = *state;
	uint32_t *gate = drv_mapped(1), id = 1;
	CUdeviceptr log = drv_words(8), g = (CUdeviceptr)(uintptr_t)gate;
	void *params[] = {&log, &id}, *arg[] = {t, &log};
	uint32_t got[3];
	pthread_t other;

	OK(cuStreamWaitValue32(CU_STREAM_PER_THREAD, g, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(launch_ptsz(drv_fn(t, "note"), 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	pthread_create(&other, NULL, other_thread, arg);
	pthread_join(other, NULL);
	assert_int_equal(query_ptsz(NULL), CUDA_ERROR_NOT_READY);
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	OK(sync_ptsz(NULL));
	read_log(log, got, 2);
	assert_int_equal(got[1], 2);
	assert_int_equal(got[2], 1);
	OK(cuMemFreeHost(gate));
}

static bool is_loaded;

static void *load(void *arg)
{
	CUmodule mod;

	OK(cuCtxSetCurrent(arg));
	OK(cuModuleLoadData(&mod, drv_ptx));
	__atomic_store_n(&is_loaded, true, __ATOMIC_SEQ_CST);
	OK(cuModuleUnload(mod));
	return NULL;
}

static void loading_waits(void **state)
{
	struct drv_test *t = *state;
	uint32_t *flag = drv_mapped(1);
	CUdeviceptr at = (CUdeviceptr)(uintptr_t)flag;
	void *params[] = {&at};
	pthread_t other;
	CUstream s;
	bool early;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchKernel(drv_fn(t, "spin"), 1, 1, 1, 32, 1, 1, 0, s, params, NULL));
	assert_int_equal(pthread_create(&other, NULL, load, t->ctx), 0);
	usleep(100000);
	early = __atomic_load_n(&is_loaded, __ATOMIC_SEQ_CST);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	pthread_join(other, NULL);
	assert_true(is_loaded && !early);
	OK(cuStreamDestroy(s));
	OK(cuMemFreeHost(flag));
}

static void count_up(void *user)
{
	__atomic_fetch_add((int *)user, 1, __ATOMIC_SEQ_CST);
}

static void on_callback(CUstream s, CUresult r, void *user)
{
	(void)s;
	if (r == CUDA_SUCCESS)
		count_up(user);
}

static void host_functions(void **state)
{
	struct drv_test *t = *state;
	CUdeviceptr log = drv_words(8);
	int count = 0;
	CUstream s;

	OK(cuStreamCreate(&s, 0));
	OK(drv_note(t, s, log, 1));
	OK(cuLaunchHostFunc(s, count_up, &count));
	OK(cuStreamAddCallback(s, on_callback, &count, 0));
	OK(cuStreamSynchronize(s));
	assert_int_equal(count, 2);
	OK(cuStreamDestroy(s));
}

/* Launches a block that takes half an SM and writes an id into the log. */
static CUresult note_large(struct drv_test *t, CUstream s, CUdeviceptr log, uint32_t id)
{
	void *params[] = {&log, &id};

	return cuLaunchKernel(drv_fn(t, "note"), 1, 1, 1, 1024, 1, 1, 0, s, params, NULL);
}

/* Spinning blocks occupy all slots, and one of them ends. Two kernels wait, each large enough to
 * fill the freed space. The urgent stream's kernel runs first although it was launched last. */
static void priorities(void **state)
{
	struct drv_test *t = *state;
	uint32_t *gate = drv_mapped(2);
	CUdeviceptr log = drv_words(80), one = (CUdeviceptr)(uintptr_t)gate, rest = one + 4;
	void *params[] = {&one}, *rest_params[] = {&rest};
	uint32_t got[3];
	CUstream fill, low, high;
	int least, greatest, n_sms;

	OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	assert_true(greatest < least);
	OK(cuDeviceGetAttribute(&n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	OK(cuStreamCreateWithPriority(&fill, CU_STREAM_NON_BLOCKING, least));
	OK(cuStreamCreateWithPriority(&low, CU_STREAM_NON_BLOCKING, least));
	OK(cuStreamCreateWithPriority(&high, CU_STREAM_NON_BLOCKING, greatest));
	int p;
	OK(cuStreamGetPriority(high, &p));
	assert_int_equal(p, greatest);
	OK(cuLaunchKernel(drv_fn(t, "spin"), 2 * (unsigned)n_sms - 1, 1, 1, 1024, 1, 1, 0, fill,
		rest_params, NULL));
	CUstream ends;
	OK(cuStreamCreateWithPriority(&ends, CU_STREAM_NON_BLOCKING, least));
	OK(cuLaunchKernel(drv_fn(t, "spin"), 1, 1, 1, 1024, 1, 1, 0, ends, params, NULL));
	OK(note_large(t, low, log, 1));
	OK(note_large(t, high, log, 2));
	assert_int_equal(cuStreamQuery(high), CUDA_ERROR_NOT_READY);
	__atomic_store_n(&gate[0], 1, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(low));
	OK(cuStreamSynchronize(high));
	read_log(log, got, 2);
	assert_int_equal(got[1], 2);
	__atomic_store_n(&gate[1], 1, __ATOMIC_RELEASE);
	OK(cuCtxSynchronize());
	OK(cuStreamDestroy(ends));
	OK(cuStreamDestroy(fill));
	OK(cuStreamDestroy(low));
	OK(cuStreamDestroy(high));
	OK(cuMemFreeHost(gate));
}

/* When an asynchronous copy between pageable host memory and the device returns, it has read its
 * source and written its destination. */
static void pageable(void **state)
{
	uint32_t *gate = drv_mapped(1), v = 11, got = 0;
	CUdeviceptr p = drv_words(1), g = (CUdeviceptr)(uintptr_t)gate;
	CUstream s;

	(void)state;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitValue32(s, g, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuMemcpyHtoDAsync(p, &v, 4, s));
	v = 12;
	__atomic_store_n(gate, 1, __ATOMIC_RELEASE);
	OK(cuMemcpyDtoHAsync(&got, p, 4, s));
	assert_int_equal(got, 11);
	OK(cuStreamDestroy(s));
	OK(cuMemFreeHost(gate));
}

static void many_streams(void **state)
{
	struct drv_test *t = *state;
	CUdeviceptr out = drv_words(1);
	CUstream s[40];

	for (int i = 0; i < 40; i++)
		OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
	for (int k = 0; k < 5; k++)
		for (int i = 0; i < 40; i++)
			OK(drv_busy(t, s[i], 3, 64, 50, out));
	/* The streams' work continues after the streams are destroyed. */
	for (int i = 0; i < 40; i++)
		OK(cuStreamDestroy(s[i]));
	OK(cuCtxSynchronize());
	assert_int_equal(drv_read(out), 600);
}

/* A block stores vectors whose elements are equal, and others read them: a reader never sees
 * part of one store. */
static void whole_vectors(void **state)
{
	static const char ptx[] =
		".version 7.0\n.target sm_70\n.address_size 64\n"
		".visible .entry whole(.param .u64 p, .param .u64 torn)\n{\n"
		"	.reg .pred %p<2>;\n	.reg .b32 %r<6>;\n	.reg .b64 %d<3>;\n"
		"	ld.param.u64 %d0, [p];\n	ld.param.u64 %d1, [torn];\n"
		"	mov.u32 %r0, %tid.x;\n	mul.wide.u32 %d2, %r0, 16;\n	add.u64 %d2, %d2, "
		"%d0;\n"
		"	mov.u32 %r0, %ctaid.x;\n	mov.u32 %r5, 0;\n"
		"	setp.ne.u32 %p0, %r0, 0;\n	@%p0 bra READ;\n"
		"WRITE:\n	add.u32 %r5, %r5, 1;\n"
		"	st.relaxed.gpu.global.v4.b32 [%d2], {%r5, %r5, %r5, %r5};\n"
		"	ld.relaxed.gpu.global.b32 %r1, [%d0+512];\n"
		"	setp.ne.u32 %p1, %r1, 480;\n	@%p1 bra WRITE;\n	ret;\n"
		"READ:\n	add.u32 %r5, %r5, 1;\n"
		"	ld.relaxed.gpu.global.v4.b32 {%r1, %r2, %r3, %r4}, [%d2];\n"
		"	setp.eq.u32 %p1, %r1, %r4;\n	@%p1 bra SAME;\n"
		"	red.global.add.u32 [%d1], 1;\n"
		"SAME:\n	setp.lt.u32 %p1, %r5, 5000;\n	@%p1 bra READ;\n"
		"	red.relaxed.gpu.global.add.u32 [%d0+512], 1;\n	ret;\n}\n";
	CUdeviceptr p = drv_words(129), torn = drv_words(1);
	void *params[] = {&p, &torn};
	CUmodule mod;
	CUfunction fn;

	(void)state;
	OK(cuModuleLoadData(&mod, ptx));
	OK(cuModuleGetFunction(&fn, mod, "whole"));
	OK(cuLaunchKernel(fn, 16, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(cuCtxSynchronize());
	assert_int_equal(drv_read(torn), 0);
	OK(cuModuleUnload(mod));
	OK(cuMemFree(p));
	OK(cuMemFree(torn));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_vectors),
		cmocka_unit_test(in_order),
		cmocka_unit_test(held_stream),
		cmocka_unit_test(conditions),
		cmocka_unit_test(events),
		cmocka_unit_test(legacy_stream),
		cmocka_unit_test(per_thread_stream),
		cmocka_unit_test(loading_waits),
		cmocka_unit_test(host_functions),
		cmocka_unit_test(priorities),
		cmocka_unit_test(pageable),
		cmocka_unit_test(many_streams),
	};
	return cmocka_run_group_tests(tests, drv_setup, drv_teardown);
}
