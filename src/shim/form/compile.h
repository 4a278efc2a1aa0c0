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

#include "host/assembler.h"
#include "shim/form/compiled.h"

/* Compiles the text. Returns false if the driver refuses the text or the program is ending. `s` is
 * the cache entry to commit once the text has compiled, in this or in another process. NULL means
 * that the entry was committed earlier. Then the text has been compiled before, and the driver
 * should find the code in its own cache.
 *
 * Do not call this within a fence, because it can take long. The calling thread must have called
 * turn_begin, which limits how many threads work at once. While another process compiles,
 * the calling thread gives up its turn, so that another thread can work. */
bool compile(struct session *session, const char *text, size_t len, const struct staged *s,
	struct compiled *ret);
/* Compiles the text in this process and loads kernel `name` on the device. Call it between
 * placing_begin and placing_end. The program's launches wait meanwhile, so use it only for small
 * kernels. */
bool compile_here(struct compiled *c, const char *text, const char *name);

#endif
