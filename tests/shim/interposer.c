/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A library for preloading that works like HAMi-core and nvshare. Its dlsym answers every lookup of
 * a name that it defines with its own function, for every caller. Its functions find the driver's
 * functions by libc's dlsym in libcuda.so.1. It allows LIMIT bytes of memory, counts calls, and
 * prints the counts at exit. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LIMIT ((size_t)8 << 20)

#define API __attribute__((visibility("default")))

typedef void *lookup_fn(void *, const char *);
typedef int launch_fn(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
	void *, void **, void **);
typedef int alloc_fn(uint64_t *, size_t);
typedef int init_fn(unsigned);
typedef int proc_fn(const char *, void **, int, uint64_t, int *);

API launch_fn cuLaunchKernel;
API alloc_fn cuMemAlloc_v2;
API init_fn cuInit;
API proc_fn cuGetProcAddress_v2;
API lookup_fn dlsym;

static unsigned launches, allocations, refused, inits;
static size_t used;

static const struct {
	const char *symbol, *name;
	void *fn;
} own[] = {
	{"cuLaunchKernel", "cuLaunchKernel", (void *)cuLaunchKernel},
	{"cuMemAlloc_v2", "cuMemAlloc", (void *)cuMemAlloc_v2},
	{"cuInit", "cuInit", (void *)cuInit},
	{"cuGetProcAddress_v2", "cuGetProcAddress", (void *)cuGetProcAddress_v2},
};
#define N_OWN (sizeof(own) / sizeof(own[0]))

static lookup_fn *libc_dlsym(void)
{
	void *p = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	lookup_fn *fn;

	if (!p)
		p = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	memcpy(&fn, &p, sizeof(fn));
	return fn;
}

static void *driver(const char *symbol)
{
	return libc_dlsym()(dlopen("libcuda.so.1", RTLD_LAZY), symbol);
}

#define REAL(type, symbol)         \
	void *at = driver(symbol); \
	type *real;                \
	memcpy(&real, &at, sizeof(real))

void *dlsym(void *handle, const char *symbol)
{
	for (size_t i = 0; i < N_OWN; i++) {
		if (!strcmp(symbol, own[i].symbol))
			return own[i].fn;
	}
	return libc_dlsym()(handle, symbol);
}

int cuInit(unsigned flags)
{
	REAL(init_fn, "cuInit");

	inits++;
	return real(flags);
}

int cuLaunchKernel(void *fn, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
	unsigned bz, unsigned shared, void *stream, void **params, void **extra)
{
	REAL(launch_fn, "cuLaunchKernel");

	launches++;
	return real(fn, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

int cuMemAlloc_v2(uint64_t *ret, size_t bytes)
{
	REAL(alloc_fn, "cuMemAlloc_v2");

	allocations++;
	if (used + bytes > LIMIT) {
		refused++;
		return 2; /* CUDA_ERROR_OUT_OF_MEMORY */
	}
	used += bytes;
	return real(ret, bytes);
}

int cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags, int *status)
{
	REAL(proc_fn, "cuGetProcAddress_v2");
	int r = real(name, fn, version, flags, status);

	for (size_t i = 0; i < N_OWN && !r; i++) {
		if (!strcmp(name, own[i].name))
			*fn = own[i].fn;
	}
	return r;
}

static void __attribute__((destructor)) tell(void)
{
	printf("interposer: %u inits, %u launches, %u allocations, %u refused\n", inits, launches,
		allocations, refused);
}
