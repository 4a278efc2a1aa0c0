/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What the tests of the virtual GPU's driver share: they are programs of the driver API that link a
 * libcuda.so.1 by name, with kernels in PTX. Each process makes an instance of the virtual GPU of
 * its own, unless it was given one. */
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

/* add(p, n, k): p[i] += k.   note(log, id): log[1 + log[0]++] = id, once a block.
 * spin(flag): until *flag != 0.   busy(n, out): n steps, then counts its block in *out.
 * stamp(out): {start, end, smid} a block.   bad(p), odd(p), trapped(): fault.
 * elapse(out): 20,000 cycles, then counts in *out.   whole(out): meets all blocks of a cooperative
 * launch, then counts; of another it does nothing.   big(p): 40 KB of static shared memory. text():
 * prints its block's number. */
extern const char drv_ptx[];

struct drv_test {
	CUcontext ctx;
	CUmodule mod;
};
/* options: appended to HEDDLE_VGPU behind a name of this process's own. */
void drv_begin(struct drv_test *t, const char *options);
void drv_end(struct drv_test *t);
/* Of a test group: *state is a struct drv_test, of two workers. */
int drv_setup(void **state);
int drv_teardown(void **state);
CUfunction drv_fn(struct drv_test *t, const char *name);

/* Device memory with n zeroed words; mapped: pinned host memory, address equal on both sides. */
CUdeviceptr drv_words(size_t n);
uint32_t *drv_mapped(size_t n);
uint32_t drv_read(CUdeviceptr p);
CUresult drv_note(struct drv_test *t, CUstream s, CUdeviceptr log, uint32_t id);
CUresult drv_busy(struct drv_test *t, CUstream s, unsigned blocks, unsigned threads, uint32_t n,
	CUdeviceptr out);
double drv_seconds(void);

#endif
