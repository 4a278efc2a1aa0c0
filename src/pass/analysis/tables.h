/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds module variables that must not be copied (tables.c). */
#ifndef HEDDLE_PASS_TABLES_H
#define HEDDLE_PASS_TABLES_H

#include "pass/analysis/body.h"

struct pass_written {
	const struct ptx_sym *sym; /* the first such variable; NULL: none */
	const struct ptx_stmt *s;  /* the statement that names it or uses its address */
	const char *why;           /* static; NULL: s may write it, or its address escapes */
};

/* Examines the .global variables that f names. -ENOMEM. */
int pass_find_written(
	const struct ptx_module *m, const struct ptx_func *f, struct pass_written *ret);

#endif
