/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A driver with every function of hooks.def. All do nothing, except cuGetProcAddress. If FAKE_HIDES
 * is in the environment, cuGetProcAddress returns addresses that differ from the exported ones, as
 * a driver may. */
#include "base/base.h"
#include "shim/core/hooks.h"

#include <stdlib.h>
#include <string.h>

#define PER_THREAD 2

static int called(const char *me, const char *name, void **fn, int version, uint64_t flags);

#define HOOK(symbol, own, how, stream, does) FORMS_##own(symbol)
#define FN(symbol)                                                                          \
	__attribute__((visibility("default"))) int whole_##symbol(                          \
		const char *name, void **fn, int version, uint64_t flags) __asm__(#symbol); \
	int whole_##symbol(const char *name, void **fn, int version, uint64_t flags)        \
	{                                                                                   \
		return called(#symbol, name, fn, version, flags);                           \
	}
#include "shim/core/hooks.def"
#undef FN

static const struct form {
	const char *symbol;
	void *fn;
} forms[] = {
#define FN(symbol) {#symbol, (void *)whole_##symbol},
#include "shim/core/hooks.def"
#undef FN
};
static char hidden[ARRAY_LEN(forms)];

/* Returns the driver version that introduced the symbol; 0 for unknown symbols. */
static int since(const char *symbol)
{
#define CU_FN(name, sym, from, flags, params, args) \
	if (!strcmp(symbol, #sym))                  \
		return from;
#include "dev/cu_api.def"
#undef CU_FN
	return 0;
}

/* True if symbol is the name, optionally _vN, and the ending that the flags request. */
static bool is_form(const char *symbol, const char *name, const char *ending)
{
	size_t n = strlen(name), len = strlen(symbol), e = strlen(ending);

	if (len < n + e || strncmp(symbol, name, n) || strcmp(symbol + len - e, ending))
		return false;
	len -= n + e;
	return len == 0 || (len == 3 && !strncmp(symbol + n, "_v", 2));
}

static const struct form *newest(const char *name, const char *ending, int version)
{
	const struct form *best = NULL;
	int best_since = -1;

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		char *plain;
		int from;

		if (!is_form(forms[i].symbol, name, ending))
			continue;
		plain = strndup(forms[i].symbol, strlen(forms[i].symbol) - strlen(ending));
		from = since(plain);
		free(plain);
		if (from <= version && from > best_since) {
			best = &forms[i];
			best_since = from;
		}
	}
	return best;
}

static int called(const char *me, const char *name, void **fn, int version, uint64_t flags)
{
	const struct form *f = NULL;

	if (strcmp(me, "cuGetProcAddress") && strcmp(me, "cuGetProcAddress_v2"))
		return 0;
	if (!strcmp(name, "cuGraphInstantiate") && version >= 12000)
		name = "cuGraphInstantiateWithFlags"; /* the function's name since that version */
	if (flags & PER_THREAD)
		f = newest(name, "_ptsz", version);
	if (flags & PER_THREAD && !f)
		f = newest(name, "_ptds", version);
	if (!f)
		f = newest(name, "", version);
	*fn = !f ? NULL : getenv("FAKE_HIDES") ? (void *)&hidden[f - forms] : f->fn;
	return f ? 0 : 500; /* CUDA_ERROR_NOT_FOUND */
}
