/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* How statements use parameters (params.c). In these functions, f is the function that contains
 * s. */
#ifndef HEDDLE_PASS_PARAMS_H
#define HEDDLE_PASS_PARAMS_H

#include "pass/pass.h"

/* Returns whether s is a load such as "ld.param.u32" from a parameter of f. Loads from a call's
 * argument variable do not count. */
bool pass_loads_param(const struct ptx_func *f, const struct ptx_stmt *s);
/* Returns true if s is a mov or cvta that takes the address of a parameter. */
bool pass_takes_param_address(const struct ptx_func *f, const struct ptx_stmt *s);
/* Returns the parameter of f that s uses, if s neither loads the parameter (pass_loads_param) nor
 * takes its address (pass_takes_param_address); NULL: there is none. */
const struct ptx_sym *pass_odd_param(const struct ptx_func *f, const struct ptx_stmt *s);
/* Returns true if s has an address as its operand 1, and works only if the parameters are in .param
 * space: an isspacep.param, or, in a device function, an ld.param whose address is a register. */
bool pass_knows_param_space(const struct ptx_func *f, const struct ptx_stmt *s);

#endif
