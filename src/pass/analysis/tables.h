/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds module variables that must not be copied (tables.c). */
#ifndef HEDDLE_PASS_TABLES_H
#define HEDDLE_PASS_TABLES_H

#include "pass/analysis/body.h"

struct pass_written {
	const struct ptx_sym *sym; /* the first variable that must not be copied; NULL: none */
	const struct ptx_stmt *s;  /* the statement that names the variable or uses its address */
	/* static text; NULL: s may write the variable, or its address escapes */
	const char *why;
};

/* Examines the .global variables that f names. Returns 0 or -ENOMEM. */
int pass_find_written(
	const struct ptx_module *m, const struct ptx_func *f, struct pass_written *ret);

#endif
