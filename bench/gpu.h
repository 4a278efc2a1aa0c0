/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What programs that measure share: a device with one kernel on it. What fails ends the program. */
#ifndef HEDDLE_BENCH_GPU_H
#define HEDDLE_BENCH_GPU_H

#include "dev/cu_link.h"

struct gpu {
	CUfunction kernel;
	unsigned n_sms;
};

void must(CUresult r, const char *what);
/* Device 0, its context current from here on. The kernel's PTX is text, or if that is NULL a file.
 */
void gpu_open(struct gpu *g, const char *text, const char *file, const char *kernel);
unsigned gpu_wave(const struct gpu *g, unsigned threads); /* blocks that run at once */

#endif
