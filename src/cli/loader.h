/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Predicts, by glibc's rules, which libcuda.so.1 the loader chooses for a program. */
#ifndef HEDDLE_CLI_LOADER_H
#define HEDDLE_CLI_LOADER_H

#include "cli/program.h"

/* Returns true if the program would bypass the shim: the loader looks at an RPATH of the program,
 * or of a library that is loaded at the start, before LD_LIBRARY_PATH, and that RPATH leads to
 * another libcuda.so.1. buf then has the reason. This function examines neither libraries that only
 * the loader's cache lists nor libraries that a program loads later. */
bool loader_passes(const struct program *p, char *buf, size_t size);
/* Returns true if a library that is loaded at the start has NVIDIA's CUDA runtime inside, which
 * needs NVIDIA's driver. buf then has its path. The same libraries are left out as in
 * loader_passes. */
bool loader_finds_runtime(const struct program *p, char *buf, size_t size);

#endif
