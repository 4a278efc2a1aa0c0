/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the targets of calls (callees.c). */
#ifndef HEDDLE_PASS_CALLEES_H
#define HEDDLE_PASS_CALLEES_H

#include "pass/analysis/body.h"

/* Returns the function that call s names; NULL if s calls through a pointer. */
const struct ptx_func *pass_call_target(const struct ptx_stmt *s);
/* Returns the callee of call s. NULL: s calls through a pointer, or calls a function without code
 * in this module. */
const struct pass_callee *pass_called(const struct pass_facts *facts, const struct ptx_stmt *s);

#endif
