/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What the tools of these tests share: a file is a module, or the tool ends with what is wrong. */
#ifndef HEDDLE_TESTS_PASS_TOOL_H
#define HEDDLE_TESTS_PASS_TOOL_H

#include "ptx/ptx.h"

extern struct diag_list diags;
extern struct arena arena;

_Noreturn void fail(const char *what);              /* behind the diagnostics that there are */
char *read_file(const char *path, size_t *ret_len); /* to be freed */
struct ptx_module *read_module(const char *path);   /* without its warnings */

#endif
