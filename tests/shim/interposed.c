/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* usage: interposed dlsym|proc
 * Unlike prog.c, this program is not linked with the driver. It finds the driver's functions by
 * dlsym, or by cuGetProcAddress. Launches 50 kernels and allocates more memory than interposer.c
 * allows. Prints the results. */
#include "code.h"
#include "dev/cu.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 4096u

static struct cu_api cu;

static void check(CUresult r, const char *what)
{
	if (r != CUDA_SUCCESS) {
		printf("%s: %d\n", what, (int)r);
		exit(1);
	}
}
#define DO(call) check(cu.call, #call)

static void find(bool by_proc)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	for (unsigned i = 0; lib && i < cu_n_fns; i++) {
		void *p = dlsym(lib, cu_fns[i].symbol);

		memcpy((char *)&cu + cu_fns[i].offset, &p, sizeof(p));
	}
	if (!cu.cuInit)
		exit(2);
	if (by_proc) {
		CUdriverProcAddressQueryResult found;

		DO(cuGetProcAddress("cuInit", (void **)&cu.cuInit, 12000, 0, &found));
		DO(cuGetProcAddress("cuMemAlloc", (void **)&cu.cuMemAlloc, 12000, 0, &found));
		DO(cuGetProcAddress(
			"cuLaunchKernel", (void **)&cu.cuLaunchKernel, 12000, 0, &found));
	}
}

int main(int argc, char **argv)
{
	unsigned n = WORDS - 5, loops = 20, word;
	CUdeviceptr in, out, more;
	CUfunction fn;
	CUmodule mod;
	CUcontext ctx;
	CUdevice dev;

	if (argc != 2)
		return 2;
	find(!strcmp(argv[1], "proc"));
	DO(cuInit(0));
	DO(cuDeviceGet(&dev, 0));
	DO(cuDevicePrimaryCtxRetain(&ctx, dev));
	DO(cuCtxSetCurrent(ctx));
	DO(cuModuleLoadData(&mod, PTX_HEAD PTX_MIX("mix")));
	DO(cuModuleGetFunction(&fn, mod, "mix"));
	DO(cuMemAlloc(&in, WORDS * 4));
	DO(cuMemAlloc(&out, WORDS * 4));
	DO(cuMemsetD32(in, 7, WORDS));
	for (unsigned i = 0; i < 50; i++) {
		void *p[] = {&in, &out, &n, &loops};

		DO(cuLaunchKernel(fn, WORDS / 128, 1, 1, 128, 1, 1, 0, NULL, p, NULL));
	}
	DO(cuCtxSynchronize());
	DO(cuMemcpyDtoH(&word, out + 40, 4));
	printf("out %08x\n", word);
	printf("16 MiB: %d\n", (int)cu.cuMemAlloc(&more, 16 << 20));
	return 0;
}
