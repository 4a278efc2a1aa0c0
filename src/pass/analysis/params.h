/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* How statements use parameters (params.c). f is the function that s stands in. */
#ifndef HEDDLE_PASS_PARAMS_H
#define HEDDLE_PASS_PARAMS_H

#include "pass/pass.h"

/* "ld.param.u32", not of a variable for a call. */
bool pass_loads_param(const struct ptx_func *f, const struct ptx_stmt *s);
/* mov or cvta of an address. */
bool pass_takes_param_address(const struct ptx_func *f, const struct ptx_stmt *s);
/* A parameter of f that s names other than in one of these two ways; NULL: none. */
const struct ptx_sym *pass_odd_param(const struct ptx_func *f, const struct ptx_stmt *s);
/* Whether s, with an address, counts on the space that they are in. */
bool pass_knows_param_space(const struct ptx_func *f, const struct ptx_stmt *s);

#endif
