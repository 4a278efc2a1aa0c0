/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests the virtual GPU's driver call by call: device properties, names, entry points, code,
 * memory, occupancy, and the error codes for misuse. */
#include "drv.h"

#include <dlfcn.h>

static int setup(void **state)
{
	static struct drv_test t;
	int n;

	/* Before cuInit, calls fail without crashing. */
	assert_int_equal(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
	assert_int_equal(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	unsetenv("HEDDLE_VGPU");
	drv_begin(&t, "workers=1,sms=4,memory=64M");
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	drv_end(*state);
	return 0;
}

static void device(void **state)
{
	char name[100], id[20];
	int v;
	CUdevice d;
	CUuuid a;

	(void)state;
	OK(cuDriverGetVersion(&v));
	assert_true(v >= 12000);
	OK(cuDeviceGetCount(&v));
	assert_int_equal(v, 1);
	OK(cuDeviceGet(&d, 0));
	assert_int_equal(cuDeviceGet(&d, 1), CUDA_ERROR_INVALID_DEVICE);
	OK(cuDeviceGetName(name, sizeof(name), 0));
	assert_non_null(strstr(name, "virtual"));
	OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	assert_int_equal(v, 4);
	OK(cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	assert_int_equal(v, 9);
	OK(cuDeviceGetPCIBusId(id, sizeof(id), 0));
	OK(cuDeviceGetByPCIBusId(&d, id));
	assert_int_equal(cuDeviceGetByPCIBusId(&d, "0000:01:00.0"), CUDA_ERROR_INVALID_DEVICE);
	OK(cuDeviceGetUuid(&a, 0));
	assert_int_equal(cuDeviceGetAttribute(NULL, 1, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuDeviceGetAttribute(&v, 100000, 0), CUDA_ERROR_INVALID_VALUE);
}

static void names(void **state)
{
	const char *s;

	(void)state;
	OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &s));
	assert_string_equal(s, "CUDA_ERROR_ILLEGAL_ADDRESS");
	OK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &s));
	assert_string_equal(s, "out of memory");
	assert_int_equal(cuGetErrorName(12345, &s), CUDA_ERROR_INVALID_VALUE);
	assert_null(s);
}

static void *proc(const char *name, int version, uint64_t flags, int *ret_status)
{
	void *fn = &fn;
	CUdriverProcAddressQueryResult status;

	OK(cuGetProcAddress(name, &fn, version, flags, &status));
	*ret_status = (int)status;
	return fn;
}

