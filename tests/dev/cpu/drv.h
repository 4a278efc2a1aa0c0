/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shared by the tests of the virtual GPU's driver. These are programs of the driver API that
 * link a libcuda.so.1 by name, and have kernels in PTX. Each process creates its own instance of
 * the virtual GPU, unless the environment names one. */
#ifndef HEDDLE_TESTS_DRV_H
#define HEDDLE_TESTS_DRV_H

#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dev/cu_link.h"

#define OK(call) assert_int_equal((call), CUDA_SUCCESS)

/* add(p, n, k): p[i] += k.
 * note(log, id): log[1 + log[0]++] = id, once per block.
 * spin(flag): spins until *flag != 0.
 * busy(n, out): runs n steps, then adds 1 to *out, once per block.
 * stamp(out): writes {start, end, smid} of each block.
 * bad(p), odd(p), trapped(): fault.
 * elapse(out): runs for 20,000 cycles, then adds 1 to *out.
 * whole(out): in a cooperative launch, meets all blocks of the grid, then counts; in another
 * launch it does nothing.
 * big(p): has 40 KB of static shared memory.
 * text(): prints its block's number. */
extern const char drv_ptx[];

struct drv_test {
	CUcontext ctx;
	CUmodule mod;
};
/* Appends options to HEDDLE_VGPU, after an instance name that is unique to this process. */
void drv_begin(struct drv_test *t, const char *options);
void drv_end(struct drv_test *t);
/* Setup and teardown of a test group: *state becomes a struct drv_test with two workers. */
int drv_setup(void **state);
int drv_teardown(void **state);
CUfunction drv_fn(struct drv_test *t, const char *name);

/* Allocate n zeroed words: drv_words in device memory, drv_mapped in pinned host memory, with
 * the same address on host and device. */
CUdeviceptr drv_words(size_t n);
uint32_t *drv_mapped(size_t n);
uint32_t drv_read(CUdeviceptr p);
CUresult drv_note(struct drv_test *t, CUstream s, CUdeviceptr log, uint32_t id);
CUresult drv_busy(struct drv_test *t, CUstream s, unsigned blocks, unsigned threads, uint32_t n,
	CUdeviceptr out);
double drv_seconds(void);

#endif
