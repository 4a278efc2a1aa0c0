/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Wraps the functions that load code. The driver loads the program's code unchanged. The shim keeps
 * a copy of the PTX, and records which handle belongs to which kernel. Loading takes locks inside
 * the driver, so the shim puts a fence around it. */
#include "shim/form/kernel.h"
#include "shim/order/fence.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if the shim keeps the PTX of code that is loaded now. Makes the program a tenant
 * first if possible, because the choice of the PTX depends on the device. */
static bool keeps_ptx(struct session *session, bool library)
{
	bool maybe = shim_maybe(session);

	for (unsigned i = 0; library && !maybe && i < shim_sessions(); i++)
		maybe = atomic_load_explicit(&sessions[i].mode, memory_order_relaxed) !=
			SHIM_NATIVE;
	if (maybe)
		shim_on(session);
	return maybe;
}

static void keep_image(
	struct session *session, void *handle, bool library, struct image_bytes image)
{
	if (library)
		kernel_library_loaded(handle, image);
	else
		kernel_module_loaded(session, handle, image);
}

/* Reads the image at the pointer, and any further images that the image's wrapper lists. */
static void image_loaded(struct session *session, void *handle, bool library, const void *image)
{
	struct image_bytes b;
	unsigned n;

	if (!keeps_ptx(session, library))
		return;
	if (image_span(image, &b, &n) == 0)
		keep_image(session, handle, library, b);
}

static void loaded_file(struct session *session, void *handle, bool library, const char *path)
{
	struct image_bytes b;
	struct stat st;
	void *p = MAP_FAILED;
	int fd;

	if (!keeps_ptx(session, library))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return;
	b = (struct image_bytes){p, (size_t)st.st_size};
	keep_image(session, handle, library, b);
	munmap(p, (size_t)st.st_size);
}

/* The body of a function that loads code: calls the driver's function within a fence, and executes
 * `then` if the driver succeeded. */
#define FENCED_LOAD(fn, args, then)                \
	do {                                       \
		CUresult load_result;              \
                                                   \
		SHIM_NEED(fn);                     \
		fence_begin(session, FENCE_LOADS); \
		load_result = cu.fn args;          \
		fence_end(session);                \
		if (load_result == CUDA_SUCCESS)   \
			then;                      \
		return load_result;                \
	} while (0)

SHIM_API CUresult cuModuleLoad(CUmodule *mod, const char *path);
CUresult cuModuleLoad(CUmodule *mod, const char *path)
{
	FENCED_LOAD(cuModuleLoad, (mod, path), loaded_file(session, *mod, false, path));
}

SHIM_API CUresult cuModuleLoadData(CUmodule *mod, const void *image);
CUresult cuModuleLoadData(CUmodule *mod, const void *image)
{
	FENCED_LOAD(cuModuleLoadData, (mod, image), image_loaded(session, *mod, false, image));
}

SHIM_API CUresult cuModuleLoadDataEx(
	CUmodule *mod, const void *image, unsigned int n, CUjit_option *options, void **values);
CUresult cuModuleLoadDataEx(
	CUmodule *mod, const void *image, unsigned int n, CUjit_option *options, void **values)
{
	FENCED_LOAD(cuModuleLoadDataEx, (mod, image, n, options, values),
		image_loaded(session, *mod, false, image));
}

SHIM_API CUresult cuModuleLoadFatBinary(CUmodule *mod, const void *image);
CUresult cuModuleLoadFatBinary(CUmodule *mod, const void *image)
{
	FENCED_LOAD(cuModuleLoadFatBinary, (mod, image), image_loaded(session, *mod, false, image));
}

SHIM_API CUresult cuModuleUnload(CUmodule mod);
CUresult cuModuleUnload(CUmodule mod)
{
	CUresult r;

	SHIM_NEED(cuModuleUnload);
	fence_begin(session, FENCE_WAITS);
	if (shim_maybe(session))
		kernel_module_unloaded(mod);
	r = cu.cuModuleUnload(mod);
	fence_end(session);
	return r;
}

SHIM_API CUresult cuLibraryLoadData(CUlibrary *lib, const void *code, CUjit_option *jit,
	void **jit_values, unsigned int n_jit, CUlibraryOption *options, void **values,
	unsigned int n);
CUresult cuLibraryLoadData(CUlibrary *lib, const void *code, CUjit_option *jit, void **jit_values,
	unsigned int n_jit, CUlibraryOption *options, void **values, unsigned int n)
{
	FENCED_LOAD(cuLibraryLoadData, (lib, code, jit, jit_values, n_jit, options, values, n),
		image_loaded(session, *lib, true, code));
}

SHIM_API CUresult cuLibraryLoadFromFile(CUlibrary *lib, const char *path, CUjit_option *jit,
	void **jit_values, unsigned int n_jit, CUlibraryOption *options, void **values,
	unsigned int n);
CUresult cuLibraryLoadFromFile(CUlibrary *lib, const char *path, CUjit_option *jit,
	void **jit_values, unsigned int n_jit, CUlibraryOption *options, void **values,
	unsigned int n)
{
	FENCED_LOAD(cuLibraryLoadFromFile, (lib, path, jit, jit_values, n_jit, options, values, n),
		loaded_file(session, *lib, true, path));
}

SHIM_API CUresult cuLibraryUnload(CUlibrary lib);
CUresult cuLibraryUnload(CUlibrary lib)
{
	CUmodule mod = NULL;
	CUresult r;

	SHIM_NEED(cuLibraryUnload);
	fence_all_begin(FENCE_WAITS);
	if (shim_maybe(session)) {
		if (cu.cuLibraryGetModule && cu.cuLibraryGetModule(&mod, lib) == CUDA_SUCCESS)
			kernel_module_unloaded(mod);
		kernel_module_unloaded(lib);
	}
	r = cu.cuLibraryUnload(lib);
	fence_all_end();
	return r;
}

