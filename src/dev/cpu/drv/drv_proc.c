/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* cuGetProcAddress, which returns the newest variant of a function that the given CUDA version has,
 * and the names of result codes. */
#include <stdlib.h>
#include <string.h>

#include "drv.h"

#define SHAPE_0(symbol)
#define SHAPE_CU_PTSZ(symbol)                           extern CUresult own_##symbol(void) __asm__(#symbol "_ptsz");
#define SHAPE_CU_PTDS(symbol)                           extern CUresult own_##symbol(void) __asm__(#symbol "_ptds");
#define CU_FN(name, symbol, since, flags, params, args) SHAPE_##flags(symbol)
#include "dev/cu_api.def"
#undef CU_FN
#undef SHAPE_0
#undef SHAPE_CU_PTSZ
#undef SHAPE_CU_PTDS

/* One exported variant of a function, and its per-thread form, or NULL. The symbol can end in _vN;
 * base_len returns the length without that suffix. */
static const struct form {
	const char *symbol;
	unsigned since;
	void *fn, *per_thread;
} forms[] = {
#define SHAPE_0(symbol)       NULL
#define SHAPE_CU_PTSZ(symbol) (void *)own_##symbol
#define SHAPE_CU_PTDS(symbol) (void *)own_##symbol
#define CU_FN(name, symbol, since, flags, params, args) \
	{#symbol, since, (void *)name, SHAPE_##flags(symbol)},
#include "dev/cu_api.def"
#undef CU_FN
	/* The name that cuGraphInstantiate has had since CUDA 12. */
	{"cuGraphInstantiate", 12000, (void *)cuGraphInstantiate, NULL},
};

static size_t base_len(const char *symbol)
{
	size_t len = strlen(symbol);

	if (len > 3 && symbol[len - 1] >= '0' && symbol[len - 1] <= '9' && symbol[len - 2] == 'v' &&
		symbol[len - 3] == '_')
		return len - 3;
	return len;
}

static CUresult find_function(const char *name, unsigned version, uint64_t flags, void **ret,
	CUdriverProcAddressQueryResult *ret_status)
{
	const struct form *best = NULL;
	bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	bool any = false;
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		const struct form *f = &forms[i];
		if (base_len(f->symbol) != len || memcmp(f->symbol, name, len) != 0)
			continue;
		any = true;
		if (f->since <= version && (!best || f->since > best->since))
			best = f;
	}
	*ret_status = best  ? CU_GET_PROC_ADDRESS_SUCCESS
		      : any ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
			    : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	*ret = !best ? NULL : per_thread && best->per_thread ? best->per_thread : best->fn;
	return best ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

static CUresult look_up(const char *symbol, void **fn, int version, uint64_t flags,
	CUdriverProcAddressQueryResult *ret_status)
{
	if (!symbol || !fn || version < 0 || version > CU_CUDA_VERSION || flags > 2)
		return CUDA_ERROR_INVALID_VALUE;
	return find_function(symbol, (unsigned)version, flags, fn, ret_status);
}

/* A name that is not found is not an error: the status reports it, and *fn is NULL. */
CUresult cuGetProcAddress(const char *symbol, void **fn, int version, uint64_t flags,
	CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult s;
	CUresult r = look_up(symbol, fn, version, flags, &s);

	if (r == CUDA_ERROR_INVALID_VALUE)
		return r;
	if (status)
		*status = s;
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v1(const char *symbol, void **fn, int version, uint64_t flags)
{
	CUdriverProcAddressQueryResult s;
	return look_up(symbol, fn, version, flags, &s);
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = cu_result_text(error);
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = cu_result_name(error);
	return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
