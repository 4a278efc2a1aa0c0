/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Opening a device: a CUDA driver as a table of functions. Two devices exist: the system's driver,
 * and the virtual GPU (cpu/), which is a libcuda.so.1 of ours. */
#ifndef HEDDLE_DEV_H
#define HEDDLE_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dev/cu.h"

enum dev_kind {
	DEV_AUTO, /* the GPU if the system's driver has one, else the virtual GPU */
	DEV_CPU,
	DEV_CUDA,
};

/* Symbols by which a libcuda.so.1 of ours is told from the vendor's. */
#define DEV_SHIM_MARKER "heddle_shim_marker"
#define DEV_CPU_MARKER  "heddle_cpu_marker"

/* Loads a driver (RTLD_LOCAL) and fills *ret; path: this very file, NULL: where the kind is found
 * (cpu: beside the program, and in its build tree; cuda: the system's, never
 * one that carries a marker of ours). Calls no function of it, except that AUTO asks it for the
 * number of devices. -ENOENT: no such library; -ELIBBAD: not a driver. Thread safe.
 * The functions of the system's driver are those that the program's dlsym finds, so that a
 * preloaded library that limits memory sees the calls; those of a file are always the file's own.
 */
int dev_open(enum dev_kind kind, const char *path, struct cu_api *ret);
/* For the shim, which a preloaded library calls as its driver: this very file, or with NULL the
 * system's driver, and in both cases the library's own functions (symbol.h). */
int dev_open_below(const char *path, struct cu_api *ret);
/* Which of the two it is: DEV_CPU or DEV_CUDA. */
enum dev_kind dev_kind_of(const struct cu_api *api);
/* Before this text is loaded: the line of the source that each of its lines stood in, from the
 * first (0: in none; ptx_lines), so that the virtual GPU's reports name those. Copied; nothing for
 * another device. */
void dev_tell_lines(
	const struct cu_api *api, const char *text, size_t len, const uint32_t *lines, size_t n);
/* The function of the virtual GPU that is told. */
#define DEV_CPU_LINES "heddle_cpu_lines"
typedef void dev_lines_fn(const char *text, size_t len, const uint32_t *lines, size_t n);
/* Of *api nothing is called any more. The library stays mapped: a driver's own threads outlive
 * this. */
void dev_close(struct cu_api *api);

/* "cpu", "cuda", "auto"; false: none of these. */
bool dev_kind_parse(const char *text, enum dev_kind *ret);
/* The same, or with the number of one device behind "cpu:" or "cuda:"; else *ret_ordinal is 0. */
bool dev_parse(const char *text, enum dev_kind *ret, int *ret_ordinal);

/* Each driver brings a PTX compiler. Whether the one in a driver of this version is known to
 * produce wrong code; version is what cuDriverGetVersion gives, 13000 for CUDA 13.0. */
enum dev_compiler {
	DEV_COMPILER_RIGHT,  /* tried; heddle's forms come out right */
	DEV_COMPILER_FAULTY, /* wrong code for some kernels without .maxnreg; heddle's forms always
				have one (ptx_bounds_state_registers) */
	DEV_COMPILER_NOT_SEEN, /* not tried */
};
enum dev_compiler dev_compiler(int version);

#endif
