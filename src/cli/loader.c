/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Simulates glibc's loader. It loads libraries breadth first: first the program's in their order,
 * then the libraries that those need. It searches for each name once, for the first object that
 * needs it, in this order:
 * - the RPATH of that object, of the object that loaded it, and so on; none of these if the object
 *   has a RUNPATH
 * - LD_LIBRARY_PATH, where the shim is
 * - the object's RUNPATH
 * - the system's folders
 *
 * The program's RPATH therefore applies to every object without a RUNPATH, even to objects loaded
 * later and even if the program itself does not name the driver. The loader searches for a library
 * loaded by dlopen in the same way. */
#include "cli/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRIVER    "libcuda.so.1"
#define MAX_FILES 256

static const char *const system_folders[] = {
#if defined(__aarch64__)
	"/lib/aarch64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
#else
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
#endif
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
	"/usr/local/lib",
};

struct loaded {
	struct program p;
	const struct loaded *by; /* the object that needed this one; NULL: this is the program */
	char name[256];          /* name under which it was needed */
};

struct loader {
	struct loaded *at[MAX_FILES];
	unsigned n;
};

/* Searches for a file in a list of folders separated by colons. p is the program or library whose
 * folder replaces $ORIGIN; NULL: $ORIGIN is not replaced. */
static bool in_folders(
	const char *list, const struct program *p, const char *name, char *ret, size_t max)
{
	const char *slash = p ? strrchr(p->path, '/') : NULL;
	int origin = slash ? (int)(slash - p->path) : 1;

	for (const char *at = list ? list : ""; *at;) {
		size_t n = strcspn(at, ":"), skip = 0;

		if (p && strncmp(at, "$ORIGIN", 7) == 0)
			skip = 7;
		else if (p && strncmp(at, "${ORIGIN}", 9) == 0)
			skip = 9;
		if (n &&
			snprintf(ret, max, "%.*s%.*s/%s", skip ? origin : 0, slash ? p->path : ".",
				(int)(n - skip), at + skip, name) < (int)max &&
			access(ret, F_OK) == 0)
			return true;
		at += n + (at[n] == ':');
	}
	return false;
}

/* Searches the RPATHs that apply to for_whom. *ret_whose is the object whose RPATH has the file. */
static bool by_rpath(const struct loaded *for_whom, const char *name, char *ret, size_t max,
	const struct loaded **ret_whose)
{
	if (for_whom->p.runpath)
		return false;
	for (const struct loaded *l = for_whom; l; l = l->by) {
		if (l->p.rpath && in_folders(l->p.rpath, &l->p, name, ret, max)) {
			*ret_whose = l;
			return true;
		}
	}
	return false;
}

static bool in_system(const char *name, char *ret, size_t max)
{
	for (size_t i = 0; i < ARRAY_LEN(system_folders); i++)
		if (in_folders(system_folders[i], NULL, name, ret, max))
			return true;
	return false;
}

static bool find_library(const struct loaded *l, const char *name, char *ret, size_t max)
{
	const struct loaded *whose;

	if (strchr(name, '/'))
		return snprintf(ret, max, "%s", name) < (int)max;
	return by_rpath(l, name, ret, max, &whose) ||
	       in_folders(getenv("LD_LIBRARY_PATH"), NULL, name, ret, max) ||
	       in_folders(l->p.runpath, &l->p, name, ret, max) || in_system(name, ret, max);
}

static bool is_there(const struct loader *x, const char *name)
{
	for (unsigned i = 0; i < x->n; i++)
		if (strcmp(x->at[i]->name, name) == 0)
			return true;
	return false;
}

static void load_library(struct loader *x, const struct loaded *by, const char *name)
{
	char path[sizeof(by->p.path)];
	struct loaded *l;

	if (x->n == MAX_FILES || is_there(x, name) || !find_library(by, name, path, sizeof(path)))
		return;
	l = calloc(1, sizeof(*l));
	if (!l || program_open_headers(path, &l->p) < 0) {
		free(l);
		return;
	}
	l->by = by;
	snprintf(l->name, sizeof(l->name), "%s", name);
	x->at[x->n++] = l;
}

/* Loads objects in the loader's order until one needs the driver. Returns that object, or NULL if
 * none needs the driver. */
static const struct loaded *load_all(struct loader *x)
{
	for (unsigned i = 0; i < x->n; i++) {
		uint64_t at = 0;
		const char *name;

		while ((name = program_needed(&x->at[i]->p, &at))) {
			if (strcmp(name, DRIVER) == 0)
				return x->at[i];
			load_library(x, x->at[i], name);
		}
	}
	return NULL;
}

/* Examines the objects that contain the driver's name and may therefore load it with dlopen. Which
 * of these objects does so first is not known. Returns the first of them if every one finds a
 * driver by RPATH. Returns NULL if one does not. */
static const struct loaded *all_name_it(
	const struct loader *x, char *path, size_t max, const struct loaded **ret_whose)
{
	const struct loaded *first = NULL, *whose;
	char other[sizeof(x->at[0]->p.path)];

	for (unsigned i = 0; i < x->n && !first; i++)
		if (by_rpath(x->at[i], DRIVER, path, max, ret_whose) &&
			program_holds(&x->at[i]->p, DRIVER))
			first = x->at[i];
	for (unsigned i = 0; i < x->n && first; i++)
		if (!by_rpath(x->at[i], DRIVER, other, sizeof(other), &whose) &&
			program_holds(&x->at[i]->p, DRIVER))
			first = NULL;
	return first;
}

static void close_all(struct loader *x)
{
	for (unsigned i = 1; i < x->n; i++) {
		program_close(&x->at[i]->p);
		free(x->at[i]);
	}
}

bool loader_finds_runtime(const struct program *p, char *buf, size_t size)
{
	struct loaded *program = calloc(1, sizeof(*program));
	struct loader x = {.at = {program}, .n = 1};
	bool found = false;

	if (!program)
		return false;
	program->p = *p;
	for (unsigned i = 0; i < x.n && !found; i++) {
		uint64_t at = 0;
		const char *name;

		found = i && program_has_runtime(&x.at[i]->p);
		if (found)
			snprintf(buf, size, "%s", x.at[i]->p.path);
		while ((name = program_needed(&x.at[i]->p, &at)))
			load_library(&x, x.at[i], name);
	}
	close_all(&x);
	free(program);
	return found;
}

bool loader_passes(const struct program *p, char *buf, size_t size)
{
	struct loaded *program = calloc(1, sizeof(*program));
	const struct loaded *first, *whose = program;
	struct loader x = {.at = {program}, .n = 1};
	char path[sizeof(p->path)];
	bool yes;

	if (!program)
		return false;
	program->p = *p;
	yes = p->rpath && in_folders(p->rpath, p, DRIVER, path, sizeof(path));
	if (!yes) {
		first = load_all(&x);
		yes = first ? by_rpath(first, DRIVER, path, sizeof(path), &whose)
			    : all_name_it(&x, path, sizeof(path), &whose) != NULL;
	}
	if (yes)
		snprintf(buf, size, "%s%s RPATH leads to %s, ahead of what heddle sets",
			whose == program ? "its" : whose->p.path, whose == program ? "" : "'s",
			path);
	close_all(&x);
	free(program);
	return yes;
}
