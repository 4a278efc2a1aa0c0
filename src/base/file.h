/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads whole files. */
#ifndef HEDDLE_FILE_H
#define HEDDLE_FILE_H

#include "base/base.h"

/* Appends a whole file to out, and terminates out with a NUL even if the file is empty. If or_stdin
 * is set, path "-" means standard input. Returns 0 or a negative errno. */
int file_read(const char *path, bool or_stdin, struct strbuf *out);

#endif
