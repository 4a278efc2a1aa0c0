/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What an executable reveals about its use of the GPU without being run. */
#ifndef HEDDLE_CLI_PROGRAM_H
#define HEDDLE_CLI_PROGRAM_H

#include "base/base.h"
#include "image/image.h"

struct program {
	char path[4096];
	struct image_bytes file; /* mapped */
	bool is_elf64;           /* else a script, or something foreign */
	bool is_dynamic, is_setuid;
	bool needs_libcuda, needs_libcudart; /* by DT_NEEDED, itself or one of its libraries */
	bool has_static_cudart;              /* carries the runtime's wrappers */
	bool names_libcuda;                  /* holds the name, as dlopen needs it */
	bool has_rpath;
};

/* Looks name up in PATH as execvp does. 0 or negative errno. */
int program_open(const char *name, struct program *ret);
void program_close(struct program *p);

#endif
