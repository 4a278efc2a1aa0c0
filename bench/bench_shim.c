/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* bench_shim SHIM DRIVER: measures what a launch costs the calling thread, through the driver and
 * through the shim, alternating within one process. It launches a kernel that the shim does not
 * manage and one that it does (if a daemon listens at HEDDLE_SOCKET; without one, the shim passes
 * both to the driver). It also measures a driver launch followed by the stream wait that a managed
 * launch needs. Prints medians over batches and checks every result at the end. */
#include "dev/cu.h"
#include "tests/shim/code.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH   100
#define BATCHES 60
#define BLOCKS  16
#define THREADS 64

typedef CUresult launch_fn(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
	unsigned, CUstream, void **, void **);

static struct cu_api real, shim;

static void fill(const char *path, struct cu_api *api)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	for (unsigned i = 0; i < cu_n_fns; i++)
		*(void **)((char *)api + cu_fns[i].offset) = dlsym(lib, cu_fns[i].symbol);
}

static void check(CUresult r, const char *what)
{
	if (r != CUDA_SUCCESS) {
		fprintf(stderr, "%s: %s\n", what, cu_result_name(r));
		exit(1);
	}
}
#define DO(call) check(call, #call)

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double batch(launch_fn *launch, CUfunction fn, CUstream s, void **params)
{
	uint64_t t = now();

	for (int i = 0; i < BATCH; i++)
		DO(launch(fn, BLOCKS, 1, 1, THREADS, 1, 1, 0, s, params, NULL));
	t = now() - t;
	DO(real.cuStreamSynchronize(s));
	return (double)t / BATCH;
}

/* Every managed launch is followed by a stream wait. Here the value that it waits for is already
 * there, so that only the driver's cost of the wait is measured. */
static CUdeviceptr gate;

static CUresult launch_gated(CUfunction fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, CUstream s, void **params, void **extra)
{
	DO(real.cuLaunchKernel(fn, gx, gy, gz, bx, by, bz, shared, s, params, extra));
	return real.cuStreamWaitValue32(s, gate, 0, CU_STREAM_WAIT_VALUE_GEQ);
}

/* Measures the driver's launch and another in alternating batches. Prints the medians in ns. */
static void compare(const char *what, CUfunction a, launch_fn *launch, const char *whose,
	CUfunction b, CUstream s, void **params)
{
	double d[BATCHES], m[BATCHES];

	batch(real.cuLaunchKernel, a, s, params);
	batch(launch, b, s, params);
	for (int i = 0; i < BATCHES; i++) {
		d[i] = batch(real.cuLaunchKernel, a, s, params);
		m[i] = batch(launch, b, s, params);
	}
	qsort(d, BATCHES, sizeof(d[0]), by_value);
	qsort(m, BATCHES, sizeof(m[0]), by_value);
	printf("%s: driver %.0f ns, %s %.0f ns, more %.0f ns\n", what, d[BATCHES / 2], whose,
		m[BATCHES / 2], m[BATCHES / 2] - d[BATCHES / 2]);
}

int main(int argc, char **argv)
{
	static const char ptx[] = PTX_HEAD PTX_MIX("mix");
	unsigned n = BLOCKS * THREADS, loops = 1, host[BLOCKS * THREADS];
	CUdeviceptr in, out;
	CUmodule known, unknown;
	CUfunction managed, plain;
	CUcontext ctx;
	CUstream s;
	void *params[] = {&in, &out, &n, &loops};

	if (argc != 3)
		return 2;
	fill(argv[2], &real);
	setenv("HEDDLE_DRIVER_LIB", argv[2], 1);
	fill(argv[1], &shim);
	DO(shim.cuInit(0));
	DO(shim.cuDevicePrimaryCtxRetain(&ctx, 0));
	DO(shim.cuCtxSetCurrent(ctx));
	DO(shim.cuModuleLoadData(&known, ptx));
	DO(shim.cuModuleGetFunction(&managed, known, "mix"));
	/* loaded with the driver directly, so the shim has no PTX of this module */
	DO(real.cuModuleLoadData(&unknown, ptx));
	DO(real.cuModuleGetFunction(&plain, unknown, "mix"));
	DO(shim.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(shim.cuMemAlloc(&in, sizeof(host)));
	DO(shim.cuMemAlloc(&out, sizeof(host)));
	for (unsigned i = 0; i < n; i++)
		host[i] = i;
	DO(shim.cuMemcpyHtoD(in, host, sizeof(host)));
	compare("unmanaged", plain, shim.cuLaunchKernel, "shim", plain, s, params);
	compare("managed", plain, shim.cuLaunchKernel, "shim", managed, s, params);
	DO(real.cuMemAlloc(&gate, sizeof(host[0])));
	host[0] = 0;
	DO(real.cuMemcpyHtoD(gate, host, sizeof(host[0])));
	compare("of that, the wait behind it", plain, launch_gated, "with it", plain, s, params);
	DO(shim.cuMemcpyDtoH(host, out, sizeof(host)));
	for (unsigned i = 0; i < n; i++) {
		unsigned x = i * 1664525 + 1013904223;

		x ^= x >> 7;
		if (host[i] != x + i / THREADS) {
			fprintf(stderr, "wrong at %u\n", i);
			return 1;
		}
	}
	return 0;
}
