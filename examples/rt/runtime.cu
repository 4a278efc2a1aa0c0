/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Implements the device of the example programs with the CUDA runtime API: the counterpart of
 * driver.c, with the kernel compiled into the program. --ptx, --toolchain and --library have no
 * effect here. */
#include "../device.h"
#include "runtime.h"

#include <stdio.h>

static struct {
	cudaStream_t stream;
	cudaEvent_t start, end;
	void *memory[EX_BUFFERS];
	unsigned buffers;
	cudaDeviceProp properties;
} d;

static int failed(cudaError_t r, const char *what)
{
	if (r == cudaSuccess)
		return 0;
	fprintf(stderr, "%s: %s: %s\n", ex_program.name, what, cudaGetErrorName(r));
	return -1;
}

int exd_open(const struct ex_options *o, const char *, const char *)
{
	TRY(cudaSetDevice((int)o->device));
	TRY(cudaGetDeviceProperties(&d.properties, (int)o->device));
	TRY(cudaStreamCreateWithFlags(&d.stream, cudaStreamNonBlocking));
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

/* The kernel's handle is the program's own. */
int exd_resources(const struct ex_work *, struct ex_resources *ret)
{
	*ret = {};
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
	TRY(cudaMemcpy(d.memory[k], b->host, b->bytes, cudaMemcpyHostToDevice));
	return 0;
}

static int copy_out(unsigned k, const struct ex_buffer *b)
{
	TRY(cudaMemcpy(b->host, d.memory[k], b->bytes, cudaMemcpyDeviceToHost));
	return 0;
}

static int clear(unsigned k, size_t bytes)
{
	TRY(cudaMemsetAsync(d.memory[k], 0xff, bytes, d.stream));
	return 0;
}

int exd_launch(const struct ex_work *w)
{
	struct rt_call c = {
		dim3(w->grid[0], w->grid[1], w->grid[2]), dim3(w->block), d.stream, d.memory, w};
	TRY(cudaEventRecord(d.start, d.stream));
	rt_launch(c);
	TRY(cudaGetLastError());
	TRY(cudaEventRecord(d.end, d.stream));
	return 0;
}

int exd_started(void)
{
	cudaError_t r = cudaEventQuery(d.start);
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
	*ret_ns = ms * 1.0e6;
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
}
