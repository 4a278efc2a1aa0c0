/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides whether and how a launch is managed: with which form, how many workers, and how many
 * blocks a worker claims at once. */
#ifndef HEDDLE_SHIM_PLAN_H
#define HEDDLE_SHIM_PLAN_H

#include "shim/core/launch.h"
#include "shim/form/kernel.h"

struct plan {
	struct form_shape *shape;
	struct pads pads; /* used by guard forms */
	uint32_t per_sm, workers, chunk, flags, shrink;
	uint32_t rank; /* rank among the program's launches: a higher one goes first */
};

/* Chooses between a kernel's two forms (rewrite.c) by the measured durations of launches. */
struct form *plan_form(
	struct session *session, struct form *f, const struct launch *l, uint64_t total);
/* Returns WIRE_WHY_WORKERS if the launch can be managed; then *p is complete except for the rank.
 * Otherwise returns the reason why a launch of this shape is not managed. */
enum wire_reason plan_launch(struct session *session, struct form *f, const struct launch *l,
	uint64_t total, struct plan *p);

#endif
