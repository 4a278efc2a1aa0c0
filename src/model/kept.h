/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads and writes records of kernels (durations.h) in a store: heddled's own is heddled.db in its
 * state folder. It has rows of all users, so only its owner may read it. */
#ifndef HEDDLE_MODEL_KEPT_H
#define HEDDLE_MODEL_KEPT_H

#include "model/durations.h"
#include "model/store.h"

#define KEPT_SYSTEM_FOLDER "/var/lib/heddle" /* of the system's heddled */

#define KEPT_KERNELS 4096u /* those written longest ago leave, */
#define KEPT_OF_USER 1024u /* also of one user */

/* $XDG_STATE_HOME/heddle/heddled.db, else below ~/.local/state. -ENOENT: no home; -ENAMETOOLONG. */
int kept_default_path(char *buf, size_t size);
/* Writes these in one step, and lets the oldest go. Errors as model_store_open. */
int kept_put(struct model_store *s, const struct duration_kernel *k, unsigned n);
/* Sets points of the curves of these kernels, in one step: those of which k[i].curve_n is not 0.
 * Other points, and all else that the store knows of a kernel, stay as they are; a kernel that is
 * new gets a row with its name and curve. Errors as model_store_open. */
int kept_put_curves(struct model_store *s, const struct duration_kernel *k, unsigned n);
/* Makes the file, if it is not there, with its folders; only its owner may read it from now on.
 * Negative errno. */
int kept_make_private(const char *path);
/* All of a user (DURATION_ANY: of all users), the last written first; a row that is not sane is
 * passed over. Errors as model_store_open; -ENOENT: written before there was anything to know. */
int kept_each(struct model_store *s, uint32_t uid, durations_fn *fn, void *user);

#endif
