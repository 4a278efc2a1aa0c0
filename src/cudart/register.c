/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Registers fatbins, and the kernels and variables in them by host address. Programs do this before
 * main, or when a shared object is loaded. When a fatbin's content is first used, the fatbin is
 * loaded as a library of the driver; the driver then selects and decompresses the code. One lock
 * guards all data of this file. It is held during calls of the driver, which never calls back. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cudart/cudart.h"

struct module {
	const void *fatbin; /* the wrapper in the program */
	CUlibrary library;  /* NULL: not loaded yet */
};

/* A kernel or a variable. */
struct symbol {
	const void *host;
	const char *name; /* on the device; the program's */
	struct module *module;
	CUkernel kernel;        /* NULL: not looked up yet */
	void **managed;         /* the program's pointer to a managed variable; else NULL */
	struct symbol *in_hash; /* the next with this hash */
	struct symbol *next;    /* the next of all */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct symbol *symbols; /* all, the newest first */
static struct symbol **buckets;
static size_t n_buckets, n_symbols; /* buckets: a power of two */
static bool is_exiting;

/* ---- the table ---- */

static struct symbol **bucket_of(const void *host)
{
	return &buckets[random_bits(0, (uint64_t)(uintptr_t)host) & (n_buckets - 1)];
}

/* Makes a new hash table of size n with all symbols. Returns false if memory is exhausted, and then
 * keeps the old table. */
static bool table_make(size_t n)
{
	struct symbol **at = calloc(n, sizeof(*at));

	if (!at)
		return false;
	free(buckets);
	buckets = at;
	n_buckets = n;
	for (struct symbol *s = symbols; s; s = s->next) {
		struct symbol **b = bucket_of(s->host);
		s->in_hash = *b;
		*b = s;
	}
	return true;
}

static struct symbol *symbol_find(const void *host)
{
	if (!n_buckets)
		return NULL;
	for (struct symbol *s = *bucket_of(host); s; s = s->in_hash)
		if (s->host == host)
			return s;
	return NULL;
}

static void symbol_add(void **handle, const void *host, const char *name, void **managed)
{
	struct symbol *s = calloc(1, sizeof(*s)), **b;

	if (!s) /* then it is no symbol of ours, and its use says so */
		return;
	*s = (struct symbol){
		.host = host, .name = name, .module = (struct module *)handle, .managed = managed};
	pthread_mutex_lock(&lock);
	if (n_symbols >= n_buckets)
		table_make(n_buckets ? n_buckets * 2 : 64);
	if (n_buckets) {
		b = bucket_of(host);
		s->in_hash = *b;
		*b = s;
		s->next = symbols;
		symbols = s;
		n_symbols++;
	} else {
		free(s);
	}
	pthread_mutex_unlock(&lock);
}

/* ---- loading; the lock is held ---- */

/* Records that the process is exiting. Exit handlers run in reverse order of registration. This
 * handler is registered after the program's handler that unloads the fatbins, so this one runs
 * first. From then on, unloading a fatbin does nothing: kernels may still run, and the end of the
 * process frees everything. */
static void mark_exit(void)
{
	__atomic_store_n(&is_exiting, true, __ATOMIC_RELAXED);
}

static rt_error module_load(struct module *m)
{
	rt_error r;

	if (m->library)
		return cudaSuccess;
	r = RT_CALL(
		&rt_cu, cuLibraryLoadData, &m->library, m->fatbin, NULL, NULL, 0, NULL, NULL, 0);
	if (r)
		return r;
	atexit(mark_exit);
	for (struct symbol *s = symbols; s && !r; s = s->next) {
		CUdeviceptr at = 0;
		if (s->module != m || !s->managed)
			continue;
		r = RT_CALL(&rt_cu, cuLibraryGetManaged, &at, NULL, m->library, s->name);
		*s->managed = (void *)(uintptr_t)at;
	}
	return r;
}

static rt_error symbol_kernel(struct symbol *s)
{
	rt_error r = s->kernel ? cudaSuccess : module_load(s->module);

	if (!r && !s->kernel) {
		r = RT_CALL(&rt_cu, cuLibraryGetKernel, &s->kernel, s->module->library, s->name);
		if (r == cudaErrorSymbolNotFound)
			r = cudaErrorInvalidDeviceFunction;
	}
	return r;
}

rt_error rt_kernel_of(const void *func, CUkernel *ret)
{
	CUfunction fn;
	rt_error r;

	pthread_mutex_lock(&lock);
	struct symbol *s = symbol_find(func);
	r = s ? symbol_kernel(s) : cudaErrorInvalidDeviceFunction;
	if (!r)
		*ret = s->kernel;
	pthread_mutex_unlock(&lock);
	if (s || !func)
		return r;
	if (RT_CALL(&rt_cu, cuKernelGetFunction, &fn, (CUkernel)func))
		return cudaErrorInvalidDeviceFunction;
	*ret = (CUkernel)func;
	return cudaSuccess;
}

rt_error rt_function_of(const void *func, CUfunction *ret)
{
	CUkernel kernel;
	rt_error r = rt_kernel_of(func, &kernel);

	return r ? r : RT_CALL(&rt_cu, cuKernelGetFunction, ret, kernel);
}

const void *rt_host_function_of(CUkernel kernel, CUfunction fn)
{
	const void *host = NULL;
	CUfunction own;

	pthread_mutex_lock(&lock);
	for (struct symbol *s = symbols; s && !host; s = s->next) {
		if (!s->kernel)
			continue;
		if (kernel ? s->kernel == kernel
			   : !RT_CALL(&rt_cu, cuKernelGetFunction, &own, s->kernel) && own == fn)
			host = s->host;
	}
	pthread_mutex_unlock(&lock);
	return host;
}

rt_error rt_symbol_of(const void *symbol, CUdeviceptr *ret, size_t *ret_bytes)
{
	rt_error r;

	pthread_mutex_lock(&lock);
	struct symbol *s = symbol_find(symbol);
	r = s ? module_load(s->module) : cudaErrorInvalidSymbol;
	if (!r && s->managed)
		r = RT_CALL(
			&rt_cu, cuLibraryGetManaged, ret, ret_bytes, s->module->library, s->name);
	else if (!r)
		r = RT_CALL(
			&rt_cu, cuLibraryGetGlobal, ret, ret_bytes, s->module->library, s->name);
	pthread_mutex_unlock(&lock);
	return r == cudaErrorSymbolNotFound ? cudaErrorInvalidSymbol : r;
}

/* ---- functions that code generated by nvcc calls; their handle is a struct module ---- */

RT_API void **__cudaRegisterFatBinary(void *fatbin);
RT_API void __cudaRegisterFatBinaryEnd(void **handle);
RT_API void __cudaUnregisterFatBinary(void **handle);
RT_API void __cudaRegisterFunction(void **handle, const char *host, char *device_fun,
	const char *name, int threads, void *tid, void *bid, struct rt_dim3 *block,
	struct rt_dim3 *grid, int *warp);
RT_API void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *name,
	int external, size_t bytes, int constant, int global);
