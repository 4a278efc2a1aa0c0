/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The split of an SM's memory into L1 cache and shared memory (carveout.c). */
#ifndef HEDDLE_SHIM_CARVEOUT_H
#define HEDDLE_SHIM_CARVEOUT_H

#include "shim/form/form.h"

/* Sets the form's split of an SM's memory into L1 cache and shared memory, as heddled requests
 * (carveout.c). Call it before each launch of the form. */
void carveout_set(struct session *session, struct form *f);

#endif
