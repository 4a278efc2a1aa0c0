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
	bool is_elf32;
	bool is_dynamic;      /* a loader starts it, which looks at LD_LIBRARY_PATH, */
	bool is_privileged;   /* but not for this user: setuid, setgid, or with capabilities */
	char interpreter[64]; /* of a script, as its first line has it; empty: none */
	bool needs_libcuda, needs_libcudart; /* by DT_NEEDED */
	bool has_static_cudart;              /* carries the runtime's wrappers */
	bool names_libcuda;                  /* holds the name, as dlopen needs it */
	bool names_libcuda_path;             /* with a folder in front */
	char rpath[1024];                    /* DT_RPATH, where it counts; empty: none */
};

/* Looks name up in PATH as execvp does. 0 or negative errno. */
int program_open(const char *name, struct program *ret);
void program_close(struct program *p);
/* Why no library can be put in front of the driver's in it, into buf; NULL: nothing is known
 * against it. Of a script, what is known of its interpreter. */
const char *program_obstacle(const struct program *p, char *buf, size_t size);

#endif
