/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shared by the tools of these tests: a file is read as a module, or the tool exits with an
 * error. */
#ifndef HEDDLE_TESTS_PASS_TOOL_H
#define HEDDLE_TESTS_PASS_TOOL_H

#include "ptx/ptx.h"

extern struct diag_list diags;
extern struct arena arena;

_Noreturn void fail(const char *what);              /* prints the pending diagnostics first */
char *read_file(const char *path, size_t *ret_len); /* the caller frees it */
struct ptx_module *read_module(const char *path);   /* without the file's warnings */

#endif
