/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Opens a device, that is, a CUDA driver as a table of functions. There are two kinds: the system's
 * driver, and the virtual GPU (cpu/), which is heddle's own libcuda.so.1. */
#ifndef HEDDLE_DEV_H
#define HEDDLE_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dev/cu.h"

enum dev_kind {
	DEV_AUTO, /* a GPU if the installed driver has one, else the virtual GPU */
	DEV_CPU,
	DEV_CUDA,
};

/* Symbols that only heddle's own libcuda.so.1 files export, to tell them from the vendor's
 * driver. */
#define DEV_SHIM_MARKER "heddle_shim_marker"
#define DEV_CPU_MARKER  "heddle_cpu_marker"

/* Loads a driver (RTLD_LOCAL) and fills *ret. It is thread safe. Returns -ENOENT if there is no
 * such library, -ELIBBAD if the library is not a driver. If path is NULL, the kind says where to
 * search:
 * - cpu: heddle's installation or build tree
 * - cuda: the system's driver, never a library with a marker of heddle
 *
 * dev_open calls no function of the driver, except for DEV_AUTO, which calls cuInit and
 * cuDeviceGetCount of the system's driver.
 *
 * The functions of the system's driver are looked up with the program's dlsym. So a preloaded
 * library that limits memory, and therefore replaces dlsym, sees the calls. With a path, the
 * functions are always those of the file at that path. */
int dev_open(enum dev_kind kind, const char *path, struct cu_api *ret);
/* Opens a driver for the shim when a preloaded library uses the shim as its driver: the file at
 * `path`, or the system's driver if path is NULL. In both cases the table gets the file's own
 * functions (see symbol.h). */
int dev_open_below(const char *path, struct cu_api *ret);
/* Returns whether an open driver is DEV_CPU or DEV_CUDA. */
enum dev_kind dev_kind_of(const struct cu_api *api);
/* Tells the virtual GPU which source line each line of a PTX text comes from (0: none; see
 * ptx_lines), so that its reports name source lines. Call this before loading the text. The virtual
 * GPU copies the array. For any other device this does nothing. */
void dev_tell_lines(
	const struct cu_api *api, const char *text, size_t len, const uint32_t *lines, size_t n);
/* The text's entry is a form of src/pass. Reports name the program's block then: the virtual GPU finds
 * its ids in the registers of src/pass/virtual/emit.h, and the grid at this offset in the parameter
 * hd_args, or hd_args0, hd_args1 … (struct ctl_args, which src/dev does not include). */
#define DEV_FORM_GRID 24
/* Name and type of the virtual GPU's function that receives these line numbers. */
#define DEV_CPU_LINES "heddle_cpu_lines"
typedef void dev_lines_fn(const char *text, size_t len, const uint32_t *lines, size_t n);
/* Closes a driver; the caller must not call its functions afterwards. The library stays mapped,
 * because the driver's own threads can still run. */
void dev_close(struct cu_api *api);

/* Parses "cpu", "cuda" or "auto". Returns false for any other text. */
bool dev_kind_parse(const char *text, enum dev_kind *ret);
/* Parses a kind with an optional device number, such as "cpu:1" or "cuda:0". Without a number
 * *ret_ordinal is 0. */
bool dev_parse(const char *text, enum dev_kind *ret, int *ret_ordinal);

/* The quality of the PTX compiler in a driver version: does it generate wrong code? `version` is
 * the value of cuDriverGetVersion, 13000 for CUDA 13.0. */
enum dev_compiler {
	DEV_COMPILER_RIGHT, /* tested: compiles heddle's forms correctly */
	/* generates wrong code for some kernels without .maxnreg; heddle's forms always have
	 * .maxnreg (ptx_bounds_state_registers) */
	DEV_COMPILER_FAULTY,
	DEV_COMPILER_NOT_SEEN, /* not tested */
};
enum dev_compiler dev_compiler(int version);

#endif
