/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Stores the chosen way of running each set of kernels as a small file beside the store, for
 * programs that may not link a database. A file is always replaced as a whole, so a reader gets
 * either the old or the new choice. */
#ifndef HEDDLE_MODEL_PLAIN_H
#define HEDDLE_MODEL_PLAIN_H

#include "model/store.h"

/* Functions that the store uses as well. model_default_path returns the store's default path
 * (-ENOENT: no home folder; -ENAMETOOLONG). model_make_folders creates the folders above a file.
 * model_describe writes the text that identifies kernels, launches, device and driver. */
int model_default_path(char *buf, size_t size);
void model_make_folders(const char *path);
void model_describe(const struct model_together *t, struct strbuf *out);

/* Returns the path of the file for these kernels. `store` is the store's path, or NULL for the
 * default. Returns -ENOENT if there is no home folder, -ENAMETOOLONG, or -ENOMEM. */
int model_plain_path(const char *store, const struct model_together *t, char *buf, size_t size);
/* Creates folders if necessary. Returns 0 or a negative errno. */
int model_plain_put(const char *path, const char *way);
/* Returns 0; -ENOENT: no way was chosen; -EINVAL: the file is not valid. */
int model_plain_get(const char *path, char ret_way[MODEL_WAY_MAX]);

#endif
