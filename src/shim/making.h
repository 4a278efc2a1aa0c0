/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What the records of kernels (kernel.c) and the threads that make forms (making.c) share. */
#ifndef HEDDLE_SHIM_MAKING_H
#define HEDDLE_SHIM_MAKING_H

#include "shim/kernel.h"

/* One more that needs it, one less; the last frees it. NULL: nothing. */
void code_get(struct code *c);
void code_put(struct code *c);
/* Under kernel_lock: k's form is there, with all that the program has set; or NULL, and why. */
void kernel_publish(struct kernel *k, struct form *f, enum wire_reason why);
/* Under kernel_lock: its launches go as they are from here on. */
void kernel_give_up(struct kernel *k, enum wire_reason why);

#endif
