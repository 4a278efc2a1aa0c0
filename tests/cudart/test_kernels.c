/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests kernels: each way to launch, attributes, occupancy, handles; and a module that is
 * registered late and unregistered again. */
#include "host.h"

#include <string.h>

#include "image/fixture.h"

static const void *host_of(void (*fn)(void))
{
	return (const void *)(uintptr_t)fn;
}

static const void *number_host(void)
{
	return host_of((void (*)(void))number);
}

static void expect_numbers(CUdeviceptr p, unsigned n)
{
	unsigned host[256];

	OK(cudaMemcpy(host, (void *)p, n * sizeof(*host), RT_DEVICE_TO_HOST));
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(host[i], i);
	OK(cudaMemset(p, 0xff, n * sizeof(*host)));
}

static void test_launches(void **state)
{
	struct rt_dim3 grid = {2, 1, 1}, block = {50, 1, 1};
	struct rt_launch_config config = {.grid = grid, .block = block};
	unsigned n = 100;
	CUdeviceptr p;
	void *args[] = {&p, &n};
	CUkernel kernel;
	CUfunction fn;
	CUstream s;

	OK(cudaStreamCreate(&s));
	OK(cudaMalloc(&p, 256 * sizeof(unsigned)));
	OK(cudaMemset(p, 0xff, 256 * sizeof(unsigned)));
	LAUNCH(number, 2, 50, 0, NULL, (unsigned *)p, n);
	OK(cudaGetLastError());
	expect_numbers(p, n);
	OK(cudaLaunchKernel(number_host(), grid, block, args, 0, s));
	expect_numbers(p, n);
	OK(cudaLaunchKernel_ptsz(number_host(), grid, block, args, 0, NULL));
	OK(cudaStreamSynchronize_ptsz(NULL));
	expect_numbers(p, n);
	config.stream = s;
	OK(cudaLaunchKernelExC(&config, number_host(), args));
	expect_numbers(p, n);
	OK(cudaLaunchCooperativeKernel(number_host(), grid, block, args, 0, s));
	expect_numbers(p, n);
	/* Launches the kernel by its handle, as programs launch kernels of libraries. */
	OK(cudaGetKernel(&kernel, number_host()));
	OK(cudaLaunchKernel(kernel, grid, block, args, 0, s));
	expect_numbers(p, n);
	OK(cudaGetFuncBySymbol(&fn, number_host()));
	assert_non_null(fn);
	OK(cudaStreamDestroy(s));
	OK(cudaFree(p));
}

/* Launches another kernel while the arguments of a launch are evaluated. */
static unsigned launch_within(unsigned *p)
{
	LAUNCH(number, 1, 4, 0, NULL, p, 4);
	return 8;
}

static void test_nested(void **state)
{
	CUdeviceptr p;

	OK(cudaMalloc(&p, 64));
	LAUNCH(number, 1, 8, 0, NULL, (unsigned *)p, launch_within((unsigned *)p));
	OK(cudaGetLastError());
	expect_numbers(p, 8);
	OK(cudaFree(p));
}

static void test_attributes(void **state)
{
	const void *sum = host_of((void (*)(void))sum_shared);
	struct rt_func_attributes a;
	size_t offset = 0, size = 0;
	const char *name = NULL;

	memset(&a, 0x5a, sizeof(a));
	OK(cudaFuncGetAttributes(&a, sum));
	assert_true(a.max_threads >= 32 && a.max_threads <= 1024);
	assert_true(a.registers > 0);
	assert_int_equal(a.binary_version, 90);
	assert_int_equal(a.max_dynamic_shared_bytes, 48 * 1024);
	assert_int_equal(a.reserved[15], 0);
	OK(cudaFuncSetAttribute(sum, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024));
	OK(cudaFuncGetAttributes(&a, sum));
	assert_int_equal(a.max_dynamic_shared_bytes, 64 * 1024);
	OK(cudaFuncSetCacheConfig(sum, CU_FUNC_CACHE_PREFER_SHARED));
	OK(cudaFuncGetName(&name, sum));
	assert_string_equal(name, "sum_shared");
	OK(cudaFuncGetParamInfo(number_host(), 1, &offset, &size));
	assert_int_equal(offset, 8);
	assert_int_equal(size, 4);
	assert_int_equal(cudaFuncGetAttributes(&a, &a), cudaErrorInvalidDeviceFunction);
	cudaGetLastError();
}

