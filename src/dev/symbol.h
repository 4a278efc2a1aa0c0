/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Looks up a driver's functions without going through interposers. A preloaded library that defines
 * dlsym (HAMi-core, nvshare) returns its own wrapper for every lookup of a driver function. The
 * wrapper calls the function of libcuda.so.1, which is the shim. If the shim also used that dlsym
 * to find the driver's functions, the wrapper and the shim would call each other forever. */
#ifndef HEDDLE_DEV_SYMBOL_H
#define HEDDLE_DEV_SYMBOL_H

/* Does what libc's dlsym does, even if the program preloads another dlsym. handle comes from
 * dlopen. Returns NULL if not found. Thread safe. */
void *dev_symbol(void *handle, const char *name);

#endif
