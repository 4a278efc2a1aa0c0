/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A program's host code as nvcc emits it, made without nvcc: kernels and variables of two
 * modules, which host.c registers before main and unregisters at exit. The first module's fatbin
 * holds plain PTX, the second's compressed PTX. */
#ifndef HEDDLE_TESTS_CUDART_HOST_H
#define HEDDLE_TESTS_CUDART_HOST_H

#include "unit.h"

#include "base/base.h"
#include "runtime.h"

/* Fails the test with the error's name. */
#define OK(call)                                                             \
	do {                                                                 \
		rt_error error_ = (call);                                    \
		if (error_)                                                  \
			fail_msg("%s: %s", #call, cudaGetErrorName(error_)); \
	} while (0)

/* ---- kernels by their host functions, which launch with the pushed configuration ---- */

/* out[i] = factor * in[i] + offset for i < n; factor and offset are device variables. */
void scale(unsigned *out, const unsigned *in, unsigned n);
/* In the second module: out[i] = i for i < n. */
void number(unsigned *out, unsigned n);
/* Spins until *go is not 0. */
void wait_for(const unsigned *go);
/* Writes to an unmapped address. */
void astray(void);
/* Needs dynamic shared memory; sum[0] becomes the sum of 0 … threads - 1. */
void sum_shared(unsigned *sum);
/* Adds 1 to total, which is in managed memory. */
void count_one(void);

/* kernel<<<grid, block, shared, stream>>>(arguments), as nvcc translates it. */
#define LAUNCH(kernel, grid, block, shared, stream, ...)                                      \
	(__cudaPushCallConfiguration(                                                         \
		 (struct rt_dim3){grid, 1, 1}, (struct rt_dim3){block, 1, 1}, shared, stream) \
			? (void)0                                                             \
			: kernel(__VA_ARGS__))

/* ---- variables ---- */

extern unsigned factor;         /* a device variable, initially 3 */
extern unsigned offset;         /* in constant memory, initially 0 */
extern unsigned table[16];      /* initially zero */
extern unsigned *total_pointer; /* pointer to the managed variable total, which is initially 100 */
unsigned *total(void);          /* returns its address, as nvcc's code requests it */

/* Groups of tests; each returns 0 if all passed. */
int run_errors(void);
int run_devices(void);
int run_two(void); /* needs a virtual GPU with two devices */
int run_memory(void);
int run_copies(void);
int run_symbols(void);
int run_streams(void);
int run_kernels(void);
int run_graphs(void);
int run_threads(void);
int run_faults(void);

#endif
