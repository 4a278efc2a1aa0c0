/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions shared by the records of kernels (kernel.c) and the threads that make forms
 * (making.c). */
#ifndef HEDDLE_SHIM_MAKING_H
#define HEDDLE_SHIM_MAKING_H

#include "shim/kernel.h"

/* code_get adds a reference. code_put removes one, and frees the code if it was the last. Both
 * ignore NULL. */
void code_get(struct code *c);
void code_put(struct code *c);
/* Makes form f available to k's launches, and applies to f all settings that the program made for
 * the kernel. f NULL: the kernel gets no form, for the reason `why`. Call under kernel_lock. */
void kernel_publish(struct kernel *k, struct form *f, enum wire_reason why);
/* Under kernel_lock: k's launches are unmanaged from here on. */
void kernel_give_up(struct kernel *k, enum wire_reason why);

#endif
