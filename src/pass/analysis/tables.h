/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Variables of a module that a copy cannot stand for (tables.c). */
#ifndef HEDDLE_PASS_TABLES_H
#define HEDDLE_PASS_TABLES_H

#include "pass/analysis/body.h"

struct pass_written {
	const struct ptx_sym *sym; /* the first such variable; NULL: there is none */
	const struct ptx_stmt *s;  /* where it is named or its address is used */
	const char *why;           /* static; NULL: s may write it, or lets its address out */
};

/* Of the .global variables that f names. -ENOMEM. */
int pass_find_written(
	const struct ptx_module *m, const struct ptx_func *f, struct pass_written *ret);

#endif
