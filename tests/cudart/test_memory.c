/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests memory: kinds of allocation, pools, pointer attributes, and advice in the forms of both
 * versions.
 */
#include "host.h"

#include <stdlib.h>
#include <string.h>

static void test_nothing(void **state)
{
	CUdeviceptr p = 1;
	size_t pitch = 1;
	void *h = &p;

	OK(cudaMalloc(&p, 0));
	assert_int_equal(p, 0);
	OK(cudaFree(0));
	OK(cudaMallocHost(&h, 0));
	assert_null(h);
	OK(cudaFreeHost(NULL));
	OK(cudaMallocPitch(&p, &pitch, 0, 4));
	assert_int_equal(p, 0);
	assert_int_equal(cudaFree((CUdeviceptr)&pitch), cudaErrorInvalidValue);
	assert_int_equal(cudaMalloc(&p, (size_t)1 << 60), cudaErrorMemoryAllocation);
	assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
}

static void test_kinds(void **state)
{
	struct rt_pitched pitched;
	size_t free_bytes = 0, all = 0, pitch = 0;
	CUdeviceptr a, mapped;
	unsigned flags = 0;
	void *h;

	OK(cudaMemGetInfo(&free_bytes, &all));
	assert_true(free_bytes > 0 && free_bytes <= all);
	OK(cudaMallocPitch(&a, &pitch, 100, 7));
	assert_true(pitch >= 100 && pitch % 32 == 0);
	OK(cudaFree(a));
	OK(cudaMalloc3D(&pitched, (struct rt_extent){100, 5, 3}));
	assert_true(pitched.pitch >= 100);
	assert_int_equal(pitched.width, 100);
	assert_int_equal(pitched.height, 5);
	OK(cudaFree((CUdeviceptr)pitched.ptr));
	OK(cudaHostAlloc(&h, 256, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cudaHostGetFlags(&flags, h));
	assert_true(flags & CU_MEMHOSTALLOC_DEVICEMAP);
	OK(cudaHostGetDevicePointer(&mapped, h, 0));
	assert_true(mapped != 0);
	OK(cudaFreeHost(h));
	h = aligned_alloc(4096, 4096);
	OK(cudaHostRegister(h, 4096, 0));
	assert_int_equal(cudaHostRegister(h, 4096, 0), cudaErrorHostMemoryAlreadyRegistered);
	OK(cudaHostUnregister(h));
	free(h);
	cudaGetLastError();
}

static void test_pointers(void **state)
{
	enum { HOST = 1, DEVICE = 2, MANAGED = 3 };
	struct rt_pointer_attributes a;
	CUdeviceptr p;
	int local;
	void *h;

	memset(&a, 0x5a, sizeof(a));
	OK(cudaMalloc(&p, 64));
	OK(cudaPointerGetAttributes(&a, p + 4));
	assert_int_equal(a.type, DEVICE);
	assert_int_equal(a.device, 0);
	assert_int_equal((CUdeviceptr)a.device_ptr, p + 4);
	/* CUDA 12's structure ends before the reserved words. */
	assert_int_equal(a.reserved[0], RT_ABI == 12 ? 0x5a5a5a5a5a5a5a5a : 0);
	OK(cudaFree(p));
	OK(cudaMallocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL));
	OK(cudaPointerGetAttributes(&a, p));
	assert_int_equal(a.type, MANAGED);
	OK(cudaFree(p));
	OK(cudaMallocHost(&h, 64));
	OK(cudaPointerGetAttributes(&a, (CUdeviceptr)h));
	assert_int_equal(a.type, HOST);
	assert_ptr_equal(a.host_ptr, h);
	OK(cudaFreeHost(h));
	OK(cudaPointerGetAttributes(&a, (CUdeviceptr)&local));
	assert_int_equal(a.type, 0);
	assert_int_equal(a.device, CU_DEVICE_INVALID);
	assert_null(a.device_ptr);
}

static void test_pools(void **state)
{
	unsigned host[64];
	CUmemoryPool pool;
	CUdeviceptr p;
	CUstream s;

	OK(cudaStreamCreate(&s));
	OK(cudaMallocAsync(&p, sizeof(host), s));
	LAUNCH(number, 1, 64, 0, s, (unsigned *)p, 64);
	OK(cudaMemcpyAsync(host, (void *)p, sizeof(host), RT_DEVICE_TO_HOST, s));
	OK(cudaFreeAsync(p, s));
	OK(cudaStreamSynchronize(s));
	assert_int_equal(host[63], 63);
	OK(cudaDeviceGetDefaultMemPool(&pool, 0));
	OK(cudaMallocFromPoolAsync(&p, 64, pool, s));
	OK(cudaFreeAsync(p, s));
	OK(cudaStreamSynchronize(s));
	OK(cudaMemPoolTrimTo(pool, 0));
	OK(cudaStreamDestroy(s));
}

/* Locations are device numbers in CUDA 12, and CUmemLocation in CUDA 13 and in the later
 * functions of 12. */
static void test_advice(void **state)
{
	CUmemLocation where = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
	CUdeviceptr p;

	OK(cudaMallocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL));
	*(unsigned *)p = 5;
#if RT_ABI == 12
	OK(cudaMemAdvise(p, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0));
	OK(cudaMemAdvise(p, 4096, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
	OK(cudaMemPrefetchAsync(p, 4096, 0, NULL));
	OK(cudaMemPrefetchAsync(p, 4096, CU_DEVICE_CPU, NULL));
	OK(cudaMemAdvise_v2(p, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, where));
	OK(cudaMemPrefetchAsync_v2(p, 4096, where, 0, NULL));
#else
	OK(cudaMemAdvise(p, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, where));
	OK(cudaMemPrefetchAsync(p, 4096, where, 0, NULL));
#endif
	OK(cudaDeviceSynchronize());
	assert_int_equal(*(unsigned *)p, 5);
	OK(cudaFree(p));
}

int run_memory(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_pointers),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_advice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
