/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The PTX of an example program's kernel, original or rewritten by a pass. */
#ifndef HEDDLE_BENCH_FORM_FILE_H
#define HEDDLE_BENCH_FORM_FILE_H

#include "cli/cli.h"

/* Finds the PTX of nvcc, else of clang. The caller frees *ret. 0 or -ENOENT. */
int form_file_find(const char *program, char **ret);
/* Writes to path the form that `heddle ptx PASS` makes of that PTX; heddle is the executable.
 * CLI_OK; CLI_FAILED after it reported an error through c. */
int form_file_make(
	struct cli *c, const char *heddle, const char *pass, const char *program, const char *path);

#endif
