/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Simulations as one picture (SVG): for each a panel, with a row for each tenant that shows over
 * time on how many SMs it had blocks. */
#ifndef HEDDLE_SIM_PICTURE_H
#define HEDDLE_SIM_PICTURE_H

#include "sim/sim.h"

struct sim_picture {
	struct strbuf body;
	double y; /* where the next panel begins, pixels */
};

/* Adds a panel below the others. s was run with its stays kept (struct sim, keeps_stays). Zero a
 * picture before its first panel. */
void sim_picture_add(struct sim_picture *p, const struct sim *s, const char *title);
/* Adds the whole picture to *out, and frees what p holds. Out of memory: out->failed. */
void sim_picture_finish(struct sim_picture *p, struct strbuf *out);

#endif
