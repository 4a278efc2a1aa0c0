/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds out how an executable uses the GPU, without running it. */
#ifndef HEDDLE_CLI_PROGRAM_H
#define HEDDLE_CLI_PROGRAM_H

#include "base/base.h"
#include "image/image.h"

struct program {
	char path[4096];
	struct image_bytes file; /* the mapped file */
	bool is_elf64;           /* false: a script, or another format */
	bool is_elf32;
	bool is_dynamic; /* a loader starts it, and usually reads LD_LIBRARY_PATH */
	/* the loader ignores LD_LIBRARY_PATH for this user: setuid, setgid, or with capabilities */
	bool is_privileged;
	char interpreter[64];   /* a script's interpreter, as named in its first line; "": none */
	bool needs_libcuda;     /* DT_NEEDED lists libcuda.so.1 */
	const char *libcudart;  /* name of the shared CUDA runtime that it needs; NULL: none */
	bool has_static_cudart; /* contains NVIDIA's CUDA runtime, linked statically */
	/* contains the string "libcuda.so.1", which a program passes to dlopen */
	bool names_libcuda;
	bool names_libcuda_path;             /* contains that name with a folder before it */
	struct image_bytes dynamic, strings; /* its dynamic section; the names in that section */
	/* DT_RPATH and DT_RUNPATH; NULL if absent. rpath is also NULL if there is a runpath,
	 * because the loader then ignores it. */
	const char *rpath, *runpath;
};

/* Opens a program. A name without '/' is looked up in the folders of PATH, except that an empty
 * folder name is skipped. Returns 0 or a negative errno. */
int program_open(const char *name, struct program *ret);
/* Opens a file by its path, and reads only its headers and its dynamic section. */
int program_open_headers(const char *path, struct program *ret);
/* Returns the next name of DT_NEEDED, or NULL if there are no more. *io_at must be 0 before the
 * first call. */
const char *program_needed(const struct program *p, uint64_t *io_at);
/* Returns whether the program contains this string, with its terminating NUL, among its
 * constants. */
bool program_holds(const struct program *p, const char *text);
/* Returns whether the program or library has NVIDIA's CUDA runtime inside, as nvcc links it. */
bool program_has_runtime(const struct program *p);
void program_close(struct program *p);
/* Writes to buf why no library can be interposed before the driver's. Returns NULL if there is no
 * known obstacle. For a script, the interpreter is examined. */
const char *program_obstacle(const struct program *p, char *buf, size_t size);
/* Returns why the virtual GPU cannot run the program and what to do about it, or NULL if the
 * program's file shows no obstacle. */
const char *program_needs_gpu(const struct program *p);

#endif
