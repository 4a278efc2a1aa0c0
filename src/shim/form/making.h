/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Threads that make preemptible forms (making.c). */
#ifndef HEDDLE_SHIM_MAKING_H
#define HEDDLE_SHIM_MAKING_H

#include "shim/form/kernel.h"

/* Returns the kernel's preemptible form, or NULL if it has none yet. The first call requests the
 * form, and may wait until it is made. All launches of a program together wait for at most 20 ms
 * (or HEDDLE_FORM_WAIT_MS), which is enough to load forms from the cache. */
struct form *kernel_form(struct session *session, struct kernel *k);
/* Records that a launch with `threads` threads ran without the kernel's preemptible form. Kernels
 * with the largest total get their forms first. */
void kernel_missed(struct kernel *k, uint64_t threads);
/* Writes to disk what has been taught since (remember.h), if anything, without waiting for the
 * disk. */
void remember_soon(struct session *session);
struct session_ends;
/* The context may end: launches that wait for a form continue unmanaged. */
void making_pause(struct session *session, const struct session_ends *ends);
void making_after_fork(void);

#endif
