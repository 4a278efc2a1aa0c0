/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Predicts, by glibc's rules, which libcuda.so.1 the loader chooses for a program. */
#ifndef HEDDLE_CLI_LOADER_H
#define HEDDLE_CLI_LOADER_H

#include "cli/program.h"

/* Returns true if the program would bypass the shim: an RPATH of the program, or of a library that
 * it starts with, leads to another libcuda.so.1 before the loader searches LD_LIBRARY_PATH. buf
 * then has the reason. This function does not examine libraries that only the loader's cache lists,
 * or libraries that a program loads later. */
bool loader_passes(const struct program *p, char *buf, size_t size);

#endif
