/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The _ptsz and _ptds variants: they call the same functions, but their default stream is the
 * thread's own. */
#include "drv_func.h"

#define SHAPE_0(name, symbol, params, args)
#define SHAPE_CU_PTSZ(name, symbol, params, args) PER_THREAD(name, symbol##_ptsz, params, args)
#define SHAPE_CU_PTDS(name, symbol, params, args) PER_THREAD(name, symbol##_ptds, params, args)

#define PER_THREAD(name, form, params, args)                                                     \
	__attribute__((visibility("default"))) CUresult per_thread_##name params __asm__(#form); \
	CUresult per_thread_##name params                                                        \
	{                                                                                        \
		drv_per_thread++;                                                                \
		CUresult r = name args;                                                          \
		drv_per_thread--;                                                                \
		return r;                                                                        \
	}
#define CU_FN(name, symbol, since, flags, params, args) SHAPE_##flags(name, symbol, params, args)
#include "dev/cu_api.def"
