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
	bool is_dynamic;         /* a loader starts it, which looks at LD_LIBRARY_PATH, */
	bool is_privileged;      /* but not for this user: setuid, setgid, or with capabilities */
	char interpreter[64];    /* of a script, as its first line has it; empty: none */
	bool needs_libcuda;      /* by DT_NEEDED */
	const char *libcudart;   /* the shared CUDA runtime that it needs, in strings; NULL: none */
	bool has_static_cudart;  /* carries the runtime's wrappers */
	bool names_libcuda;      /* holds the name, as dlopen needs it */
	bool names_libcuda_path; /* with a folder in front */
	struct image_bytes dynamic, strings; /* its dynamic section; the names in that */
	/* DT_RPATH, which counts where there is no DT_RUNPATH; in strings; NULL: none. */
	const char *rpath, *runpath;
};

/* Looks name up in PATH as execvp does. 0 or negative errno. */
int program_open(const char *name, struct program *ret);
/* A file by its path, and of it only what headers and the dynamic section say. */
int program_open_headers(const char *path, struct program *ret);
/* The next name of DT_NEEDED; *io_at is 0 at first. NULL: that was all. */
const char *program_needed(const struct program *p, uint64_t *io_at);
/* Whether it holds this text, with its end, where constants are. */
bool program_holds(const struct program *p, const char *text);
void program_close(struct program *p);
/* Why no library can be put in front of the driver's in it, into buf; NULL: nothing is known
 * against it. Of a script, what is known of its interpreter. */
const char *program_obstacle(const struct program *p, char *buf, size_t size);
/* Why the virtual GPU cannot run it, and what to do; NULL: its file shows nothing against it. */
const char *program_needs_gpu(const struct program *p);

#endif