static void test_shared(void **state)
{
	unsigned host = 0;
	CUdeviceptr p;

	OK(cudaMalloc(&p, 4));
	LAUNCH(sum_shared, 1, 100, 100 * sizeof(unsigned), NULL, (unsigned *)p);
	OK(cudaGetLastError());
	OK(cudaMemcpy(&host, (void *)p, 4, RT_DEVICE_TO_HOST));
	assert_int_equal(host, 4950);
	LAUNCH(sum_shared, 1, 100, 1u << 30, NULL, (unsigned *)p);
	assert_int_equal(cudaGetLastError(), cudaErrorInvalidValue);
	OK(cudaFree(p));
}

static void test_occupancy(void **state)
{
	int few = 0, many = 0, threads = 0;
	size_t bytes = 0;

	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&many, number_host(), 128, 0));
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		&few, number_host(), 128, 40 * 1024, CU_OCCUPANCY_DEFAULT));
	assert_true(few >= 1 && few < many);
	OK(cudaDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
	assert_true(many * 128 <= threads);
	OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, number_host(), 2, 128));
	assert_true(bytes >= 1024);
}

/* Registers a module while the program runs and unregisters it again, as a plugin does. */
static void test_late_module(void **state)
{
	static const char key;
	struct {
		int magic, version;
		const void *data;
		void *more;
	} w = {0x466243b1, 1, NULL, NULL};
	struct fixture_entry e = {.kind = IMAGE_PTX,
		.arch = 70,
		.packing = IMAGE_ZSTD,
		.text = fixture_ptx(70, 0, 77)};
	struct rt_dim3 one = {1, 1, 1};
	struct strbuf box = {0};
	unsigned host = 0;
	CUdeviceptr p;
	void *args[] = {&p};

	OK(cudaMalloc(&p, 64));
	for (int round = 0; round < 2; round++) {
		box = (struct strbuf){0};
		fixture_container(&box, &e, 1);
		w.data = box.at;
		void **handle = __cudaRegisterFatBinary(&w);
		__cudaRegisterFunction(handle, &key, "k", "k", -1, NULL, NULL, NULL, NULL, NULL);
		__cudaRegisterFatBinaryEnd(handle);
		OK(cudaMemset(p, 0, 64));
		OK(cudaLaunchKernel(&key, one, one, args, 0, NULL));
		OK(cudaMemcpy(&host, (void *)p, 4, RT_DEVICE_TO_HOST));
		assert_int_equal(host, 77);
		__cudaUnregisterFatBinary(handle);
		strbuf_finish(&box);
		assert_int_equal(cudaLaunchKernel(&key, one, one, args, 0, NULL),
			cudaErrorInvalidDeviceFunction);
	}
	OK(cudaFree(p));
	cudaGetLastError();
}

/* A fatbin has code only for a newer device: each call that needs the kernel fails. */
static void test_no_image(void **state)
{
	static const char key;
	struct {
		int magic, version;
		const void *data;
		void *more;
	} w = {0x466243b1, 1, NULL, NULL};
	struct fixture_entry e = {.kind = IMAGE_PTX, .arch = 120, .text = fixture_ptx(120, 0, 1)};
	struct rt_dim3 one = {1, 1, 1};
	struct strbuf box = {0};
	void *args[1] = {NULL};
	struct rt_func_attributes attributes;
	CUkernel kernel = NULL;

	fixture_container(&box, &e, 1);
	w.data = box.at;
	void **handle = __cudaRegisterFatBinary(&w);
	__cudaRegisterFunction(handle, &key, "k", "k", -1, NULL, NULL, NULL, NULL, NULL);
	assert_int_equal(
		cudaLaunchKernel(&key, one, one, args, 0, NULL), cudaErrorNoKernelImageForDevice);
	assert_int_equal(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
	assert_int_equal(cudaLaunchCooperativeKernel(&key, one, one, args, 0, NULL),
		cudaErrorNoKernelImageForDevice);
	assert_int_equal(cudaFuncGetAttributes(&attributes, &key), cudaErrorNoKernelImageForDevice);
	/* nvcc's code for <<< >>> gets the kernel's handle once, and launches by this handle. */
	assert_int_equal(__cudaGetKernel(&kernel, &key), cudaErrorNoKernelImageForDevice);
	for (int i = 0; i < 2; i++) {
		cudaGetLastError();
		assert_int_equal(__cudaLaunchKernel(kernel, one, one, args, 0, NULL),
			cudaErrorNoKernelImageForDevice);
		assert_int_equal(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
	}
	assert_int_equal(
		__cudaLaunchKernel(NULL, one, one, args, 0, NULL), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
	__cudaUnregisterFatBinary(handle);
	strbuf_finish(&box);
}

int run_kernels(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launches),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_occupancy),
		cmocka_unit_test(test_late_module),
		cmocka_unit_test(test_no_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
