/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Looks up a driver's functions past interposers. A preloaded library that defines dlsym
 * (HAMi-core, nvshare) answers every lookup of a driver function with its own function, which finds
 * the next one in libcuda.so.1. That library is the shim. If the shim used the same dlsym to find
 * the driver's functions, both would call each other forever. */
#ifndef HEDDLE_DEV_SYMBOL_H
#define HEDDLE_DEV_SYMBOL_H

/* dlsym as libc defines it, whatever the program has preloaded. handle: of dlopen. NULL: not found.
 * Thread safe. */
void *dev_symbol(void *handle, const char *name);

#endif
