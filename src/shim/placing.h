/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Code of the shim's own comes to the program's context, and goes from there, while nothing of the
 * program runs. */
#ifndef HEDDLE_SHIM_PLACING_H
#define HEDDLE_SHIM_PLACING_H

#include "shim/managed.h"

/* Around such calls of the driver, in a thread that makes forms and has its turn, which it gives up
 * while it waits: the shim's context is current, and the program's end waits. As long as something
 * runs and does not end, it waits too. False: the program ends, or its context has; nothing is to
 * be ended then. */
bool placing_begin(struct shim_inside *in);
void placing_end(struct shim_inside *in);

/* Within placing_begin: launches of kernels that need so many bytes of local memory a thread wait
 * for nothing, from here on. (locals.c) */
void locals_make_room(uint32_t bytes);
void locals_forget(void); /* the context has ended */

/* ---- launches ---- */
/* Returns when launches are not held; they may be again at once. */
void placing_await(void);
/* From here to placing_passed a launch is not held: it is either not made, or counted (as one that
 * is outstanding, or in flight) by then. */
void placing_pass(void);
void placing_passed(void);

/* Around the end of the shim's context: nobody waits for its work, from the first on. */
void placing_pause(void);
void placing_resume(void);

void placing_after_fork(void);

#endif
