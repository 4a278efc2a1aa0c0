/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Whole files. */
#ifndef HEDDLE_FILE_H
#define HEDDLE_FILE_H

#include "base/base.h"

/* Appends all of a file to out, which ends with a NUL then, also where the file is empty. path "-":
 * standard input, where that is allowed. 0, or a negative errno. */
int file_read(const char *path, bool or_stdin, struct strbuf *out);

#endif
