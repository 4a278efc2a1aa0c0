/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads and writes records of kernels (durations.h) in a store. heddled's store is heddled.db in
 * its state folder. It has records of all users, so only its owner may read it. */
#ifndef HEDDLE_MODEL_KEPT_H
#define HEDDLE_MODEL_KEPT_H

#include "model/store.h"
#include "sched/model/durations.h"

#define KEPT_SYSTEM_FOLDER "/var/lib/heddle" /* folder of the system's heddled */

#define KEPT_KERNELS 4096u /* maximum number of kernels; those written longest ago are deleted */
#define KEPT_OF_USER 1024u /* maximum number for one user */

/* Returns heddled's default store: $XDG_STATE_HOME/heddle/heddled.db, or else the same under
 * ~/.local/state. Returns -ENOENT if there is no home folder, or -ENAMETOOLONG. */
int kept_default_path(char *buf, size_t size);
/* Writes these records in one transaction, and deletes the oldest records beyond the limits.
 * Returns the same errors as model_store_open. */
int kept_put(struct model_store *s, const struct duration_kernel *k, unsigned n);
/* For each kernel k[i] whose curve_n is not 0, sets that curve's points in the store, all in one
 * transaction. Other points and the rest of the records do not change; a new kernel gets a record
 * with its name and curve. Returns the same errors as model_store_open. */
int kept_put_curves(struct model_store *s, const struct duration_kernel *k, unsigned n);
/* Creates the file and its folders if necessary, and makes it accessible only to its owner. Returns
 * 0 or a negative errno. */
int kept_make_private(const char *path);
/* Calls fn for all records of a user (DURATION_ANY: of all users), the last written record first.
 * Skips invalid rows. Returns the same errors as model_store_open, or -ENOENT if the file is older
 * than these tables. */
int kept_each(struct model_store *s, uint32_t uid, durations_fn *fn, void *user);

#endif