RT_API void __cudaRegisterManagedVar(void **handle, void **host, char *device_address,
	const char *name, int external, size_t bytes, int constant, int global);
RT_API char __cudaInitModule(void **handle);

void **__cudaRegisterFatBinary(void *fatbin)
{
	struct module *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->fatbin = fatbin;
	return (void **)m;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
}

void __cudaUnregisterFatBinary(void **handle)
{
	struct module *m = (struct module *)handle;
	CUlibrary library;

	if (!m || __atomic_load_n(&is_exiting, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&lock);
	for (struct symbol **at = &symbols; *at;) {
		struct symbol *s = *at;
		if (s->module != m) {
			at = &s->next;
			continue;
		}
		for (struct symbol **b = bucket_of(s->host); *b; b = &(*b)->in_hash) {
			if (*b == s) {
				*b = s->in_hash;
				break;
			}
		}
		*at = s->next;
		n_symbols--;
		free(s);
	}
	library = m->library;
	free(m);
	pthread_mutex_unlock(&lock);
	if (library)
		(void)RT_CALL(&rt_cu, cuLibraryUnload, library);
}

void __cudaRegisterFunction(void **handle, const char *host, char *device_fun, const char *name,
	int threads, void *tid, void *bid, struct rt_dim3 *block, struct rt_dim3 *grid, int *warp)
{
	if (handle)
		symbol_add(handle, host, name, NULL);
}

void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *name,
	int external, size_t bytes, int constant, int global)
{
	if (handle)
		symbol_add(handle, host, name, NULL);
}

/* Registers a managed variable. `host` is the address of the program's pointer to the variable. The
 * table finds the variable by this address. */
void __cudaRegisterManagedVar(void **handle, void **host, char *device_address, const char *name,
	int external, size_t bytes, int constant, int global)
{
	if (handle)
		symbol_add(handle, host, name, host);
}

/* Before the program reads or writes a managed variable. */
char __cudaInitModule(void **handle)
{
	rt_error r = rt_begin(RT_CONTEXT);

	if (!r && handle) {
		pthread_mutex_lock(&lock);
		r = module_load((struct module *)handle);
		pthread_mutex_unlock(&lock);
	}
	return rt_end(r) == cudaSuccess;
}
