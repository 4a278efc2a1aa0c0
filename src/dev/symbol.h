/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Looks up a driver's functions past interposers. A preloaded library that defines dlsym
 * (HAMi-core, nvshare) answers every lookup of a driver function with its own function, which finds
 * the next one by the name libcuda.so.1. That is the shim: if the shim asked the same dlsym for the
 * driver's functions, the two would call each other forever. */
#ifndef HEDDLE_DEV_SYMBOL_H
#define HEDDLE_DEV_SYMBOL_H

/* dlsym as libc defines it, whatever the program has preloaded. handle: of dlopen. NULL: not there.
 * Thread safe. */
void *dev_symbol(void *handle, const char *name);

#endif
