/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What calls lead to (callees.c). */
#ifndef HEDDLE_PASS_CALLEES_H
#define HEDDLE_PASS_CALLEES_H

#include "pass/analysis/body.h"

const struct ptx_func *pass_call_target(const struct ptx_stmt *s); /* NULL: through a pointer */
/* What s calls. NULL: through a pointer, or code that is not here. */
const struct pass_callee *pass_called(const struct pass_facts *facts, const struct ptx_stmt *s);

#endif
