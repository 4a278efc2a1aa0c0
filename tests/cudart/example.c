/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The device of the example programs through our CUDA runtime, without nvcc: the counterpart of
 * examples/rt/runtime.cu. The kernel's PTX, which those of the driver API load, is put into a
 * fatbin and registered as nvcc's code does it before main. */
#include "examples/device.h"
#include "image/fixture.h"
#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>

static struct {
	CUstream stream;
	CUevent start, end;
	CUdeviceptr memory[EX_BUFFERS];
	unsigned buffers;
	rt_props properties;
	void **fatbin;
} d;

/* Its address stands for the kernel. */
static const char kernel_host;

static int failed(rt_error r, const char *what)
{
	if (r == cudaSuccess)
		return 0;
	fprintf(stderr, "%s: %s: %s\n", ex_program.name, what, cudaGetErrorName(r));
	return -1;
}

/* The whole text stays: the runtime reads it when the kernel is first used. */
static int register_kernel(const char *path, const char *kernel)
{
	static struct {
		int magic, version;
		const void *data;
		void *more;
	} wrapper = {0x466243b1, 1, NULL, NULL};
	static struct strbuf text, box;
	struct fixture_entry e = {.kind = IMAGE_PTX, .arch = 80, .packing = IMAGE_LZ4};
	FILE *f = fopen(path, "rb");
	char part[4096];
	size_t n;

	if (!f) {
		fprintf(stderr, "%s: cannot read %s\n", ex_program.name, path);
		return -1;
	}
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		strbuf_add(&text, part, n);
	fclose(f);
	strbuf_add(&text, "", 1);
	e.text = text.at;
	fixture_container(&box, &e, 1);
	wrapper.data = box.at;
	d.fatbin = __cudaRegisterFatBinary(&wrapper);
	__cudaRegisterFunction(d.fatbin, &kernel_host, (char *)(uintptr_t)kernel, kernel, -1, NULL,
		NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(d.fatbin);
	return 0;
}

int exd_open(const struct ex_options *o, const char *ptx, const char *kernel)
{
	if (register_kernel(ptx, kernel))
		return -1;
	TRY(cudaSetDevice((int)o->device));
	TRY(get_properties(&d.properties, (int)o->device));
	TRY(cudaStreamCreateWithFlags(&d.stream, CU_STREAM_NON_BLOCKING));
	TRY(cudaEventCreate(&d.start));
	TRY(cudaEventCreate(&d.end));
	return 0;
}

const char *exd_name(void)
{
	return d.properties.name;
}

int exd_multiprocessors(void)
{
	return d.properties.multiProcessorCount;
}

int exd_resources(const struct ex_work *w, struct ex_resources *ret)
{
	struct rt_func_attributes a;
	int blocks;

	TRY(cudaFuncGetAttributes(&a, &kernel_host));
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel_host, (int)w->block, 0));
	*ret = (struct ex_resources){
		(unsigned)a.registers, (unsigned)a.shared_bytes, (unsigned)blocks};
	return 0;
}

static void free_memory(void)
{
	while (d.buffers > 0)
		cudaFree(d.memory[--d.buffers]);
}

static int allocate(unsigned k, size_t bytes)
{
	TRY(cudaMalloc(&d.memory[k], bytes));
	d.buffers++;
	return 0;
}

static int copy_in(unsigned k, const struct ex_buffer *b)
{
	TRY(cudaMemcpy((void *)d.memory[k], b->host, b->bytes, RT_HOST_TO_DEVICE));
	return 0;
}

static int copy_out(unsigned k, const struct ex_buffer *b)
{
	TRY(cudaMemcpy(b->host, (void *)d.memory[k], b->bytes, RT_DEVICE_TO_HOST));
	return 0;
}

static int clear(unsigned k, size_t bytes)
{
	TRY(cudaMemsetAsync(d.memory[k], 0xff, bytes, d.stream));
	return 0;
}

int exd_launch(const struct ex_work *w)
{
	uint32_t word[EX_ARGS];
	void *param[EX_ARGS];

	for (unsigned k = 0; k < w->args; k++) {
		word[k] = w->arg[k].word;
		param[k] = w->arg[k].is_buffer ? (void *)&d.memory[w->arg[k].buffer] : &word[k];
	}
	TRY(cudaEventRecord(d.start, d.stream));
	TRY(cudaLaunchKernel(&kernel_host, (struct rt_dim3){w->grid[0], w->grid[1], w->grid[2]},
		(struct rt_dim3){w->block, 1, 1}, param, 0, d.stream));
	TRY(cudaEventRecord(d.end, d.stream));
	return 0;
}

int exd_started(void)
{
	rt_error r = cudaEventQuery(d.start);

	if (r == cudaErrorNotReady)
		return 0;
	return failed(r, "cudaEventQuery") ? -1 : 1;
}

int exd_wait(void)
{
	TRY(cudaStreamSynchronize(d.stream));
	return 0;
}

int exd_kernel_ns(double *ret_ns)
{
	float ms;

	TRY(cudaEventElapsedTime(&ms, d.start, d.end));
	*ret_ns = (double)ms * 1.0e6;
	return 0;
}

void exd_close(void)
{
	free_memory();
	if (d.end)
		cudaEventDestroy(d.end);
	if (d.start)
		cudaEventDestroy(d.start);
	if (d.stream)
		cudaStreamDestroy(d.stream);
	if (d.fatbin)
		__cudaUnregisterFatBinary(d.fatbin);
}
