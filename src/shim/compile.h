/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Compiles the shim's own PTX and loads it on the device.
 * - Modules: while the driver compiles a module, it holds a lock of the context, and launches wait
 *   for that lock, sometimes for seconds.
 * - Libraries: while the driver compiles a library, it holds no such lock (doc/notebook.md, "What
 *   compiling holds up"). It loads the library on the device later, when a kernel of the library is
 *   requested.
 *
 * So the shim uses libraries if the driver supports them. If possible, a separate process compiles,
 * and the driver in this process reads the result from its cache (assembler.h). */
#ifndef HEDDLE_SHIM_COMPILE_H
#define HEDDLE_SHIM_COMPILE_H

#include "dev/dev.h"
#include "host/assembler.h"

struct compiled {
	/* the library that holds the code; NULL if the driver does not support libraries (before
	 * 12.0), and then the code is in the module `mod` */
	CUlibrary lib;
	CUmodule mod;
	CUfunction fn;
};
/* Compiles the text. Returns false if the driver refuses the text or the program is ending. `s` is
 * the cache entry to commit once the text has compiled, in this or in another process. NULL means
 * that the entry was committed earlier. Then the text has been compiled before, and the driver
 * should find the code in its own cache.
 *
 * Do not call this within a fence, because it can take long. The calling thread must have called
 * kernel_turn_begin, which limits how many threads work at once. While another process compiles,
 * the calling thread gives up its turn, so that another thread can work. */
bool compile(const char *text, size_t len, const struct staged *s, struct compiled *ret);
/* Call these two around driver calls of a thread for which the program's end would not wait by
 * itself. The driver shuts down at the program's end. So the program's end, and the end of a
 * context, wait while a thread is between the two calls. compile_goes_inside returns false if the
 * program or the context has begun to end; then do not call the driver. */
bool compile_goes_inside(void);
void compile_goes_outside(void);
/* Call these around the end of the shim's context. compile_pause waits until no thread is inside
 * (compile_goes_inside), and no thread can go inside until compile_resume. */
void compile_pause(void);
void compile_resume(void);
/* Loads the compiled kernel `name` on the device now. Otherwise the driver would load the kernel at
 * the kernel's first launch, and hold a lock meanwhile. Call this between placing_begin and
 * placing_end. */
bool compile_place(struct compiled *c, const char *text, const char *name);
/* Compiles the text in this process and loads kernel `name` on the device. Call it between
 * placing_begin and placing_end. The program's launches wait meanwhile, so use it only for small
 * kernels. */
bool compile_here(struct compiled *c, const char *text, const char *name);
/* Unloads the compiled code. Call it between placing_begin and placing_end, or while the program
 * itself calls the driver to unload something. */
void compile_drop(struct compiled *c);
/* Frees the shim's data of compiled code whose context has ended. The driver has freed the code
 * itself together with the context, so this does not unload it. */
void compile_drop_ended(struct compiled *c);

#endif
