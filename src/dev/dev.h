/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Opening a device: a CUDA driver as a table of functions. There are two devices: the system's
 * driver, and the virtual GPU (cpu/), which is heddle's own libcuda.so.1. */
#ifndef HEDDLE_DEV_H
#define HEDDLE_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dev/cu.h"

enum dev_kind {
	DEV_AUTO, /* a GPU if the system's driver has one, else the virtual GPU */
	DEV_CPU,
	DEV_CUDA,
};

/* Symbols that tell heddle's own libcuda.so.1 from the vendor's. */
#define DEV_SHIM_MARKER "heddle_shim_marker"
#define DEV_CPU_MARKER  "heddle_cpu_marker"

/* Loads a driver (RTLD_LOCAL) and fills *ret. path: this file; NULL: the usual place of the kind
 * (cpu: beside the program, or in its build tree; cuda: the system's, never one with a marker of
 * heddle). Calls no function of the driver, except that AUTO asks for the number of devices.
 * -ENOENT: no such library; -ELIBBAD: not a driver. Thread safe.
 *
 * The functions of the system's driver are looked up with the program's dlsym, so that a preloaded
 * library that limits memory sees the calls. Those of a given file are always the file's own. */
int dev_open(enum dev_kind kind, const char *path, struct cu_api *ret);
/* For the shim, which a preloaded library calls as its driver: opens this file, or for NULL the
 * system's driver, and in both cases with the library's own functions (symbol.h). */
int dev_open_below(const char *path, struct cu_api *ret);
/* Which of the two it is: DEV_CPU or DEV_CUDA. */
enum dev_kind dev_kind_of(const struct cu_api *api);
/* Before this text is loaded: the source line of each of its lines, from the first (0: none;
 * ptx_lines), so that the virtual GPU's reports name them. Copied; does nothing for another
 * device. */
void dev_tell_lines(
	const struct cu_api *api, const char *text, size_t len, const uint32_t *lines, size_t n);
/* The virtual GPU's function that receives the lines. */
#define DEV_CPU_LINES "heddle_cpu_lines"
typedef void dev_lines_fn(const char *text, size_t len, const uint32_t *lines, size_t n);
/* No function of *api may be called any more. The library stays mapped, since a driver's own
 * threads outlive this. */
void dev_close(struct cu_api *api);

/* "cpu", "cuda", "auto"; false: none of these. */
bool dev_kind_parse(const char *text, enum dev_kind *ret);
/* The same, or followed by a device number: "cpu:1", "cuda:0"; without one, *ret_ordinal is 0. */
bool dev_parse(const char *text, enum dev_kind *ret, int *ret_ordinal);

/* Each driver has a PTX compiler. Is the compiler of this driver version known to produce wrong
 * code? version is the value of cuDriverGetVersion, 13000 for CUDA 13.0. */
enum dev_compiler {
	DEV_COMPILER_RIGHT, /* tried: heddle's forms are compiled correctly */
	/* wrong code for some kernels without .maxnreg; heddle's forms always have one
	 * (ptx_bounds_state_registers) */
	DEV_COMPILER_FAULTY,
	DEV_COMPILER_NOT_SEEN, /* not tried */
};
enum dev_compiler dev_compiler(int version);

#endif
