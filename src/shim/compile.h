/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* PTX of the shim's own, compiled and on the device. The driver compiles what a module is loaded
 * from under a lock of the context: launches wait for that, for seconds if need be. What a library
 * is loaded from it compiles under none (doc/notebook.md, "What compiling holds up"), and a library
 * comes to a device when a kernel of it is asked for. Where it can, another process does it, and
 * here it is read from the driver's cache (assembler.h). */
#ifndef HEDDLE_SHIM_COMPILE_H
#define HEDDLE_SHIM_COMPILE_H

#include "dev/dev.h"
#include "host/assembler.h"

struct compiled {
	CUlibrary lib; /* NULL: the driver has none (before 12.0), mod is a module of its own */
	CUmodule mod;
	CUfunction fn;
};
/* False: the driver does not take it, or the program ends. s: what is to be kept once it is
 * compiled, whoever does that; NULL: it is kept, and the driver has it in its cache, as far as is
 * known. In no fence, as it may take long; in a turn (kernel_turn_begin), but while another process
 * compiles.
 */
bool compile(const char *text, size_t len, const struct staged *s, struct compiled *ret);
/* Around calls of the driver by threads that the program's end does not wait for otherwise: while
 * there are any it waits, as the driver is taken down then. So does the end of the context. False:
 * either has begun. */
bool compile_goes_inside(void);
void compile_goes_outside(void);
/* Around the end of the shim's context: waits until no thread is inside, and none goes inside. */
void compile_pause(void);
void compile_resume(void);
/* Puts kernel `name` of it on the device, within placing_begin: the driver would otherwise load it
 * at its first launch, a lock held. */
bool compile_place(struct compiled *c, const char *text, const char *name);
/* Compiles and places, within placing_begin. For small kernels: launches are held meanwhile. */
bool compile_here(struct compiled *c, const char *text, const char *name);
/* Unloads whatever of it was loaded, within placing_begin or a call of the program that unloads. */
void compile_drop(struct compiled *c);
/* The same when the context has ended, and a module of its own with it. */
void compile_drop_ended(struct compiled *c);

#endif
