/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles cuGetProcAddress. The real driver decides whether the function exists, and which variant
 * of it the requested version and the per-thread-stream flag select. If the shim handles this
 * variant, the program gets the shim's function instead. */
#include "shim/core/driver.h"
#include "shim/core/hooks.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PER_THREAD_STREAM 2 /* flag of cuGetProcAddress for per-thread default streams */

#define HOOK(symbol, own, how, stream, does) HOOKED(how, own, symbol)
#define FN(symbol)                           extern SHIM_API CUresult symbol();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include "shim/core/hooks.def"
#pragma GCC diagnostic pop
#undef FN

static struct handled {
	const char *symbol;
	void *ours, *real;
} handled[] = {
#define FN(symbol) {#symbol, (void *)symbol, NULL},
#include "shim/core/hooks.def"
#undef FN
};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find_real(void)
{
	for (size_t i = 0; i < ARRAY_LEN(handled); i++)
		handled[i].real = shim_real(handled[i].symbol);
}

/* Returns true if the symbol (for example cuMemFree_v2) is a variant of the name that
 * cuGetProcAddress takes (cuMemFree). */
static bool is_form_of(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(symbol, name, n))
		return false;
	symbol += n;
	return !*symbol || (symbol[0] == '_' && symbol[1] == 'v' && symbol[2] >= '1' &&
				   symbol[2] <= '9' && !symbol[3]);
}

/* Returns the symbol of the newest variant that exists in the requested version, from the table of
 * the API. A function outside the table has only one variant. */
static const char *form_for(const char *name, int version, uint64_t flags, char *buf, size_t size)
{
	const struct cu_fn *best = NULL;
	bool per_thread = flags & PER_THREAD_STREAM;

	if (version >= 12000 && !strcmp(name, "cuGraphInstantiate"))
		name = "cuGraphInstantiateWithFlags"; /* the name since CUDA 12 */
	for (unsigned i = 0; i < cu_n_fns; i++) {
		const struct cu_fn *f = &cu_fns[i];

		if (is_form_of(f->symbol, name) && (int)f->since <= version &&
			(!best || f->since > best->since))
			best = f;
	}
	if (!best)
		return name;
	snprintf(buf, size, "%s%s", best->symbol,
		!per_thread || !best->flags ? ""
		: best->flags & CU_PTSZ     ? "_ptsz"
					    : "_ptds");
	return buf;
}

/* Returns the shim's function for the driver's function fn, or fn itself if the shim does not
 * handle it. */
static void *shim_ours(const char *name, void *fn, int version, uint64_t flags)
{
	char buf[128];
	const char *form;

	pthread_once(&once, find_real);
	/* The driver usually returns the address that it also exports under the function's symbol.
	 * So the address identifies the function without a guess. */
	for (size_t i = 0; i < ARRAY_LEN(handled); i++) {
		if (handled[i].real == fn)
			return handled[i].ours;
	}
	form = form_for(name, version, flags, buf, sizeof(buf));
	for (size_t i = 0; i < ARRAY_LEN(handled); i++) {
		if (handled[i].real && !strcmp(handled[i].symbol, form))
			return handled[i].ours;
	}
	return fn;
}

SHIM_API CUresult cuGetProcAddress(const char *symbol, void **fn, int version, uint64_t flags);
CUresult cuGetProcAddress(const char *symbol, void **fn, int version, uint64_t flags)
{
	CUresult r;

	SHIM_DRIVER(cuGetProcAddress_v1);
	r = cu.cuGetProcAddress_v1(symbol, fn, version, flags);
	if (r == CUDA_SUCCESS && fn && *fn)
		*fn = shim_ours(symbol, *fn, version, flags);
	return r;
}

SHIM_API CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, uint64_t flags,
	CUdriverProcAddressQueryResult *status);
CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, uint64_t flags,
	CUdriverProcAddressQueryResult *status)
{
	CUresult r;

	SHIM_DRIVER(cuGetProcAddress);
	r = cu.cuGetProcAddress(symbol, fn, version, flags, status);
	if (r == CUDA_SUCCESS && fn && *fn)
		*fn = shim_ours(symbol, *fn, version, flags);
	return r;
}
