/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What was chosen for kernels together, one small file for each set beside the store: for who may
 * not link a database. Files are replaced as a whole; who reads one sees an old or a new choice. */
#ifndef HEDDLE_MODEL_PLAIN_H
#define HEDDLE_MODEL_PLAIN_H

#include "model/store.h"

/* What both are made of: the store's path if nobody says (-ENOENT: no home; -ENAMETOOLONG), the
 * folders above a file, and a text that says which kernels, launched how, on what. */
int model_default_path(char *buf, size_t size);
void model_make_folders(const char *path);
void model_describe(const struct model_together *t, struct strbuf *out);

/* The file for these kernels. store: the store's path, NULL: where it is if nobody says.
 * -ENOENT: no home; -ENAMETOOLONG. */
int model_plain_path(const char *store, const struct model_together *t, char *buf, size_t size);
/* Folders are made. A negative errno. */
int model_plain_put(const char *path, const char *way);
/* -ENOENT: nothing was chosen; -EINVAL: it is none of ours. */
int model_plain_get(const char *path, char ret_way[MODEL_WAY_MAX]);

#endif
