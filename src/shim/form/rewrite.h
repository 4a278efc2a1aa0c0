/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes preemptible forms from PTX (rewrite.c). */
#ifndef HEDDLE_SHIM_REWRITE_H
#define HEDDLE_SHIM_REWRITE_H

#include "shim/form/kernel.h"

/* Makes the form of `k`: parses, rewrites, compiles and loads it. Only threads that make forms call
 * this. Returns 0, or a negative errno and the reason in *ret_why (rewrite.c). */
int rewrite_kernel(struct session *session, struct kernel *k, struct code *c, struct form **ret,
	enum wire_reason *ret_why);
void rewrite_idle(void); /* call this after no form was made for a while */
/* Forgets the closer, because its context has ended. */
struct session_ends;
void rewrite_forget(struct session *session, const struct session_ends *ends);
bool rewrite_open(struct session *session);
void rewrite_after_fork(void);
/* Returns the closer, a small kernel that follows each grid of the guard form and completes the
 * launch. (In the guard form, each hardware block runs one block of the grid.) It is loaded
 * together with the first guard form. */
CUfunction rewrite_closer(struct session *session);

#endif
