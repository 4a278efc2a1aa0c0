/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* For programs that link libcuda.so.1 like any driver-API program (examples, tests): declares the
 * functions by their API names, bound to the driver's exported symbols. */
#ifndef HEDDLE_CU_LINK_H
#define HEDDLE_CU_LINK_H

#include "cu_types.h"

/* The declarations are visible, also for the library that defines the functions. */
#pragma GCC visibility push(default)
#define CU_FN(name, symbol, since, flags, params, args) CUresult name params __asm__(#symbol);
#include "cu_api.def"
#undef CU_FN
#pragma GCC visibility pop

#endif
