/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Caches the addresses of module variables. The driver may load code when it is asked for such an
 * address, so the query needs a fence. Programs ask for the same address repeatedly
 * (cudaMemcpyToSymbol asks at each call), and the address does not change while the module and its
 * context exist. So the shim asks the driver only once for each variable in the shim's context. */
#include "shim/form/symbols.h"

#include "shim/core/ends.h"
#include "shim/core/lock.h"
#include "shim/order/fence.h"

#include <stdlib.h>
#include <string.h>

struct symbol {
	void *owner; /* CUmodule or CUlibrary */
	char *name;
	bool managed; /* managed memory: found by cuLibraryGetManaged */
	CUdeviceptr at;
	size_t bytes;
};

struct symbols {
	struct lock lock;
	VEC(struct symbol) known; /* addresses in the session's context */
};

/* Returns NULL if the symbol is unknown. A linear search, as programs have few symbols. Call under
 * the lock. */
static struct symbol *find_symbol(
	struct session *session, const void *owner, bool managed, const char *name)
{
	for (size_t i = 0; i < session->symbols->known.len; i++) {
		struct symbol *s = &session->symbols->known.at[i];

		if (s->owner == owner && s->managed == managed && !strcmp(s->name, name))
			return s;
	}
	return NULL;
}

/* Returns true if the session's context is current. A library's variables have an address in each
 * context. */
static bool in_context(struct session *session)
{
	CUcontext now = NULL;

	return session->ctx && cu.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == session->ctx;
}

static bool recall_symbol(struct session *session, void *owner, bool managed, const char *name,
	CUdeviceptr *at, size_t *bytes)
{
	const struct symbol *s;

	lock_take(&session->symbols->lock);
	s = find_symbol(session, owner, managed, name);
	if (s) {
		*at = s->at;
		*bytes = s->bytes;
	}
	lock_drop(&session->symbols->lock);
	return s;
}

static void keep_symbol(struct session *session, void *owner, bool managed, const char *name,
	CUdeviceptr at, size_t bytes)
{
	struct symbol s = {owner, strdup(name), managed, at, bytes};

	lock_take(&session->symbols->lock);
	if (!s.name || find_symbol(session, owner, managed, name) ||
		!VEC_PUSH(&session->symbols->known, s))
		free(s.name);
	lock_drop(&session->symbols->lock);
}

void symbols_forget(struct session *session, const void *owner)
{
	size_t kept = 0;

	lock_take(&session->symbols->lock);
	for (size_t i = 0; i < session->symbols->known.len; i++) {
		if (!owner || session->symbols->known.at[i].owner == owner)
			free(session->symbols->known.at[i].name);
		else
			session->symbols->known.at[kept++] = session->symbols->known.at[i];
	}
	session->symbols->known.len = kept;
	lock_drop(&session->symbols->lock);
}

void symbols_end(struct session *session, const struct session_ends *ends)
{
	symbols_forget(session, NULL);
}

bool symbols_open(struct session *session)
{
	session->symbols = calloc(1, sizeof(*session->symbols));
	if (session->symbols)
		lock_init(&session->symbols->lock, LOCK_symbols);
	return session->symbols;
}

/* One of the three driver functions that look up a variable. */
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

static CUresult ask_driver(struct session *session, ask_fn ask, CUdeviceptr *ret_at,
	size_t *ret_bytes, void *owner, const char *name)
{
	CUresult r;

	fence_begin(session, FENCE_LOADS);
	r = ask(ret_at, ret_bytes, owner, name);
	fence_end(session);
	return r;
}

static CUresult look_up(struct session *session, ask_fn ask, CUdeviceptr *ret_at, size_t *ret_bytes,
	void *owner, const char *name)
{
	bool managed = ask == managed_in_library;
	CUdeviceptr at = 0;
	size_t bytes = 0;
	CUresult r;

	/* The driver handles these cases, which include errors. */
	if (!name || (!ret_at && !ret_bytes) || !shim_on(session) || !in_context(session))
		return ask_driver(session, ask, ret_at, ret_bytes, owner, name);
	if (!recall_symbol(session, owner, managed, name, &at, &bytes)) {
		r = ask_driver(session, ask, &at, &bytes, owner, name);
		if (r != CUDA_SUCCESS)
			return r;
		keep_symbol(session, owner, managed, name, at, bytes);
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
	return look_up(session, in_module, at, bytes, module, name);
}

SHIM_API CUresult cuLibraryGetGlobal(
	CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name);
CUresult cuLibraryGetGlobal(CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name)
{
	SHIM_NEED(cuLibraryGetGlobal);
	return look_up(session, in_library, at, bytes, library, name);
}

SHIM_API CUresult cuLibraryGetManaged(
	CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name);
CUresult cuLibraryGetManaged(CUdeviceptr *at, size_t *bytes, CUlibrary library, const char *name)
{
	SHIM_NEED(cuLibraryGetManaged);
	return look_up(session, managed_in_library, at, bytes, library, name);
}
