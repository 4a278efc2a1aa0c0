/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loading the shim's code into the program's context, and unloading it, while no work of the
 * program runs. */
#ifndef HEDDLE_SHIM_PLACING_H
#define HEDDLE_SHIM_PLACING_H

#include "shim/managed.h"

/* Around such driver calls, in a thread that makes forms and has a turn. The thread gives up its
 * turn while it waits. The shim's context is current, and the program's end waits. The thread waits
 * as long as some work runs and does not end. False: the program or its context ends; do not call
 * placing_end then. */
bool placing_begin(struct shim_inside *in);
void placing_end(struct shim_inside *in);

/* Within placing_begin: from here on, launches of kernels with up to so many bytes of local memory
 * a thread do not wait. (locals.c) */
void locals_make_room(uint32_t bytes);
void locals_forget(void); /* the context has ended */

/* ---- launches ---- */
/* Returns when launches are not held; they may be held again at once. */
void placing_await(void);
/* From here to placing_passed a launch is not held. By placing_passed it is either not made, or
 * counted (as outstanding, or in flight). */
void placing_pass(void);
void placing_passed(void);

/* Around the end of the shim's context: from placing_pause on, no thread waits for its work. */
void placing_pause(void);
void placing_resume(void);

void placing_after_fork(void);

#endif
