/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Saves measured speeds of kernels (known.h) in the cache on disk, and reads them back. Writing
 * waits for the disk, but the thread that notices the end of a launch must not wait. So that thread
 * only marks the kernel as changed. The next launch passes the kernel to a form-making thread,
 * which writes its speeds. At the program's end, the shim writes those that are left. */
#ifndef HEDDLE_SHIM_REMEMBER_H
#define HEDDLE_SHIM_REMEMBER_H

#include "shim/form/kernel.h"

/* Reads the saved speeds of a new form; f->known_key identifies them. */
void remember_recall(struct form *f);
void remember_taught(struct kernel *k); /* never waits, so the caller may hold any lock */
/* Takes a kernel that has been taught and that nobody was asked to write yet. NULL: there is none. */
struct kernel *remember_unasked(void);
void remember_write(const struct kernel *k); /* writes it now, unless already done */
void remember_at_exit(void);                 /* call once: from then on, also writes at exit */
struct session_ends;
/* Writes all that is left. */
void remember_pause(struct session *session, const struct session_ends *ends);
void remember_after_fork(void);

#endif
