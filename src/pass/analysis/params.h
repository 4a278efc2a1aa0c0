/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* How statements use parameters (params.c). f is the function that contains s. */
#ifndef HEDDLE_PASS_PARAMS_H
#define HEDDLE_PASS_PARAMS_H

#include "pass/pass.h"

/* A load such as "ld.param.u32", but not from a call's argument variable. */
bool pass_loads_param(const struct ptx_func *f, const struct ptx_stmt *s);
/* A mov or cvta of a parameter's address. */
bool pass_takes_param_address(const struct ptx_func *f, const struct ptx_stmt *s);
/* The parameter of f that s uses in any other way; NULL: none. */
const struct ptx_sym *pass_odd_param(const struct ptx_func *f, const struct ptx_stmt *s);
/* Whether s, given an address, depends on parameters being in .param space. */
bool pass_knows_param_space(const struct ptx_func *f, const struct ptx_stmt *s);

#endif
