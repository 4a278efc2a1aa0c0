/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Two small kernels for measurements. One compares two buffers without copying them to the host;
 * the other measures the device's clock. */
#ifndef HEDDLE_GAUGE_H
#define HEDDLE_GAUGE_H

#include <stdbool.h>

#include "dev/cu.h"

struct gauge {
	CUfunction differ, clock;
	CUdeviceptr words; /* device memory for the kernels' results */
};

/* Loads the kernels into the current context. Returns the driver's result. */
CUresult gauge_open(const struct cu_api *cu, struct gauge *ret);
/* Compares two buffers from cuMemAlloc, and waits for the result. */
CUresult gauge_same(const struct cu_api *cu, const struct gauge *g, CUdeviceptr a, CUdeviceptr b,
	uint64_t bytes, bool *ret_same);
/* Measures the clock of an SM that is busy for a fifth of a millisecond. The call waits for the
 * result. */
CUresult gauge_mhz(const struct cu_api *cu, const struct gauge *g, double *ret_mhz);

#endif
