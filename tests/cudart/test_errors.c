/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests errors: which call keeps an error and which clears it; names and texts; kernels' faults,
 * which are sticky. */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_last_error(void **state)
{
	CUdeviceptr p;

	assert_int_equal(cudaGetLastError(), cudaSuccess);
	assert_int_equal(cudaSetDevice(77), cudaErrorInvalidDevice);
	assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
	/* A successful call does not clear the earlier error. */
	OK(cudaMalloc(&p, 16));
	assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidDevice);
	/* The next failing call replaces it. */
	assert_int_equal(cudaMalloc(NULL, 16), cudaErrorInvalidValue);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
	assert_int_equal(cudaGetLastError(), cudaSuccess);
	OK(cudaFree(p));
}

static void test_names(void **state)
{
	assert_string_equal(cudaGetErrorName(cudaSuccess), "cudaSuccess");
	assert_string_equal(cudaGetErrorString(cudaSuccess), "no error");
	assert_string_equal(cudaGetErrorName(700), "cudaErrorIllegalAddress");
	assert_string_equal(cudaGetErrorString(700), "an illegal memory access was encountered");
	assert_string_equal(
		cudaGetErrorName(cudaErrorInvalidConfiguration), "cudaErrorInvalidConfiguration");
	assert_string_equal(cudaGetErrorName(12345), "unrecognized error code");
	assert_string_equal(cudaGetErrorString(-1), "unrecognized error code");
}

static void test_launch_errors(void **state)
{
	void *args[1] = {NULL};
	static const char nothing;
	CUdeviceptr out;
	unsigned *p;

	OK(cudaMalloc(&out, 64));
	p = (unsigned *)out;
	LAUNCH(number, 1, 2048, 0, NULL, p, 1);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidConfiguration);
	LAUNCH(number, 0, 32, 0, NULL, p, 1);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidConfiguration);
	/* Launches without a pushed configuration. */
	number(p, 1);
	assert_int_equal(cudaGetLastError(), cudaErrorMissingConfiguration);
	assert_int_equal(cudaLaunchKernel(&nothing, (struct rt_dim3){1, 1, 1},
				 (struct rt_dim3){1, 1, 1}, args, 0, NULL),
		cudaErrorInvalidDeviceFunction);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
	LAUNCH(number, 1, 16, 0, NULL, p, 16);
	OK(cudaGetLastError());
	OK(cudaDeviceSynchronize());
	OK(cudaFree(out));
}

/* A call of an unsupported function is reported, with its name, once for each function. */
static void test_lacks(void **state)
{
	char name[] = "/tmp/heddle-cudart-XXXXXX", text[512] = "";
	int fd = mkstemp(name), err = dup(STDERR_FILENO);
	ssize_t n;

	assert_true(fd >= 0 && err >= 0);
	unlink(name);
	dup2(fd, STDERR_FILENO);
	rt_error first = cudaMallocMipmappedArray(), second = cudaMallocMipmappedArray();
	rt_error other = cudaGraphAddNode();
	dup2(err, STDERR_FILENO);
	n = pread(fd, text, sizeof(text) - 1, 0);
	close(fd);
	close(err);
	assert_int_equal(first, cudaErrorNotSupported);
	assert_int_equal(second, cudaErrorNotSupported);
	assert_int_equal(other, cudaErrorNotSupported);
	assert_int_equal(cudaGetLastError(), cudaErrorNotSupported);
	assert_true(n > 0);
	assert_string_equal(text,
		"heddle: CUDA runtime on the virtual GPU: cudaMallocMipmappedArray is not "
		"supported (error 801)\n"
		"heddle: CUDA runtime on the virtual GPU: cudaGraphAddNode is not supported "
		"(error 801)\n");
}

int run_errors(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_error),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_launch_errors),
		cmocka_unit_test(test_lacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* ---- after a kernel's fault ---- */

static void test_sticky(void **state)
{
	CUdeviceptr p;

	OK(cudaMalloc(&p, 64));
	LAUNCH(astray, 1, 1, 0, NULL);
	assert_int_equal(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	assert_int_equal(cudaGetLastError(), cudaErrorIllegalAddress);
	/* The error cannot be cleared, and every call returns it. */
	assert_int_equal(cudaGetLastError(), cudaErrorIllegalAddress);
	assert_int_equal(cudaPeekAtLastError(), cudaErrorIllegalAddress);
	assert_int_equal(cudaMalloc(&p, 64), cudaErrorIllegalAddress);
	assert_int_equal(cudaFree(0), cudaErrorIllegalAddress);
	LAUNCH(number, 1, 1, 0, NULL, (unsigned *)p, 1);
	assert_int_equal(cudaPeekAtLastError(), cudaErrorIllegalAddress);
}

/* A reset makes the device usable again, and clears the error. */
static void test_reset(void **state)
{
	unsigned host[4] = {9, 9, 9, 9};
	CUdeviceptr p;

	OK(cudaDeviceReset());
	OK(cudaGetLastError());
	OK(cudaMalloc(&p, sizeof(host)));
	LAUNCH(number, 1, 4, 0, NULL, (unsigned *)p, 4);
	OK(cudaGetLastError());
	OK(cudaMemcpy(host, (void *)p, sizeof(host), RT_DEVICE_TO_HOST));
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(host[i], i);
	OK(cudaFree(p));
}

int run_faults(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sticky),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
