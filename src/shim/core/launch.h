/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A launch with the arguments of the program's call. */
#ifndef HEDDLE_SHIM_LAUNCH_H
#define HEDDLE_SHIM_LAUNCH_H

#include "shim/core/session.h"

struct launch {
	CUfunction fn;
	uint32_t grid[3], block[3], shared;
	CUstream stream; /* never 0: a default stream is resolved to its handle */
	void **params, **extra;
	const CUlaunchConfig *config; /* argument of cuLaunchKernelEx, or NULL */
};

#endif
