/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Targets of calls (callees.c). */
#ifndef HEDDLE_PASS_CALLEES_H
#define HEDDLE_PASS_CALLEES_H

#include "pass/analysis/body.h"

/* The function that call s names; NULL: a call through a pointer. */
const struct ptx_func *pass_call_target(const struct ptx_stmt *s);
/* The callee of call s. NULL: a call through a pointer, or a function without code in this
 * module. */
const struct pass_callee *pass_called(const struct pass_facts *facts, const struct ptx_stmt *s);

#endif
