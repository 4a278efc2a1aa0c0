/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Code that the driver has compiled and the shim has loaded. */
#ifndef HEDDLE_SHIM_COMPILED_H
#define HEDDLE_SHIM_COMPILED_H

#include "shim/core/session.h"

struct compiled {
	/* the library that holds the code; NULL if the driver does not support libraries (before
	 * 12.0), and then the code is in the module `mod` */
	CUlibrary lib;
	CUmodule mod;
	CUfunction fn;
};
bool has_libraries(void); /* true if the driver has the cuLibrary functions */
/* Loads the compiled kernel `name` on the device now. Otherwise the driver would load the kernel at
 * the kernel's first launch, and hold a lock meanwhile. Call this between placing_begin and
 * placing_end. */
bool compiled_place(struct compiled *c, const char *text, const char *name);
/* Unloads the compiled code. Call it between placing_begin and placing_end, or while the program
 * itself calls the driver to unload something. */
void compiled_drop(struct compiled *c);
/* Frees the shim's data of compiled code whose context has ended. The driver has freed the code
 * itself together with the context, so this does not unload it. */
void compiled_drop_ended(struct compiled *c);

#endif
