/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds and loads drivers. The vendor's driver, the shim and the virtual GPU share one file name,
 * libcuda.so.1. So if a library path is set for the shim or the virtual GPU, a plain dlopen finds
 * that library and not the vendor's driver. The shim and the virtual GPU each export a marker
 * symbol. If dlopen finds a library with a marker, this file searches for the vendor's driver in
 * the folders where systems install it. */
#include "dev/dev.h"

#include "base/base.h"
#include "base/number.h"
#include "dev/symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const system_paths[] = {
	"libcuda.so.1",
#if defined(__aarch64__)
	"/usr/lib/aarch64-linux-gnu/libcuda.so.1",
#else
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
#endif
	"/usr/lib64/libcuda.so.1",
	"/usr/lib/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/run/opengl-driver/lib/libcuda.so.1",
};

/* Paths of an installed virtual GPU: absolute, or relative to the folder of the running program
 * (the heddle command, or another program of heddle). */
static const char *const cpu_places[] = {HEDDLE_PARTS "/cpu/libcuda.so.1", "../cpu/libcuda.so.1"};
/* Path of the virtual GPU in a build tree, relative to the program's folder or a folder above
 * it. */
#define CPU_BUILT "src/dev/cpu/libcuda.so.1"

typedef void *lookup_fn(void *handle, const char *name);

static int fill_api(void *handle, lookup_fn *lookup, struct cu_api *ret)
{
	struct cu_api api = {.handle = handle};

	if (!lookup(handle, "cuInit"))
		return -ELIBBAD;
	for (unsigned i = 0; i < cu_n_fns; i++) {
		void *p = lookup(handle, cu_fns[i].symbol);
		memcpy((char *)&api + cu_fns[i].offset, &p, sizeof(p));
	}
	*ret = api;
	return 0;
}

/* Opens a driver file. A driver is never unmapped, because its threads and its exit handlers can
 * still run its code after dlclose. */
static int open_file(const char *path, bool foreign_only, lookup_fn *lookup, struct cu_api *ret)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!handle)
		return -ENOENT;
	int r = -ENOENT;
	if (!foreign_only ||
		(!dev_symbol(handle, DEV_SHIM_MARKER) && !dev_symbol(handle, DEV_CPU_MARKER)))
		r = fill_api(handle, lookup, ret);
	if (r)
		dlclose(handle);
	return r;
}

static int open_cuda(lookup_fn *lookup, struct cu_api *ret)
{
	int r = -ENOENT;

	for (size_t i = 0; i < sizeof(system_paths) / sizeof(system_paths[0]); i++) {
		r = open_file(system_paths[i], true, lookup, ret);
		if (r != -ENOENT)
			break;
	}
	return r;
}

static int open_cpu(struct cu_api *ret)
{
	char dir[PATH_MAX], path[PATH_MAX + 64];

	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash = n > 0 ? memrchr(dir, '/', (size_t)n) : NULL;
	if (!slash)
		return -ENOENT;
	*slash = 0;
	for (size_t i = 0; i < sizeof(cpu_places) / sizeof(cpu_places[0]); i++) {
		bool elsewhere = cpu_places[i][0] == '/';

		snprintf(path, sizeof(path), "%s/%s", elsewhere ? "" : dir, cpu_places[i]);
		if (access(path, R_OK) == 0)
			return open_file(path, false, dev_symbol, ret);
	}
	for (int up = 0; up < 6 && slash; up++, slash = strrchr(dir, '/')) {
		*slash = 0;
		snprintf(path, sizeof(path), "%s/" CPU_BUILT, dir);
		if (access(path, R_OK) == 0)
			return open_file(path, false, dev_symbol, ret);
	}
	return -ENOENT;
}

static bool has_device(const struct cu_api *api)
{
	int n = 0;

	return api->cuInit && api->cuDeviceGetCount && api->cuInit(0) == CUDA_SUCCESS &&
	       api->cuDeviceGetCount(&n) == CUDA_SUCCESS && n > 0;
}

int dev_open(enum dev_kind kind, const char *path, struct cu_api *ret)
{
	if (path)
		return open_file(path, false, dev_symbol, ret);
	if (kind == DEV_CPU)
		return open_cpu(ret);
	if (kind == DEV_CUDA)
		return open_cuda(dlsym, ret);
	struct cu_api api;
	if (open_cuda(dlsym, &api) == 0) {
		if (has_device(&api)) {
			*ret = api;
			return 0;
		}
		dev_close(&api);
	}
	return open_cpu(ret);
}

int dev_open_below(const char *path, struct cu_api *ret)
{
	return path ? open_file(path, false, dev_symbol, ret) : open_cuda(dev_symbol, ret);
}

enum dev_kind dev_kind_of(const struct cu_api *api)
{
	return dev_symbol(api->handle, DEV_CPU_MARKER) ? DEV_CPU : DEV_CUDA;
}

void dev_tell_lines(
	const struct cu_api *api, const char *text, size_t len, const uint32_t *lines, size_t n)
{
	void *p = api->handle ? dev_symbol(api->handle, DEV_CPU_LINES) : NULL;
	dev_lines_fn *tell;

	memcpy(&tell, &p, sizeof(p));
	if (tell && n)
		tell(text, len, lines, n);
}

void dev_close(struct cu_api *api)
{
	if (api->handle)
		dlclose(api->handle);
	memset(api, 0, sizeof(*api));
}

bool dev_kind_parse(const char *text, enum dev_kind *ret)
{
	static const char *const names[] = {
		[DEV_AUTO] = "auto", [DEV_CPU] = "cpu", [DEV_CUDA] = "cuda"};

	for (int i = 0; i < 3; i++)
		if (!strcmp(text, names[i])) {
			*ret = i;
			return true;
		}
	return false;
}

bool dev_parse(const char *text, enum dev_kind *ret, int *ret_ordinal)
{
	size_t len = strcspn(text, ":");
	uint64_t ordinal;
	enum dev_kind kind;
	char word[8] = "";

	if (!text[len]) {
		*ret_ordinal = 0;
		return dev_kind_parse(text, ret);
	}
	if (len >= sizeof(word) || number_parse(text + len + 1, 0, 9999, &ordinal) < 0)
		return false;
	memcpy(word, text, len);
	if (!dev_kind_parse(word, &kind) || kind == DEV_AUTO)
		return false;
	*ret = kind;
	*ret_ordinal = (int)ordinal;
	return true;
}

enum dev_compiler dev_compiler(int version)
{
	/* Each of these releases was tried with its own ptxas. Releases 12.8 to 13.3 generate wrong
	 * code for some kernels; 12.0 to 12.6, 13.4 and 13.5 do not. */
	static const struct {
		int from, to; /* version numbers: 1000 * major + 10 * minor */
		enum dev_compiler is;
	} known[] = {
		{12000, 12069, DEV_COMPILER_RIGHT},
		{12080, 13039, DEV_COMPILER_FAULTY},
		{13040, 13059, DEV_COMPILER_RIGHT},
	};

	for (unsigned i = 0; i < ARRAY_LEN(known); i++)
		if (version >= known[i].from && version <= known[i].to)
			return known[i].is;
	return DEV_COMPILER_NOT_SEEN;
}
