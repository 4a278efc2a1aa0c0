/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Kernels that fault on the virtual GPU: the driver returns the right error, which sticks to the
 * context, and prints a report; pending work ends; resetting the primary context makes the
 * device usable again. */
#include "drv.h"

static char report[100];

static int setup(void **state)
{
	static struct drv_test t;
	char options[150];

	snprintf(report, sizeof(report), "/tmp/heddle-test-report-%d", (int)getpid());
	unlink(report);
	snprintf(options, sizeof(options), "workers=2,report=%s", report);
	drv_begin(&t, options);
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	drv_end(*state);
	unlink(report);
	return 0;
}

static void expect_report(const char *kernel, const char *source)
{
	char line[1200] = "";
	FILE *f = fopen(report, "r");

	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	fclose(f);
	assert_non_null(strstr(line, kernel));
	assert_non_null(strstr(line, source));
	unlink(report);
}

static void recover(struct drv_test *t)
{
	unsigned flags;
	int is_active;

	OK(cuDevicePrimaryCtxReset(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &is_active));
	assert_false(is_active);
	OK(cuModuleLoadData(&t->mod, drv_ptx));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &is_active));
	assert_true(is_active);
	CUdeviceptr out = drv_words(1);
	OK(drv_busy(t, NULL, 4, 32, 10, out));
	OK(cuCtxSynchronize());
	assert_int_equal(drv_read(out), 4);
	OK(cuMemFree(out));
}

static void expect_fault(
	struct drv_test *t, const char *kernel, CUdeviceptr p, CUresult want, const char *source)
{
	CUstream s;
	CUevent e;
	void *params[] = {&p};
	uint32_t word;
	CUdeviceptr ok = drv_words(1);

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&e, 0));
	OK(cuLaunchKernel(drv_fn(t, kernel), 2, 1, 1, 32, 1, 1, 0, s,
		strcmp(kernel, "trapped") ? params : NULL, NULL));
	CUresult recorded = cuEventRecord(e, s); /* the fault may have occurred already */
	assert_true(recorded == CUDA_SUCCESS || recorded == want);
	assert_int_equal(cuStreamSynchronize(s), want);
	assert_int_equal(cuCtxSynchronize(), want);
	assert_int_equal(cuMemcpyDtoH(&word, ok, 4), want);
	assert_int_equal(cuMemAlloc(&ok, 4), want);
	assert_int_equal(cuEventQuery(e), want);
	assert_int_equal(cuStreamQuery(s), want);
	expect_report(kernel, source);
	recover(t);
	assert_int_equal(cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
}

static void address(void **state)
{
	expect_fault(*state, "bad", 0x10, CUDA_ERROR_ILLEGAL_ADDRESS, "st.global.u32");
}

static void past_the_end(void **state)
{
	CUdeviceptr p = drv_words(3);

	expect_fault(*state, "bad", p + 12, CUDA_ERROR_ILLEGAL_ADDRESS, "st.global.u32");
}

static void misaligned(void **state)
{
	CUdeviceptr p = drv_words(4);

	expect_fault(*state, "bad", p + 2, CUDA_ERROR_MISALIGNED_ADDRESS, "st.global.u32");
}

static const char code_ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".func (.param .b32 r) answer()\n{\n	st.param.b32 [r], 42;\n	ret;\n}\n"
	".visible .entry take(.param .u64 p)\n{\n	.reg .b64 %d<2>;\n"
	"	ld.param.u64 %d0, [p];\n	mov.u64 %d1, answer;\n	st.global.u64 [%d0], %d1;\n"
	"	ret;\n}\n"
	".visible .entry call(.param .u64 p, .param .u64 out)\n{\n"
	"	.reg .b32 %r<1>;\n	.reg .b64 %d<3>;\n"
	"proto: .callprototype (.param .b32 _) _ ();\n	.param .b32 r;\n"
	"	ld.param.u64 %d0, [p];\n	ld.global.u64 %d1, [%d0];\n"
	"	call (r), %d1, (), proto;\n	ld.param.b32 %r0, [r];\n"
	"	ld.param.u64 %d2, [out];\n	st.global.u32 [%d2], %r0;\n	ret;\n}\n";

/* A code address that a kernel stores may be called by another kernel of the same module, but
 * not by one of another module: each module has its own address for a function, even if the text
 * is the same. */
static void code_address(void **state)
{
	struct drv_test *t = *state;
	CUdeviceptr p = drv_words(4), out = p + 8;
	void *params[] = {&p, &out};
	CUfunction take, call, other;
	CUmodule mod, twin;

	OK(cuModuleLoadData(&mod, code_ptx));
	OK(cuModuleLoadData(&twin, code_ptx));
	OK(cuModuleGetFunction(&take, mod, "take"));
	OK(cuModuleGetFunction(&call, mod, "call"));
	OK(cuModuleGetFunction(&other, twin, "call"));
	OK(cuLaunchKernel(take, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(cuLaunchKernel(call, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(drv_read(out), 42);
	OK(cuLaunchKernel(other, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_INVALID_PC);
	expect_report("call", "call (r), %d1");
	recover(t);
}

static void trap(void **state)
{
	expect_fault(*state, "trapped", 0, CUDA_ERROR_LAUNCH_FAILED, "trap");
}

/* A fault ends kernels that spin and work that waits in streams. Every waiting call returns the
 * error. */
static void others_end(void **state)
{
	struct drv_test *t = *state;
	uint32_t *gate = drv_mapped(1);
	CUdeviceptr g = (CUdeviceptr)(uintptr_t)gate, nowhere = 64;
	void *spin[] = {&g}, *bad[] = {&nowhere};
	CUstream a, b, c;

	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&c, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchKernel(drv_fn(t, "spin"), 2, 1, 1, 32, 1, 1, 0, a, spin, NULL));
	OK(cuStreamWaitValue32(b, g, 1, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuLaunchKernel(drv_fn(t, "bad"), 1, 1, 1, 32, 1, 1, 0, c, bad, NULL));
	assert_int_equal(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(cuStreamSynchronize(b), CUDA_ERROR_ILLEGAL_ADDRESS);
	unlink(report);
	recover(t);
}

/* A fault in a context that the program created ends that context only; the primary context
 * still works. */
static void other_context(void **state)
{
	struct drv_test *t = *state;
	CUcontext own;
	CUmodule mod;
	CUfunction fn;
	CUdeviceptr nowhere = 64;
	void *params[] = {&nowhere};

	OK(cuCtxCreate(&own, 0, 0));
	OK(cuModuleLoadData(&mod, drv_ptx));
	OK(cuModuleGetFunction(&fn, mod, "bad"));
	OK(cuLaunchKernel(fn, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	OK(cuCtxDestroy(own));
	CUdeviceptr out = drv_words(1);
	OK(drv_busy(t, NULL, 1, 32, 1, out));
	OK(cuCtxSynchronize());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address),
		cmocka_unit_test(past_the_end),
		cmocka_unit_test(misaligned),
		cmocka_unit_test(trap),
		cmocka_unit_test(code_address),
		cmocka_unit_test(others_end),
		cmocka_unit_test(other_context),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
