/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The chosen way for each set of kernels, as a small file beside the store, for programs that
 * may not link a database. Files are replaced as a whole, so a reader gets an old or a new
 * choice. */
#ifndef HEDDLE_MODEL_PLAIN_H
#define HEDDLE_MODEL_PLAIN_H

#include "model/store.h"

/* Shared with the store: its default path (-ENOENT: no home folder; -ENAMETOOLONG), creation of
 * the folders above a file, and the text that identifies kernels, launches, device and driver. */
int model_default_path(char *buf, size_t size);
void model_make_folders(const char *path);
void model_describe(const struct model_together *t, struct strbuf *out);

/* The file for these kernels. store: the store's path; NULL: the default. -ENOENT: no home
 * folder; -ENAMETOOLONG. */
int model_plain_path(const char *store, const struct model_together *t, char *buf, size_t size);
/* Creates folders if needed. Negative errno. */
int model_plain_put(const char *path, const char *way);
/* -ENOENT: no way was chosen; -EINVAL: the file is not valid. */
int model_plain_get(const char *path, char ret_way[MODEL_WAY_MAX]);

#endif
