/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests devices: count, properties in both layouts, attributes, limits, versions, and functions
 * of the driver.
 */
#include "host.h"

#include <string.h>

static void test_versions(void **state)
{
	int version = 0;

	OK(cudaRuntimeGetVersion(&version));
	assert_int_equal(version, RT_ABI == 12 ? 12090 : 13000);
	OK(cudaDriverGetVersion(&version));
	assert_int_equal(version, CU_CUDA_VERSION);
}

static void test_device(void **state)
{
	int n = 0, device = -1, value = 0;
	unsigned flags = 0;

	OK(cudaGetDeviceCount(&n));
	assert_int_equal(n, 1);
	OK(cudaGetDevice(&device));
	assert_int_equal(device, 0);
	OK(cudaSetDevice(0));
	assert_int_equal(cudaSetDevice(1), cudaErrorInvalidDevice);
	assert_int_equal(cudaSetDevice(-1), cudaErrorInvalidDevice);
	OK(cudaGetDevice(&device));
	assert_int_equal(device, 0);
	OK(cudaDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
	assert_int_equal(value, 32);
	assert_int_equal(cudaDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 5),
		cudaErrorInvalidDevice);
	OK(cudaSetDeviceFlags(CU_CTX_SCHED_YIELD));
	OK(cudaGetDeviceFlags(&flags));
	assert_int_equal(flags & CU_CTX_SCHED_MASK, CU_CTX_SCHED_YIELD);
	assert_int_equal(cudaDeviceCanAccessPeer(&value, 0, 7), cudaErrorInvalidDevice);
	cudaGetLastError();
}

/* Sizes and offsets are those of NVIDIA's headers of CUDA 12.9 and 13.0. */
static void test_layouts(void **state)
{
	assert_int_equal(sizeof(struct rt_props12), 1032);
	assert_int_equal(offsetof(struct rt_props12, totalGlobalMem), 288);
	assert_int_equal(offsetof(struct rt_props12, clockRate), 348);
	assert_int_equal(offsetof(struct rt_props12, major), 360);
	assert_int_equal(offsetof(struct rt_props12, multiProcessorCount), 388);
	assert_int_equal(offsetof(struct rt_props12, concurrentKernels), 576);
	assert_int_equal(offsetof(struct rt_props12, memoryClockRate), 608);
	assert_int_equal(offsetof(struct rt_props12, unifiedFunctionPointers), 776);
	assert_int_equal(sizeof(struct rt_props13), 1008);
	assert_int_equal(offsetof(struct rt_props13, totalGlobalMem), 288);
	assert_int_equal(offsetof(struct rt_props13, major), 360);
	assert_int_equal(offsetof(struct rt_props13, multiProcessorCount), 384);
	assert_int_equal(offsetof(struct rt_props13, concurrentKernels), 560);
	assert_int_equal(offsetof(struct rt_props13, hostNumaMultinodeIpcSupported), 780);
	assert_int_equal(sizeof(struct rt_func_attributes), 144);
	assert_int_equal(offsetof(struct rt_pointer_attributes, reserved), 24);
	assert_int_equal(sizeof(struct rt_pointer_attributes), 88);
	assert_int_equal(sizeof(struct rt_copy3d), 160);
	assert_int_equal(sizeof(struct rt_launch_config), 56);
	assert_int_equal(sizeof(struct rt_kernel_node), 56);
}

