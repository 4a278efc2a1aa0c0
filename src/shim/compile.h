/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The shim's own PTX, compiled and loaded on the device. The driver compiles a module under a lock
 * of the context: launches wait for it, for seconds if need be. It compiles a library without a
 * lock (doc/notebook.md, "What compiling holds up"), and loads the library on a device when a
 * kernel of it is requested. If possible, another process compiles, and the driver here reads the
 * result from its cache (assembler.h). */
#ifndef HEDDLE_SHIM_COMPILE_H
#define HEDDLE_SHIM_COMPILE_H

#include "dev/dev.h"
#include "host/assembler.h"

struct compiled {
	/* NULL: the driver has no libraries (before 12.0), and mod is a module of its own */
	CUlibrary lib;
	CUmodule mod;
	CUfunction fn;
};
/* False: the driver refuses the text, or the program ends. s: the staged entry, to be kept once the
 * text has compiled, in whichever process; NULL: it is kept already, and the driver should have it
 * in its cache. Never within a fence, since it may take long. Needs a turn (kernel_turn_begin), but
 * gives it up while another process compiles. */
bool compile(const char *text, size_t len, const struct staged *s, struct compiled *ret);
/* Around driver calls by threads that would otherwise not survive the program's end, as the driver
 * is taken down then. The program's end and the context's end wait while a thread is inside. False:
 * one of these ends has begun. */
bool compile_goes_inside(void);
void compile_goes_outside(void);
/* Around the end of the shim's context: waits until no thread is inside, and admits none. */
void compile_pause(void);
void compile_resume(void);
/* Loads kernel `name` of it on the device, within placing_begin: otherwise the driver would load it
 * at its first launch, with a lock held. */
bool compile_place(struct compiled *c, const char *text, const char *name);
/* Compiles and places, within placing_begin. For small kernels: launches are held meanwhile. */
bool compile_here(struct compiled *c, const char *text, const char *name);
/* Unloads it, within placing_begin or within a call of the program that unloads. */
void compile_drop(struct compiled *c);
/* The same after the end of its context, which freed a module with it. */
void compile_drop_ended(struct compiled *c);

#endif
