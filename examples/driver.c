/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implements the device of the example programs with the CUDA driver API: the primary context, one
 * stream, one kernel of a module (with --library, of a library), and two events. */
#include "dev/cu_link.h"
#include "device.h"

#include <stdio.h>
#include <stdlib.h>

static struct {
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUlibrary library;
	CUfunction function;
	CUstream stream;
	CUevent start, end;
	CUdeviceptr memory[EX_BUFFERS];
	unsigned buffers, slices; /* slices 0: a launch is one */
	char name[128];
} d;

static int failed(CUresult r, const char *what)
{
	if (r == CUDA_SUCCESS)
		return 0;
	const char *name = NULL;
	if (cuGetErrorName(r, &name) != CUDA_SUCCESS || !name)
		name = "unknown error";
	fprintf(stderr, "%s: %s: %s (%d)\n", ex_program.name, what, name, r);
	return -1;
}

/* Reads a whole file and appends a NUL. Returns NULL after reporting an error on stderr. */
static char *read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = NULL;
	if (f && fseek(f, 0, SEEK_END) == 0) {
		long size = ftell(f);
		rewind(f);
		text = size < 0 ? NULL : calloc(1, (size_t)size + 1);
		if (text && fread(text, 1, (size_t)size, f) != (size_t)size) {
			free(text);
			text = NULL;
		}
	}
	if (f)
		fclose(f);
	if (!text)
		fprintf(stderr, "%s: cannot read %s\n", ex_program.name, path);
	return text;
}

static int load(const char *path, const char *kernel, bool as_library)
{
	if (!as_library) {
		if (failed(cuModuleLoad(&d.module, path), path))
			return -1;
		TRY(cuModuleGetFunction(&d.function, d.module, kernel));
		return 0;
	}
	char *text = read_file(path);
	if (!text)
		return -1;
	int r = failed(cuLibraryLoadData(&d.library, text, NULL, NULL, 0, NULL, NULL, 0), path);
	free(text);
	CUkernel k;
	if (r)
		return -1;
	TRY(cuLibraryGetKernel(&k, d.library, kernel));
	d.function = (CUfunction)k; /* as cuLaunchKernel allows */
	return 0;
}

int exd_open(const struct ex_options *o, const char *ptx, const char *kernel)
{
	d.slices = o->slices;
	TRY(cuInit(0));
	TRY(cuDeviceGet(&d.device, (int)o->device));
	TRY(cuDeviceGetName(d.name, sizeof(d.name), d.device));
	TRY(cuDevicePrimaryCtxRetain(&d.context, d.device));
	TRY(cuCtxSetCurrent(d.context));
	if (load(ptx, kernel, o->library))
		return -1;
	TRY(cuStreamCreate(&d.stream, CU_STREAM_NON_BLOCKING));
	TRY(cuEventCreate(&d.start, 0));
	TRY(cuEventCreate(&d.end, 0));
	return 0;
}

const char *exd_name(void)
{
	return d.name;
}

int exd_multiprocessors(void)
{
	int n = 1;
	cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d.device);
	return n;
}

int exd_resources(const struct ex_work *w, struct ex_resources *ret)
{
	int registers, shared, blocks;
	TRY(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, d.function));
	TRY(cuFuncGetAttribute(&shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, d.function));
	TRY(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, d.function, (int)w->block, 0));
	*ret = (struct ex_resources){(unsigned)registers, (unsigned)shared, (unsigned)blocks};
	return 0;
}

static void free_memory(void)
{
	while (d.buffers > 0)
		cuMemFree(d.memory[--d.buffers]);
}

static int allocate(unsigned k, size_t bytes)
{
	TRY(cuMemAlloc(&d.memory[k], bytes));
	d.buffers++;
	return 0;
}

static int copy_in(unsigned k, const struct ex_buffer *b)
{
	TRY(cuMemcpyHtoD(d.memory[k], b->host, b->bytes));
	return 0;
}

static int copy_out(unsigned k, const struct ex_buffer *b)
{
	TRY(cuMemcpyDtoH(b->host, d.memory[k], b->bytes));
	return 0;
}

static int clear(unsigned k, size_t bytes)
{
	TRY(cuMemsetD8Async(d.memory[k], 0xff, bytes, d.stream));
	return 0;
}

/* Launches the kernel in slices. Its last parameter, `slice`, has the first block of each slice and
 * the size of the whole grid. */
static int launch_slices(const struct ex_work *w, void **param, uint32_t slice[4])
{
	uint64_t total = (uint64_t)w->grid[0] * w->grid[1] * w->grid[2];
	uint64_t each = (total + d.slices - 1) / d.slices;

	for (uint64_t first = 0; first < total; first += each) {
		uint64_t left = total - first;

		slice[0] = (uint32_t)first;
		TRY(cuLaunchKernel(d.function, (unsigned)(left < each ? left : each), 1, 1,
			w->block, 1, 1, 0, d.stream, param, NULL));
	}
	return 0;
}

int exd_launch(const struct ex_work *w)
{
	uint32_t word[EX_ARGS], slice[4] = {0, w->grid[0], w->grid[1], w->grid[2]};
	void *param[EX_ARGS + 1];
	param[w->args] = slice;
	for (unsigned k = 0; k < w->args; k++) {
		word[k] = w->arg[k].word;
		param[k] = w->arg[k].is_buffer ? (void *)&d.memory[w->arg[k].buffer] : &word[k];
	}
	TRY(cuEventRecord(d.start, d.stream));
	if (d.slices && launch_slices(w, param, slice))
		return -1;
	if (!d.slices)
		TRY(cuLaunchKernel(d.function, w->grid[0], w->grid[1], w->grid[2], w->block, 1, 1,
			0, d.stream, param, NULL));
	TRY(cuEventRecord(d.end, d.stream));
	return 0;
}

int exd_started(void)
{
	CUresult r = cuEventQuery(d.start);
	if (r == CUDA_ERROR_NOT_READY)
		return 0;
	return failed(r, "cuEventQuery") ? -1 : 1;
}

int exd_wait(void)
{
	TRY(cuStreamSynchronize(d.stream));
	return 0;
}

int exd_kernel_ns(double *ret_ns)
{
	float ms;
	TRY(cuEventElapsedTime_v1(&ms, d.start, d.end));
	*ret_ns = ms * 1.0e6;
	return 0;
}

void exd_close(void)
{
	free_memory();
	if (d.end)
		cuEventDestroy(d.end);
	if (d.start)
		cuEventDestroy(d.start);
	if (d.stream)
		cuStreamDestroy(d.stream);
	if (d.module)
		cuModuleUnload(d.module);
	if (d.library)
		cuLibraryUnload(d.library);
	if (d.context)
		cuDevicePrimaryCtxRelease(d.device);
}
