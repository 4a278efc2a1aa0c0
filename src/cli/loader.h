/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Predicts which libcuda.so.1 the loader takes for a program, by glibc's rules. */
#ifndef HEDDLE_CLI_LOADER_H
#define HEDDLE_CLI_LOADER_H

#include "cli/program.h"

/* True: an RPATH, of the program or of a library that it starts with, leads to another libcuda.so.1
 * before LD_LIBRARY_PATH is searched; the reason is in buf. Libraries that only the loader's cache
 * knows, and those that a program loads later, are not examined. */
bool loader_passes(const struct program *p, char *buf, size_t size);

#endif
