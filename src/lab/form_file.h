/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Files with the PTX of an example program's kernel, either original or rewritten by a pass. */
#ifndef HEDDLE_BENCH_FORM_FILE_H
#define HEDDLE_BENCH_FORM_FILE_H

#include "front/cli.h"

/* Finds the program's PTX file, from nvcc if there is one, else from clang. The caller frees *ret.
 * Returns 0 or -ENOENT. */
int form_file_find(const char *program, char **ret);
/* Runs `heddle ptx PASS` on the program's PTX and writes the rewritten kernel to path. heddle names
 * the executable. Returns CLI_OK, or CLI_FAILED after it reports an error through c. */
int form_file_make(
	struct cli *c, const char *heddle, const char *pass, const char *program, const char *path);

#endif
