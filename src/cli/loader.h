/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Which libcuda.so.1 the loader takes for a program, by the rules of glibc's. */
#ifndef HEDDLE_CLI_LOADER_H
#define HEDDLE_CLI_LOADER_H

#include "cli/program.h"

/* Is it one that an RPATH leads to, the program's or that of a library it starts with: ahead of
 * what LD_LIBRARY_PATH says. Then why, into buf. Libraries that only the loader's cache knows, and
 * those that a program loads once it runs, are not looked at. */
bool loader_passes(const struct program *p, char *buf, size_t size);

#endif
