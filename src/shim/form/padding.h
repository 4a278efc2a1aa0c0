/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds the padding for each number of blocks of a form (pads.h). */
#ifndef HEDDLE_SHIM_PADDING_H
#define HEDDLE_SHIM_PADDING_H

#include "shim/core/session.h"
#include "shim/order/pads.h"

struct form;
/* Asks the driver how many blocks fit on an SM with each amount of dynamic shared memory. `shared`
 * is the dynamic shared memory of the program's launch, in bytes. If the driver refuses,
 * ret->counts is 0. */
void pads_find(struct session *session, struct form *f, uint32_t threads, uint32_t shared,
	struct pads *ret);

#endif
