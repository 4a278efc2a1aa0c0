/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A library with the driver's names and nothing behind them, only so that programs can be linked
 * where there is no driver. Its soname is libcuda.so.1, its file name is not: no program finds it
 * at run time. */

#define CU_FN(name, symbol, since, flags, params, args)          \
	__attribute__((visibility("default"))) int symbol(void); \
	int symbol(void)                                         \
	{                                                        \
		return 999;                                      \
	}
#include "dev/cu_api.def"