static void entry_points(void **state)
{
	int status;
	void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	(void)state;
	assert_non_null(self);
	assert_ptr_equal(proc("cuMemAlloc", 12000, 0, &status), dlsym(self, "cuMemAlloc_v2"));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
	assert_ptr_equal(proc("cuCtxCreate", 11000, 0, &status), dlsym(self, "cuCtxCreate_v2"));
	assert_ptr_equal(proc("cuCtxCreate", 11040, 0, &status), dlsym(self, "cuCtxCreate_v3"));
	assert_ptr_equal(proc("cuCtxCreate", 13000, 0, &status), dlsym(self, "cuCtxCreate_v4"));
	assert_ptr_equal(
		proc("cuGetProcAddress", 12000, 0, &status), dlsym(self, "cuGetProcAddress_v2"));
	assert_ptr_equal(proc("cuLaunchKernel", 12000, 0, &status), dlsym(self, "cuLaunchKernel"));
	assert_ptr_equal(proc("cuLaunchKernel", 12000,
				 CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status),
		dlsym(self, "cuLaunchKernel_ptsz"));
	assert_ptr_equal(
		proc("cuMemcpyHtoD", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status),
		dlsym(self, "cuMemcpyHtoD_v2_ptds"));
	assert_null(proc("cuLibraryLoadData", 11000, 0, &status));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	assert_null(proc("cuNoSuchThing", 12000, 0, &status));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	void *fn;
	assert_int_equal(cuGetProcAddress_v1("cuNoSuchThing", &fn, 12000, 0), CUDA_ERROR_NOT_FOUND);
	assert_int_equal(cuGetProcAddress(NULL, &fn, 12000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
	dlclose(self);
}

/* PTX of each version and for each target is accepted or refused as by a CUDA 13.0 driver on a
 * device of sm_90. */
static void accepted(void **state)
{
	static const struct {
		const char *head;
		CUresult result;
		const char *said; /* a part of the error log */
	} all[] = {{".version 9.0\n.target sm_90", CUDA_SUCCESS, NULL},
		{".version 1.4\n.target sm_10, debug", CUDA_SUCCESS, NULL},
		{"// a\n/* b\n */ .version 9.0 // c\n.target\tsm_90a", CUDA_SUCCESS, NULL},
		{".version 9.0\n.target sm_90f", CUDA_SUCCESS, NULL},
		{".version 9.1\n.target sm_90", CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "9.0 at most"},
		{"/* a */\n.version 10.0\n.target sm_90 junk", CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
			"ptx:2:10: error: unsupported .version"},
		{".version 9.0\n.target sm_100", CUDA_ERROR_INVALID_PTX, "sm_100: this device"},
		{".version 9.0\n.target sm_100a", CUDA_ERROR_INVALID_PTX, "sm_100a"},
		{".version 9.0\n.target sm_100f", CUDA_ERROR_INVALID_PTX, "compute_90"},
		{".version 9.0\n.target sm_103, debug", CUDA_ERROR_INVALID_PTX, "sm_103: this"},
		{".version 9.0\n.target sm_80a", CUDA_ERROR_INVALID_PTX, "sm_80a"}};
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		char log[2000] = "untouched", ptx[300];
		void *values[] = {log, (void *)sizeof(log)};
		CUmodule mod;
		CUlibrary lib;

		snprintf(ptx, sizeof(ptx), "%s\n.address_size 64\n.visible .entry k() { ret; }\n",
			all[i].head);
		assert_int_equal(cuModuleLoadDataEx(&mod, ptx, 2, options, values), all[i].result);
		assert_int_equal(
			cuLibraryLoadData(&lib, ptx, NULL, NULL, 0, NULL, NULL, 0), all[i].result);
		if (all[i].result == CUDA_SUCCESS) {
			OK(cuModuleUnload(mod));
			OK(cuLibraryUnload(lib));
			assert_string_equal(log, "");
		} else {
			assert_non_null(strstr(log, all[i].said));
		}
	}
}

static void code(void **state)
{
	struct drv_test *t = *state;
	char log[2000] = "untouched";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)sizeof(log)};
	CUmodule mod;
	CUlibrary lib;
	CUkernel k;
	CUfunction fn;
	CUdeviceptr p;
	size_t bytes, offset;
	unsigned n;

	assert_int_equal(cuModuleLoadDataEx(&mod,
				 ".version 7.0\n.target sm_70\n.address_size 64\n"
				 ".visible .entry k()\n{\n  mov.u32 %nothing, 1;\n}\n",
				 2, options, values),
		CUDA_ERROR_INVALID_PTX);
	assert_non_null(strstr(log, "%nothing"));
	assert_int_equal(cuModuleLoadData(&mod, "no code at all"), CUDA_ERROR_INVALID_IMAGE);
	assert_int_equal(cuModuleLoadData(&mod, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuModuleLoad(&mod, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
	assert_int_equal(cuModuleGetFunction(&fn, t->mod, "none"), CUDA_ERROR_NOT_FOUND);
	OK(cuModuleGetGlobal(&p, &bytes, t->mod, "shared_word"));
	assert_int_equal(bytes, 4);
	assert_int_equal(drv_read(p), 7);
	OK(cuLibraryLoadData(&lib, drv_ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&k, lib, "add"));
	OK(cuLibraryGetKernelCount(&n, lib));
	assert_int_equal(n, 10);
	OK(cuKernelGetParamInfo(k, 2, &offset, &bytes));
	assert_int_equal(offset, 12);
	assert_int_equal(bytes, 4);
	assert_int_equal(cuKernelGetParamInfo(k, 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
	/* A launch accepts a CUkernel in place of a CUfunction. */
	CUdeviceptr word = drv_words(100);
	uint32_t count = 100, by = 3;
	void *params[] = {&word, &count, &by};
	OK(cuLaunchKernel((CUfunction)k, 4, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	struct {
		CUdeviceptr p;
		uint32_t n, k;
	} packed = {word, count, by};
	bytes = sizeof(packed);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};
	OK(cuKernelGetFunction(&fn, k));
	OK(cuLaunchKernel(fn, 4, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	assert_int_equal(drv_read(word + 99 * 4), 6);
	OK(cuLibraryUnload(lib));
	assert_int_equal(cuLibraryUnload(lib), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuLaunchKernel((CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL),
		CUDA_ERROR_INVALID_HANDLE);
}

/* A fat binary as a compiler writes it: wrapper, container and one plain PTX entry. */
static void fat_binary(void **state)
{
	size_t len = strlen(drv_ptx) + 1, padded = (len + 7) & ~(size_t)7;
	uint8_t *box = calloc(1, 16 + 64 + padded);
	struct {
		uint32_t magic, version;
		const void *at, *more;
	} wrapper = {0x466243b1, 1, box, NULL};
	CUmodule mod;
	CUfunction fn;

	(void)state;
	*(uint32_t *)(box + 0) = 0xba55ed50;
	*(uint16_t *)(box + 4) = 1;
	*(uint16_t *)(box + 6) = 16;
	*(uint64_t *)(box + 8) = 64 + padded;
	*(uint16_t *)(box + 16) = 1; /* kind: PTX */
	*(uint16_t *)(box + 18) = 0x101;
	*(uint32_t *)(box + 20) = 64; /* bytes of the header */
	*(uint64_t *)(box + 24) = padded;
	*(uint32_t *)(box + 16 + 28) = 70; /* architecture of the entry */
	*(uint32_t *)(box + 16 + 32) = 64; /* address size in bits */
	memcpy(box + 80, drv_ptx, len);
	OK(cuModuleLoadData(&mod, &wrapper));
	OK(cuModuleGetFunction(&fn, mod, "note"));
	OK(cuModuleUnload(mod));
	OK(cuModuleLoadFatBinary(&mod, box));
	OK(cuModuleUnload(mod));
	*(uint32_t *)(box + 16 + 28) = 100; /* only for a newer device */
	assert_int_equal(cuModuleLoadData(&mod, &wrapper), CUDA_ERROR_NO_BINARY_FOR_GPU);
	free(box);
}

static void memory(void **state)
{
	CUdeviceptr p, base;
	size_t pitch, bytes, before, after;
	uint8_t in[6] = {1, 2, 3, 4, 5, 6}, out[6] = {0};

	(void)state;
	OK(cuMemGetInfo(&before, NULL));
	OK(cuMemAllocPitch(&p, &pitch, 3, 2, 4));
	OK(cuMemGetInfo(&after, &bytes));
	assert_int_equal(bytes, 64 << 20);
	assert_int_equal(before - after, pitch * 2);
	CUDA_MEMCPY2D m = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = in,
		.srcPitch = 3,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = p,
		.dstPitch = pitch,
		.WidthInBytes = 3,
		.Height = 2};
	OK(cuMemcpy2D(&m));
	CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = p,
		.srcPitch = pitch,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = out,
		.dstPitch = 3,
		.WidthInBytes = 3,
		.Height = 2};
	OK(cuMemcpy2D(&back));
	assert_memory_equal(in, out, 6);
	OK(cuMemGetAddressRange(&base, &bytes, p + pitch));
	assert_int_equal(base, p);
	OK(cuMemsetD2D8(p, pitch, 0xab, 2, 2));
	OK(cuMemcpyDtoH(out, p + pitch, 3));
	assert_int_equal(out[1], 0xab);
	assert_int_equal(out[2], 6);
	assert_int_equal(cuMemcpyDtoH(out, p + pitch * 2 - 1, 2), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemcpyHtoD(1234, in, 2), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemsetD32(p, 0, pitch), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFree(p + 8), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree(p));
	assert_int_equal(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemFree(0));
	OK(cuMemGetInfo(&after, NULL));
	assert_int_equal(before, after);
	assert_int_equal(cuMemAlloc(&p, (size_t)65 << 20), CUDA_ERROR_OUT_OF_MEMORY);
	OK(cuMemAllocAsync(&p, 64, NULL));
	OK(cuMemFreeAsync(p, NULL));
	assert_int_equal(cuMemFreeAsync(p, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxSynchronize());
	OK(cuMemGetInfo(&after, NULL));
	assert_int_equal(before, after);
}

static void host_memory(void **state)
{
	static uint32_t words[1024];
	CUdeviceptr p;
	unsigned type, flags;
	void *h;

	(void)state;
	OK(cuMemHostRegister(words, sizeof(words), CU_MEMHOSTREGISTER_DEVICEMAP));
	assert_int_equal(cuMemHostRegister(words, sizeof(words), 0),
		CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	OK(cuMemHostGetDevicePointer(&p, words, 0));
	OK(cuMemsetD32(p, 5, 1024));
	assert_int_equal(words[1023], 5);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
	assert_int_equal(type, CU_MEMORYTYPE_HOST);
	OK(cuMemHostUnregister(words));
	assert_int_equal(cuMemHostUnregister(words), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p),
		CUDA_ERROR_INVALID_VALUE);
	OK(cuMemHostAlloc(&h, 100, CU_MEMHOSTALLOC_PORTABLE));
	OK(cuMemHostGetFlags(&flags, h));
	assert_true(flags & CU_MEMHOSTALLOC_PORTABLE);
	OK(cuMemFreeHost(h));
	OK(cuMemAllocManaged(&p, 4, CU_MEM_ATTACH_GLOBAL));
	*(uint32_t *)(uintptr_t)p = 77;
	assert_int_equal(drv_read(p), 77);
	OK(cuMemFree(p));
}

/* However many registers the estimate gives, a block of the kernel's maximum number of threads
 * runs, alone on its SM if necessary. */
static void launch_largest(CUfunction f, unsigned threads)
{
	CUdeviceptr p = drv_words(96);
	void *params[] = {&p};
	int blocks;

	OK(cuLaunchKernel(f, 3, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
	OK(cuLaunchCooperativeKernel(f, 4, 1, 1, threads, 1, 1, 0, NULL, params));
	OK(cuCtxSynchronize());
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, (int)threads, 0));
	assert_true(blocks >= 1);
	OK(cuMemFree(p));
}

/* Under a lower register bound, the driver reports fewer registers, more local memory for the
 * spilled ones, and more blocks on an SM. */
static void register_bound(void **state)
{
	static const char form[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
				   ".visible .entry many(.param .u64 p)\n%s{\n"
				   "	.reg .b32 %%r<96>;\n	.reg .b64 %%d;\n"
				   "	ld.param.u64 %%d, [p];\n%s	ret;\n}\n";
	int regs[5], local[5], blocks[5], v;

	for (int i = 0; i < 5; i++) {
		static const char *const bound[] = {"", ".maxnreg 32\n", ".maxnreg 200\n",
			".maxntid 1024\n", ".maxntid 16, 30\n.minnctapersm 3\n"};
		char body[8192] = "", text[10000];
		CUmodule mod;
		CUfunction f;

		for (int k = 0; k < 90; k++)
			sprintf(body + strlen(body), "	ld.global.u32 %%r%d, [%%d+%d];\n", k,
				4 * k);
		for (int k = 0; k < 90; k++)
			sprintf(body + strlen(body), "	st.global.u32 [%%d+%d], %%r%d;\n", 4 * k,
				89 - k);
		snprintf(text, sizeof(text), form, bound[i], body);
		OK(cuModuleLoadData(&mod, text));
		OK(cuModuleGetFunction(&f, mod, "many"));
		OK(cuFuncGetAttribute(&regs[i], CU_FUNC_ATTRIBUTE_NUM_REGS, f));
		OK(cuFuncGetAttribute(&local[i], CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f));
		OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks[i], f, 256, 0));
		OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
		assert_int_equal(v, i == 4 ? 480 : 1024);
		launch_largest(f, (unsigned)v);
		OK(cuModuleUnload(mod));
	}
	assert_true(regs[0] > 64);
	assert_int_equal(regs[1], 32);
	assert_int_equal(regs[2], regs[0]);
	assert_int_equal(local[0], 0);
	assert_int_equal(local[1], 4 * (regs[0] - 32));
	assert_int_equal(local[2], 0);
	assert_int_equal(blocks[1], 8);
	assert_true(blocks[0] < 8);
	assert_int_equal(regs[3], 64);
	assert_int_equal(regs[4], 40);
}

static void occupancy(void **state)
{
	struct drv_test *t = *state;
	int blocks, grid, threads, regs, v;
	CUfunction add = drv_fn(t, "add"), big = drv_fn(t, "big");

	OK(cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, add));
	assert_true(regs >= 8 && regs <= 32);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1024, 0));
	assert_int_equal(blocks, 2);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 32, 0));
	assert_int_equal(blocks, 32);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, big, 32, 0));
	assert_int_equal(blocks, 5); /* each needs 41 KB of 228 KB */
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 32, 64 * 1024));
	assert_int_equal(blocks, 0); /* more than a block may have */
	OK(cuFuncSetAttribute(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024));
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 32, 64 * 1024));
	assert_int_equal(blocks, 3);
	OK(cuOccupancyMaxPotentialBlockSize(&grid, &threads, add, NULL, 0, 0));
	assert_int_equal(threads, 1024);
	assert_int_equal(grid, 8);
	OK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, big));
	assert_int_equal(v, 40960);
	CUdeviceptr p = drv_words(1);
	void *params[] = {&p};
	assert_int_equal(cuLaunchKernel(big, 1, 1, 1, 32, 1, 1, 16384, NULL, params, NULL),
		CUDA_ERROR_INVALID_VALUE);
	OK(cuFuncSetAttribute(big, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 16384));
	OK(cuLaunchKernel(big, 1, 1, 1, 32, 1, 1, 16384, NULL, params, NULL));
	OK(cuCtxSynchronize());
	/* All blocks of a cooperative grid must fit on the device at once. */
	assert_int_equal(cuLaunchCooperativeKernel(big, 4 * 5 + 1, 1, 1, 32, 1, 1, 0, NULL, params),
		CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	OK(cuLaunchCooperativeKernel(big, 4 * 5, 1, 1, 32, 1, 1, 0, NULL, params));
	OK(cuCtxSynchronize());
}

