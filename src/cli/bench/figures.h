/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Metrics of co-running programs. Eyerman and Eeckhout 2008: ANTT is the mean of turnaround over
 * turnaround alone (lower is better, 1 at best), STP the sum of the inverse ratios (higher is
 * better, the number of programs at best). stp_makespan is the first version's definition: time one
 * after another over time until all are done. */
#ifndef HEDDLE_FIGURES_H
#define HEDDLE_FIGURES_H

#include "cli/stage.h"

struct figures {
	double antt, stp, stp_makespan;
};

static inline struct figures figures_of(
	const struct stage_result *together, double low_alone_ns, double high_alone_ns)
{
	double low = together->low_ns / low_alone_ns, high = together->high_ns / high_alone_ns;

	return (struct figures){
		.antt = (low + high) / 2,
		.stp = 1 / low + 1 / high,
		.stp_makespan = (low_alone_ns + high_alone_ns) / together->makespan_ns,
	};
}

#define FIGURES_SPREAD 0.1 /* that rounds may differ by */

/* Spread of turnarounds over the rounds, relative to their median; -1: one round. */
double stage_spread(const struct stage_result *r, bool high);
/* Why figures of n programs are no result: impossible values, or rounds that differ too much.
 * Returns buf; NULL: no objection. */
const char *figures_noise(
	const struct figures *f, unsigned n, double spread, char *buf, size_t size);

#endif