/* ---- handles ---- */

SHIM_API CUresult cuModuleGetFunction(CUfunction *fn, CUmodule mod, const char *name);
CUresult cuModuleGetFunction(CUfunction *fn, CUmodule mod, const char *name)
{
	CUresult r;

	SHIM_NEED(cuModuleGetFunction);
	fence_begin(session, FENCE_LOADS);
	r = cu.cuModuleGetFunction(fn, mod, name);
	fence_end(session);
	if (r == CUDA_SUCCESS && shim_maybe(session))
		kernel_known(session, *fn, mod, false, name);
	return r;
}

SHIM_API CUresult cuModuleEnumerateFunctions(CUfunction *fns, unsigned int n, CUmodule mod);
CUresult cuModuleEnumerateFunctions(CUfunction *fns, unsigned int n, CUmodule mod)
{
	const char *name;
	CUresult r;

	SHIM_NEED(cuModuleEnumerateFunctions);
	r = cu.cuModuleEnumerateFunctions(fns, n, mod);
	for (unsigned i = 0; r == CUDA_SUCCESS && shim_maybe(session) && cu.cuFuncGetName && i < n;
		i++) {
		if (cu.cuFuncGetName(&name, fns[i]) == CUDA_SUCCESS)
			kernel_known(session, fns[i], mod, false, name);
	}
	return r;
}

SHIM_API CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary lib, const char *name);
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary lib, const char *name)
{
	CUresult r;

	SHIM_NEED(cuLibraryGetKernel);
	r = cu.cuLibraryGetKernel(kernel, lib, name);
	if (r == CUDA_SUCCESS && shim_maybe(session))
		kernel_known(session, *kernel, lib, true, name);
	return r;
}

SHIM_API CUresult cuLibraryEnumerateKernels(CUkernel *list, unsigned int n, CUlibrary lib);
CUresult cuLibraryEnumerateKernels(CUkernel *list, unsigned int n, CUlibrary lib)
{
	const char *name;
	CUresult r;

	SHIM_NEED(cuLibraryEnumerateKernels);
	r = cu.cuLibraryEnumerateKernels(list, n, lib);
	for (unsigned i = 0;
		r == CUDA_SUCCESS && shim_maybe(session) && cu.cuKernelGetName && i < n; i++) {
		if (cu.cuKernelGetName(&name, list[i]) == CUDA_SUCCESS)
			kernel_known(session, list[i], lib, true, name);
	}
	return r;
}

SHIM_API CUresult cuLibraryGetModule(CUmodule *mod, CUlibrary lib);
CUresult cuLibraryGetModule(CUmodule *mod, CUlibrary lib)
{
	CUresult r;

	SHIM_NEED(cuLibraryGetModule);
	fence_begin(session, FENCE_LOADS);
	r = cu.cuLibraryGetModule(mod, lib);
	fence_end(session);
	if (r == CUDA_SUCCESS && shim_maybe(session))
		kernel_module_of_library(session, *mod, lib);
	return r;
}

SHIM_API CUresult cuKernelGetFunction(CUfunction *fn, CUkernel kernel);
CUresult cuKernelGetFunction(CUfunction *fn, CUkernel kernel)
{
	CUresult r;

	SHIM_NEED(cuKernelGetFunction);
	fence_begin(session, FENCE_LOADS);
	r = cu.cuKernelGetFunction(fn, kernel);
	fence_end(session);
	if (r == CUDA_SUCCESS && shim_maybe(session))
		kernel_also(session, *fn, kernel);
	return r;
}

/* ---- attributes ---- */

SHIM_API CUresult cuFuncSetAttribute(CUfunction fn, CUfunction_attribute attr, int value);
CUresult cuFuncSetAttribute(CUfunction fn, CUfunction_attribute attr, int value)
{
	CUresult r;

	SHIM_NEED(cuFuncSetAttribute);
	fence_begin(session, FENCE_LOADS);
	r = cu.cuFuncSetAttribute(fn, attr, value);
	fence_end(session);
	if (r == CUDA_SUCCESS && shim_maybe(session))
		kernel_attribute(session, fn, attr, value);
	return r;
}

SHIM_API CUresult cuKernelSetAttribute(
	CUfunction_attribute attr, int value, CUkernel kernel, CUdevice dev);
CUresult cuKernelSetAttribute(CUfunction_attribute attr, int value, CUkernel kernel, CUdevice dev)
{
	struct session *session;
	CUresult r;

	SHIM_DRIVER(cuKernelSetAttribute);
	session = session_of_device(dev);
	r = cu.cuKernelSetAttribute(attr, value, kernel, dev);
	if (r == CUDA_SUCCESS && shim_maybe(session))
		kernel_attribute(session, kernel, attr, value);
	return r;
}

SHIM_API CUresult cuFuncSetCacheConfig(CUfunction fn, CUfunc_cache config);
CUresult cuFuncSetCacheConfig(CUfunction fn, CUfunc_cache config)
{
	CUresult r;

	SHIM_NEED(cuFuncSetCacheConfig);
	r = cu.cuFuncSetCacheConfig(fn, config);
	if (r == CUDA_SUCCESS && shim_maybe(session))
		kernel_cache_config(session, fn, config);
	return r;
}

SHIM_API CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev);
CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	struct session *session;
	CUresult r;

	SHIM_DRIVER(cuKernelSetCacheConfig);
	session = session_of_device(dev);
	r = cu.cuKernelSetCacheConfig(kernel, config, dev);
	if (r == CUDA_SUCCESS && shim_maybe(session))
		kernel_cache_config(session, kernel, config);
	return r;
}