static void test_properties(void **state)
{
	rt_props p[2]; /* p[1] must stay unchanged */
	int value = 0;

	memset(p, 0x5a, sizeof(p));
	OK(get_properties(&p[0], 0));
	assert_string_equal(p[0].name, "heddle virtual GPU");
	assert_int_equal(p[0].warpSize, 32);
	assert_int_equal(p[0].maxThreadsDim[0], 1024);
	assert_int_equal(p[0].maxThreadsDim[2], 64);
	assert_int_equal(p[0].maxGridSize[0], 2147483647);
	assert_int_equal(p[0].major * 10 + p[0].minor, 90);
	assert_int_equal(p[0].totalConstMem, 65536);
	assert_true(p[0].totalGlobalMem > (1u << 20));
	OK(cudaDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	assert_int_equal(p[0].multiProcessorCount, value);
	OK(cudaDeviceGetAttribute(
		&value, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
	assert_int_equal(p[0].sharedMemPerBlockOptin, value);
	for (size_t i = 0; i < sizeof(p[1]); i++)
		assert_int_equal(((unsigned char *)&p[1])[i], 0x5a);
#if RT_ABI == 12
	OK(cudaDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0));
	assert_int_equal(p[0].clockRate, value);
#endif
	assert_int_equal(get_properties(&p[0], 1), cudaErrorInvalidDevice);
	assert_int_equal(get_properties(NULL, 0), cudaErrorInvalidValue);
	cudaGetLastError();
}

static void test_limits(void **state)
{
	int least = 0, greatest = 0;
	CUfunc_cache cache;
	size_t bytes = 0;

	OK(cudaDeviceSetLimit(CU_LIMIT_STACK_SIZE, 4096));
	OK(cudaDeviceGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
	assert_int_equal(bytes, 4096);
	OK(cudaDeviceSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
	OK(cudaDeviceGetCacheConfig(&cache));
	assert_int_equal(cache, CU_FUNC_CACHE_PREFER_L1);
	OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	assert_true(greatest <= least);
#if RT_ABI == 12
	bytes = 0;
	OK(cudaThreadGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
	assert_int_equal(bytes, 4096);
	OK(cudaThreadSynchronize());
#endif
}

static void test_entry_points(void **state)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	CUresult (*version)(int *) = NULL;
	void *plain = NULL, *per_thread = NULL;
	int is = 0;

	OK(cudaGetDriverEntryPoint("cuDriverGetVersion", (void **)&version, 0, &status));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
	assert_int_equal(version(&is), CUDA_SUCCESS);
	assert_int_equal(is, CU_CUDA_VERSION);
	OK(cudaGetDriverEntryPoint("cuLaunchKernel", &plain, 0, &status));
	OK(cudaGetDriverEntryPoint_ptsz("cuLaunchKernel", &per_thread, 0, &status));
	assert_ptr_not_equal(plain, per_thread);
	OK(cudaGetDriverEntryPoint("cuNoSuch", &plain, 0, &status));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	assert_null(plain);
}

/* ---- two devices ---- */

enum { N = 1000 };

/* Runs the kernel on one device, on memory of ones, with that device's own value of factor. */
static void scale_on(int device, unsigned own, CUdeviceptr *ret)
{
	struct rt_pointer_attributes a;
	unsigned ones[N];

	for (unsigned i = 0; i < N; i++)
		ones[i] = 1;
	OK(cudaSetDevice(device));
	OK(cudaMalloc(ret, sizeof(ones)));
	OK(cudaPointerGetAttributes(&a, *ret));
	assert_int_equal(a.device, device);
	OK(cudaMemcpy((void *)*ret, ones, sizeof(ones), RT_HOST_TO_DEVICE));
	OK(cudaMemcpyToSymbol(&factor, &own, sizeof(own), 0, RT_HOST_TO_DEVICE));
	LAUNCH(scale, (N + 127) / 128, 128, 0, NULL, (unsigned *)*ret, (unsigned *)*ret, N);
	OK(cudaGetLastError());
}

static void all_are(CUdeviceptr p, unsigned expected)
{
	unsigned out[N];

	OK(cudaMemcpy(out, (void *)p, sizeof(out), RT_DEVICE_TO_HOST));
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(out[i], expected);
}

static void test_two(void **state)
{
	int n = 0, can = 0, device = -1;
	CUdeviceptr p[2];

	OK(cudaGetDeviceCount(&n));
	assert_int_equal(n, 2);
	scale_on(0, 5, &p[0]);
	scale_on(1, 7, &p[1]);
	OK(cudaGetDevice(&device));
	assert_int_equal(device, 1);
	for (int i = 0; i < 2; i++) {
		OK(cudaSetDevice(i));
		OK(cudaDeviceSynchronize());
		all_are(p[i], i ? 7 : 5);
	}
	OK(cudaDeviceCanAccessPeer(&can, 0, 1));
	assert_int_equal(can, 1);
	OK(cudaMemcpyPeer(p[1], 1, p[0], 0, N * sizeof(unsigned)));
	all_are(p[1], 5);
	assert_int_equal(cudaSetDevice(2), cudaErrorInvalidDevice);
	/* A kernel can access the other device's memory once peer access is enabled. */
	OK(cudaSetDevice(0));
	OK(cudaDeviceEnablePeerAccess(1, 0));
	LAUNCH(scale, (N + 127) / 128, 128, 0, NULL, (unsigned *)p[1], (unsigned *)p[0], N);
	OK(cudaDeviceSynchronize());
	all_are(p[1], 25);
}

/* A managed variable is the same for both devices. */
static void test_managed(void **state)
{
	unsigned *sum = total();

	for (int i = 0; i < 4; i++) {
		OK(cudaSetDevice(i % 2));
		LAUNCH(count_one, 1, 1, 0, NULL);
		OK(cudaDeviceSynchronize());
		assert_int_equal(*sum, 101 + i);
	}
}

int run_two(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_managed),
		cmocka_unit_test(test_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int run_devices(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_entry_points),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
