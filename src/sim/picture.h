/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Draws simulations as one SVG picture. Each simulation is a panel. A panel has a row for each
 * tenant, which shows over time on how many SMs the tenant has blocks. */
#ifndef HEDDLE_SIM_PICTURE_H
#define HEDDLE_SIM_PICTURE_H

#include "sim/sim.h"

struct sim_picture {
	struct strbuf body;
	double y; /* y coordinate of the top of the next panel, in pixels */
};

/* Adds a panel below the others. The simulation must have run with keeps_stays set. Fill a picture
 * with 0 before its first panel. */
void sim_picture_add(struct sim_picture *p, const struct sim *s, const char *title);
/* Appends the whole picture to *out, and frees p's memory. If memory is exhausted, sets
 * out->failed. */
void sim_picture_finish(struct sim_picture *p, struct strbuf *out);

#endif
