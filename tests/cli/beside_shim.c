/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: beside_shim FILE.ptx KERNEL: loads a module through the driver's own entry points, so that
 * the shim does not see it. Then launches its kernel (with one pointer parameter) three times
 * through the shim. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "dev/cu.h"

static void *name_in(void *lib, const char *name)
{
	void *p = lib ? dlsym(lib, name) : NULL;

	if (!p) {
		fprintf(stderr, "past: no %s: %s\n", name, dlerror());
		exit(1);
	}
	return p;
}

#define CALL(lib, name, type, ...)                                       \
	do {                                                             \
		CUresult(*called) type;                                  \
		CUresult r;                                              \
                                                                         \
		*(void **)&called = name_in(lib, name);                  \
		r = called(__VA_ARGS__);                                 \
		if (r) {                                                 \
			fprintf(stderr, "past: %s: %d\n", name, (int)r); \
			exit(1);                                         \
		}                                                        \
	} while (0)

int main(int argc, char **argv)
{
	void *shim = dlopen("libcuda.so.1", RTLD_NOW), *driver;
	const char *path = getenv("HEDDLE_DRIVER_LIB");
	CUdeviceptr at = 0;
	CUfunction fn = NULL;
	CUmodule mod = NULL;
	CUcontext ctx = NULL;
	void *params[] = {&at};

	if (argc != 3 || !path)
		return 2;
	driver = dlopen(path, RTLD_NOW);
	CALL(shim, "cuInit", (unsigned), 0);
	CALL(shim, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice), &ctx, 0);
	CALL(shim, "cuCtxSetCurrent", (CUcontext), ctx);
	CALL(shim, "cuMemAlloc_v2", (CUdeviceptr *, size_t), &at, 4096);
	CALL(driver, "cuModuleLoad", (CUmodule *, const char *), &mod, argv[1]);
	CALL(driver, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *), &fn, mod,
		argv[2]);
	for (int i = 0; i < 3; i++)
		CALL(shim, "cuLaunchKernel",
			(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
				unsigned, CUstream, void **, void **),
			fn, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL);
	CALL(shim, "cuCtxSynchronize", (void));
	return 0;
}
