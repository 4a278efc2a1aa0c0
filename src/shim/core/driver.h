/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The real driver, and the lines that the shim prints.
 *
 * The shim is a libcuda.so.1 that a program finds before the driver's own. Functions that the shim
 * does not handle jump to the real driver (stubs.S). The shim handles launches, code loading, and
 * calls that must not block while a launch is preempted (doc/architecture.md).
 *
 * Invariants:
 * - The shim prints at most one line, when it gives up on heddled or on heddled's MPS server. It
 *   also warns about wrong values of its environment variables.
 * - It never exits.
 * - The program gets the driver's own result codes.
 * - Without a daemon every call is passed on. */
#ifndef HEDDLE_SHIM_DRIVER_H
#define HEDDLE_SHIM_DRIVER_H

#include "base/base.h"
#include "dev/dev.h"

#define SHIM_API __attribute__((visibility("default")))

extern struct cu_api cu; /* filled by shim_driver */
/* Finds and loads the real driver on the first call. Returns NULL if there is none. */
const struct cu_api *shim_driver(void);
void *shim_real(const char *symbol); /* address of a symbol in the real driver, or NULL */
/* There is no memory for the shim itself: from now on shim_driver returns NULL, and shim_lacking
 * CUDA_ERROR_OUT_OF_MEMORY. */
void shim_give_up(void);
/* Returns the error code of a function that the real driver lacks. */
CUresult shim_lacking(void);
/* Goes at the start of each handled function. Loads the driver if necessary. If the driver lacks
 * the function, returns CUDA_ERROR_NOT_SUPPORTED; if there is no driver, CUDA_ERROR_NO_DEVICE. */
#define SHIM_DRIVER(fn)                                                        \
	do {                                                                   \
		if (__builtin_expect(!cu.fn, 0) && (!shim_driver() || !cu.fn)) \
			return shim_lacking();                                 \
	} while (0)
/* Defines both variants of a function for the default stream: one for the legacy default stream,
 * and one for the per-thread default stream (_ptsz). */
#define SHIM_TWICE(name, params, call_legacy, call_own) \
	SHIM_API CUresult name params;                  \
	CUresult name params                            \
	{                                               \
		return call_legacy;                     \
	}                                               \
	SHIM_API CUresult name##_ptsz params;           \
	CUresult name##_ptsz params                     \
	{                                               \
		return call_own;                        \
	}
static inline CUstream shim_stream(CUstream stream, bool own)
{
	return stream ? stream : own ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

#endif
