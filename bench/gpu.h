/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shared by the measuring programs: a device with one kernel. Any failure ends the program. */
#ifndef HEDDLE_BENCH_GPU_H
#define HEDDLE_BENCH_GPU_H

#include "dev/cu_link.h"

struct gpu {
	CUfunction kernel;
	unsigned n_sms;
};

void must(CUresult r, const char *what);
/* Opens device 0 and leaves its context current. The kernel's PTX is text, or is read from file if
 * text is NULL. */
void gpu_open(struct gpu *g, const char *text, const char *file, const char *kernel);
unsigned gpu_wave(const struct gpu *g, unsigned threads); /* number of blocks that run at once */

#endif
