/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The driver API's tables at run time: the functions, and the names of result codes. */
#include "dev/cu.h"

const struct cu_fn cu_fns[] = {
#define CU_FN(name, symbol, since, flags, params, args) \
	{#symbol, since, flags, offsetof(struct cu_api, name)},
#include "cu_api.def"
#undef CU_FN
};
const unsigned cu_n_fns = sizeof(cu_fns) / sizeof(cu_fns[0]);

static const struct {
	int value;
	const char *name, *text;
} results[] = {
#define CU_RES(name, value, text) {value, #name, text},
#include "cu_result.def"
#undef CU_RES
};

const char *cu_result_name(CUresult r)
{
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i].value == (int)r)
			return results[i].name;
	return NULL;
}

const char *cu_result_text(CUresult r)
{
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++)
		if (results[i].value == (int)r)
			return results[i].text;
	return NULL;
}
