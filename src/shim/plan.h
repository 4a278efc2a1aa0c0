/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Whether and how a launch is managed: its form, its workers, and the size of their claims. */
#ifndef HEDDLE_SHIM_PLAN_H
#define HEDDLE_SHIM_PLAN_H

#include "shim/managed.h"

struct plan {
	struct form_shape *shape;
	struct pads pads; /* of guard forms */
	uint32_t per_sm, workers, chunk, flags, shrink;
	uint32_t rank; /* among the launches of the program: higher goes first */
};

/* Chooses between a kernel's two forms (rewrite.c) by measured launches. */
struct form *plan_form(struct form *f, const struct launch *l, uint64_t total);
/* WIRE_WHY_WORKERS: *p is complete but for the rank. Otherwise the reason why a launch of this
 * shape is not managed. */
enum wire_reason plan_launch(
	struct form *f, const struct launch *l, uint64_t total, struct plan *p);

#endif
