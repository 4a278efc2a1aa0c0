/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shared by the records of kernels (kernel.c) and the threads that make forms (making.c). */
#ifndef HEDDLE_SHIM_MAKING_H
#define HEDDLE_SHIM_MAKING_H

#include "shim/kernel.h"

/* Takes and drops a reference; the last drop frees the code. NULL: does nothing. */
void code_get(struct code *c);
void code_put(struct code *c);
/* Under kernel_lock: k's form is ready, and gets all of the program's settings. NULL: there is
 * none, for the reason `why`. */
void kernel_publish(struct kernel *k, struct form *f, enum wire_reason why);
/* Under kernel_lock: k's launches are unmanaged from here on. */
void kernel_give_up(struct kernel *k, enum wire_reason why);

#endif