/* A cooperative launch has a workspace in which its blocks meet, and each launch gets a clean
 * one. */
static void whole_grids(void **state)
{
	struct drv_test *t = *state;
	CUfunction whole = drv_fn(t, "whole");
	CUdeviceptr out = drv_words(1);
	void *params[] = {&out};

	for (unsigned i = 1; i <= 3; i++) {
		OK(cuLaunchCooperativeKernel(whole, 20, 1, 1, 1, 1, 1, 0, NULL, params));
		OK(cuCtxSynchronize());
		assert_int_equal(drv_read(out), 20 * i);
	}
	OK(cuLaunchKernel(whole, 20, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuCtxSynchronize());
	assert_int_equal(drv_read(out), 60);
}

static void clocks_go_on(void **state)
{
	struct drv_test *t = *state;
	CUdeviceptr out = drv_words(1);
	void *params[] = {&out};

	OK(cuLaunchKernel(drv_fn(t, "elapse"), 40, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
	OK(cuCtxSynchronize());
	assert_int_equal(drv_read(out), 40 * 64);
}

static void misuse(void **state)
{
	struct drv_test *t = *state;
	CUfunction add = drv_fn(t, "add");
	CUdeviceptr p = 0;
	uint32_t n = 0;
	void *params[] = {&p, &n, &n}, *hole[] = {&p, NULL, &n};
	CUstream stray = (CUstream)0x123450;
	CUevent event;
	CUcontext ctx;

	assert_int_equal(cuLaunchKernel(add, 0, 1, 1, 32, 1, 1, 0, NULL, params, NULL),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(add, 1, 1, 1, 1025, 1, 1, 0, NULL, params, NULL),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(add, 1, 65536, 1, 32, 1, 1, 0, NULL, params, NULL),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, hole, NULL),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, stray, params, NULL),
		CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL),
		CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(
		cuLaunchKernel((CUfunction)t->mod, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL),
		CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuLaunchKernelEx(NULL, add, params, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuStreamSynchronize(stray), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuStreamDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuStreamCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuEventCreate(&event, 99), CUDA_ERROR_INVALID_VALUE);
	OK(cuEventCreate(&event, 0));
	OK(cuEventDestroy(event));
	assert_int_equal(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuEventRecord(event, NULL), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuModuleUnload((CUmodule)add), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuCtxSetCurrent((CUcontext)0x10), CUDA_ERROR_INVALID_CONTEXT);
	/* Contexts form a stack. */
	OK(cuCtxPushCurrent(t->ctx));
	OK(cuCtxPopCurrent(&ctx));
	assert_ptr_equal(ctx, t->ctx);
	OK(cuCtxSetCurrent(NULL));
	assert_int_equal(cuMemAlloc(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(cuCtxPopCurrent(&ctx), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxCreate(&ctx, 0, 0));
	OK(cuMemAlloc(&p, 4));
	OK(cuCtxDestroy(ctx));
	assert_int_equal(cuCtxPushCurrent(ctx), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxSetCurrent(t->ctx));
	/* it was freed with its context */
	assert_int_equal(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
}

/* The linker prints nothing, so its logs are empty strings. */
static void linked(void **state)
{
	char info[8] = "unused", error[8] = "unused";
	CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
		CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {info, (void *)8, error, (void *)8}, *image;
	CUlinkState link;
	CUmodule mod;
	CUfunction fn;
	size_t bytes;

	(void)state;
	OK(cuLinkCreate(4, options, values, &link));
	OK(cuLinkAddData(
		link, CU_JIT_INPUT_PTX, (void *)drv_ptx, strlen(drv_ptx) + 1, "", 0, NULL, NULL));
	OK(cuLinkComplete(link, &image, &bytes));
	OK(cuModuleLoadData(&mod, image));
	OK(cuModuleGetFunction(&fn, mod, "add"));
	OK(cuLinkDestroy(link));
	OK(cuModuleUnload(mod));
	assert_string_equal(info, "");
	assert_string_equal(error, "");
	assert_null(values[1]);
	assert_null(values[3]);
	assert_int_equal(cuLinkCreate(1, NULL, NULL, &link), CUDA_ERROR_INVALID_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linked),
		cmocka_unit_test(device),
		cmocka_unit_test(names),
		cmocka_unit_test(entry_points),
		cmocka_unit_test(accepted),
		cmocka_unit_test(code),
		cmocka_unit_test(fat_binary),
		cmocka_unit_test(memory),
		cmocka_unit_test(host_memory),
		cmocka_unit_test(register_bound),
		cmocka_unit_test(occupancy),
		cmocka_unit_test(whole_grids),
		cmocka_unit_test(clocks_go_on),
		cmocka_unit_test(misuse),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
