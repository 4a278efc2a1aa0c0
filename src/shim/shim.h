/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The shim: a libcuda.so.1 that a program finds before the driver's. Names that it does not handle
 * jump to the real driver; launches, code loading, and what must not block while a launch is
 * preempted are handled (design: mechanism 2, stream order, tiers).
 *
 * What always holds: nothing is printed but one line when the shim gives up on the daemon; nothing
 * exits; the program gets the driver's own result codes; without a daemon every call is passed on.
 */
#ifndef HEDDLE_SHIM_H
#define HEDDLE_SHIM_H

#include "base/base.h"
#include "dev/dev.h"

#define SHIM_API __attribute__((visibility("default")))

/* ---- the real driver (driver.c) ---- */
extern struct cu_api cu; /* filled by shim_driver */
/* Finds and loads the real driver, once. NULL: there is none. */
const struct cu_api *shim_driver(void);
void *shim_real(const char *symbol); /* dlsym in the real driver, or NULL */
/* What a function that the real driver does not have returns. */
CUresult shim_lacking(void);
/* For the start of each handled function: the real one, or return what a driverless system says. */
#define SHIM_NEED(fn)                                                          \
	do {                                                                   \
		if (__builtin_expect(!cu.fn, 0) && (!shim_driver() || !cu.fn)) \
			return shim_lacking();                                 \
	} while (0)

/* Our function for what cuGetProcAddress found: fn itself where we do not handle it. */
void *shim_ours(const char *name, void *fn, int version, uint64_t flags);

/* One line on standard error, once in the life of the process. */
void shim_warn(const char *why);

#endif
