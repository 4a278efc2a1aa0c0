/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The CUDA driver API in heddle's own prototypes: types, constants, and struct cu_api, a table of a
 * driver's functions that dev_open fills. Programs that link libcuda.so.1 directly include
 * cu_link.h instead. */
#ifndef HEDDLE_CU_H
#define HEDDLE_CU_H

#include "cu_types.h"

/* Pointers to driver functions; NULL if the driver lacks the function. */
struct cu_api {
	void *handle; /* from dlopen */
#define CU_FN(name, symbol, since, flags, params, args) CUresult(*name) params;
#include "cu_api.def"
#undef CU_FN
};

/* Return the name and the text of a result code: "CUDA_ERROR_INVALID_VALUE", "invalid argument".
 * NULL if the value is not a result code. */
const char *cu_result_name(CUresult r);
const char *cu_result_text(CUresult r);

/* One row of cu_api.def as data. */
struct cu_fn {
	const char *symbol;
	unsigned since, flags; /* enum cu_fn_flags */
	size_t offset;         /* offset of the function's pointer in struct cu_api */
};
extern const struct cu_fn cu_fns[];
extern const unsigned cu_n_fns;

#endif
