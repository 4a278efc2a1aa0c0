/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Caches the addresses of module variables. The driver may load code when it is asked for such an
 * address, so the query needs a fence. Programs ask for the same address repeatedly
 * (cudaMemcpyToSymbol asks at each call), and the address does not change while the module and its
 * context exist. So the shim asks the driver only once for each variable in the shim's context. */
#include "shim/managed.h"

#include <stdlib.h>
#include <string.h>

struct symbol {
	void *owner; /* CUmodule or CUlibrary */
	char *name;
	bool managed; /* memory: cuLibraryGetManaged */
	CUdeviceptr at;
	size_t bytes;
};

static struct symbols {
	pthread_mutex_t lock;
	VEC(struct symbol) known; /* of the session's context */
} each[SHIM_SESSIONS] = {[0 ... SHIM_SESSIONS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static struct symbols *here(void)
{
	return &each[shim_at()];
}

/* Programs have few. Under the lock. */
static struct symbol *find_symbol(const void *owner, bool managed, const char *name)
{
	for (size_t i = 0; i < here()->known.len; i++) {
		struct symbol *s = &here()->known.at[i];

		if (s->owner == owner && s->managed == managed && !strcmp(s->name, name))
			return s;
	}
	return NULL;
}

/* A library's variables have an address in each context. */
static bool in_context(void)
{
	CUcontext now = NULL;

	return shim->ctx && cu.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == shim->ctx;
}

static bool recall_symbol(
	void *owner, bool managed, const char *name, CUdeviceptr *at, size_t *bytes)
{
	const struct symbol *s;

	pthread_mutex_lock(&here()->lock);
	s = find_symbol(owner, managed, name);
	if (s) {
		*at = s->at;
		*bytes = s->bytes;
	}
	pthread_mutex_unlock(&here()->lock);
	return s;
}

static void keep_symbol(void *owner, bool managed, const char *name, CUdeviceptr at, size_t bytes)
{
	struct symbol s = {owner, strdup(name), managed, at, bytes};

	pthread_mutex_lock(&here()->lock);
	if (!s.name || find_symbol(owner, managed, name) || !VEC_PUSH(&here()->known, s))
		free(s.name);
	pthread_mutex_unlock(&here()->lock);
}

void symbols_forget(const void *owner)
{
	size_t kept = 0;

	pthread_mutex_lock(&here()->lock);
	for (size_t i = 0; i < here()->known.len; i++) {
		if (!owner || here()->known.at[i].owner == owner)
			free(here()->known.at[i].name);
		else
			here()->known.at[kept++] = here()->known.at[i];
	}
	here()->known.len = kept;
	pthread_mutex_unlock(&here()->lock);
}

void symbols_after_fork(void)
{
	/* Another thread may have been at it. */
	pthread_mutex_init(&here()->lock, NULL);
	memset(&here()->known, 0, sizeof(here()->known));
}

/* One of the driver's three calls. */
typedef CUresult (*ask_fn)(CUdeviceptr *at, size_t *bytes, void *owner, const char *name);

static CUresult in_module(CUdeviceptr *at, size_t *bytes, void *owner, const char *name)
{
	return cu.cuModuleGetGlobal(at, bytes, (CUmodule)owner, name);
}

static CUresult in_library(CUdeviceptr *at, size_t *bytes, void *owner, const char *name)
{
	return cu.cuLibraryGetGlobal(at, bytes, (CUlibrary)owner, name);
}

static CUresult managed_in_library(CUdeviceptr *at, size_t *bytes, void *owner, const char *name)
{
	return cu.cuLibraryGetManaged(at, bytes, (CUlibrary)owner, name);
}

static CUresult ask_driver(
	ask_fn ask, CUdeviceptr *ret_at, size_t *ret_bytes, void *owner, const char *name)
{
	CUresult r;

	fence_begin(FENCE_LOADS);
	r = ask(ret_at, ret_bytes, owner, name);
	fence_end();
	return r;
}

static CUresult look_up(
	ask_fn ask, CUdeviceptr *ret_at, size_t *ret_bytes, void *owner, const char *name)
{
	bool managed = ask == managed_in_library;
	CUdeviceptr at = 0;
	size_t bytes = 0;
	CUresult r;

	/* The driver reports errors in the call. */
	if (!name || (!ret_at && !ret_bytes) || !shim_on() || !in_context())
		return ask_driver(ask, ret_at, ret_bytes, owner, name);
	if (!recall_symbol(owner, managed, name, &at, &bytes)) {
		r = ask_driver(ask, &at, &bytes, owner, name);
		if (r != CUDA_SUCCESS)
			return r;
		keep_symbol(owner, managed, name, at, bytes);
	}
	if (ret_at)
		*ret_at = at;
	if (ret_bytes)
		*ret_bytes = bytes;
	return CUDA_SUCCESS;
}

SHIM_API CUresult cuModuleGetGlobal_v2(
	CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *at, size_t *bytes, CUmodule module, const char *name)
{
	SHIM_NEED(cuModuleGetGlobal);
	return look_up(in_module, at, bytes, module, name);
}

SHIM_API CUresult cuLibraryGetGlobal(
	CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name);
CUresult cuLibraryGetGlobal(CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name)
{
	SHIM_NEED(cuLibraryGetGlobal);
	return look_up(in_library, at, bytes, library, name);
}

SHIM_API CUresult cuLibraryGetManaged(
	CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name);
CUresult cuLibraryGetManaged(CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name)
{
	SHIM_NEED(cuLibraryGetManaged);
	return look_up(managed_in_library, at, bytes, library, name);
}
