/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A library with the driver's function names and empty functions. Programs are linked against it on
 * machines without a driver. Its soname is libcuda.so.1 but its file name is another one, so no
 * program finds it at run time. */

#define CU_FN(name, symbol, since, flags, params, args)          \
	__attribute__((visibility("default"))) int symbol(void); \
	int symbol(void)                                         \
	{                                                        \
		return 999;                                      \
	}
#include "dev/cu_api.def"
