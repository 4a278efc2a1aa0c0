/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Uses the driver API only, like a program that does not know heddle. */
#include "gpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

void must(CUresult r, const char *what)
{
	const char *name = "?";

	if (r == CUDA_SUCCESS)
		return;
	cuGetErrorName(r, &name);
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, name);
	exit(1);
}

void gpu_open(struct gpu *g, const char *text, const char *file, const char *kernel)
{
	CUdevice device;
	CUmodule module;
	CUcontext ctx;
	int sms;

	must(cuInit(0), "init");
	must(cuDeviceGet(&device, 0), "device");
	must(cuDevicePrimaryCtxRetain(&ctx, device), "context");
	must(cuCtxSetCurrent(ctx), "context");
	must(text ? cuModuleLoadData(&module, text) : cuModuleLoad(&module, file),
		text ? "code" : file);
	must(cuModuleGetFunction(&g->kernel, module, kernel), kernel);
	must(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), "SMs");
	g->n_sms = (unsigned)sms;
}

unsigned gpu_wave(const struct gpu *g, unsigned threads)
{
	int fit;

	must(cuOccupancyMaxActiveBlocksPerMultiprocessor(&fit, g->kernel, (int)threads, 0),
		"occupancy");
	return g->n_sms * (unsigned)fit;
}
