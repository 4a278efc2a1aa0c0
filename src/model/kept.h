/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads and writes records of kernels (durations.h) in a store. heddled's store is heddled.db in
 * its state folder. The store has rows of all users, so only its owner may read it. */
#ifndef HEDDLE_MODEL_KEPT_H
#define HEDDLE_MODEL_KEPT_H

#include "model/durations.h"
#include "model/store.h"

#define KEPT_SYSTEM_FOLDER "/var/lib/heddle" /* of the system's heddled */

#define KEPT_KERNELS 4096u /* limit of kernels; those written longest ago are deleted */
#define KEPT_OF_USER 1024u /* limit for one user */

/* $XDG_STATE_HOME/heddle/heddled.db, else under ~/.local/state. -ENOENT: there is no home
 * folder; -ENAMETOOLONG. */
int kept_default_path(char *buf, size_t size);
/* Writes these records in one transaction, and deletes the oldest beyond the limits. Errors as
 * for model_store_open. */
int kept_put(struct model_store *s, const struct duration_kernel *k, unsigned n);
/* Sets points of these kernels' curves in one transaction: those with k[i].curve_n other than 0.
 * Other points and the rest of the records stay as they are; a new kernel gets a row with its
 * name and curve. Errors as for model_store_open. */
int kept_put_curves(struct model_store *s, const struct duration_kernel *k, unsigned n);
/* Creates the file and its folders if needed, and restricts it to its owner. Negative errno. */
int kept_make_private(const char *path);
/* Calls fn for all records of a user (DURATION_ANY: of all users), the last written first. Skips
 * invalid rows. Errors as for model_store_open; -ENOENT: the file is older than these tables. */
int kept_each(struct model_store *s, uint32_t uid, durations_fn *fn, void *user);

#endif
