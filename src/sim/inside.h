/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions that the files of the simulated device share. */
#ifndef HEDDLE_SIM_INSIDE_H
#define HEDDLE_SIM_INSIDE_H

#include "sim/sim.h"

/* Notes a negative errno, which ends the run. Keeps the first one. */
void sim_fail(struct sim *s, int status);
/* Returns the next event, or NULL if none is left. */
const struct sim_event *sim_next(const struct sim *s);
/* Removes the next event, of which there must be one. The caller owns its quota. */
struct sim_event sim_pop(struct sim *s);
/* Sorts the events that were created before the run. */
void sim_sort_planned(struct sim *s);

#endif
