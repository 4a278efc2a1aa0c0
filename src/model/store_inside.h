/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions shared by the files of the store. All return 0 or a negative errno; model_store_why has
 * the reason. */
#ifndef HEDDLE_MODEL_STORE_INSIDE_H
#define HEDDLE_MODEL_STORE_INSIDE_H

#include "model/store.h"

#include <sqlite3.h>

#define STORE_LAYOUT 2

struct model_store {
	sqlite3 *db;
	int layout; /* layout version of the file */
};

int store_failed(const struct model_store *s); /* stores SQLite's message and returns -EIO */
int store_run(struct model_store *s, const char *sql);
/* Runs and finalizes a statement that returns no rows. q is NULL if it could not be prepared. */
int store_step(struct model_store *s, sqlite3_stmt *q);
/* Runs fn in a transaction, and commits if fn returns 0. */
int store_in_one(struct model_store *s, int (*fn)(struct model_store *s, void *user), void *user);

#endif
