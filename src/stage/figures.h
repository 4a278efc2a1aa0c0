/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Metrics of programs that run together (Eyerman and Eeckhout 2008). ANTT is the mean over the
 * programs of turnaround divided by turnaround alone; lower is better, and 1 is the best possible.
 * STP is the sum of the inverse ratios; higher is better, and the best possible is the number of
 * programs. stp_makespan is an earlier definition of STP in heddle: the time of the programs one
 * after another, divided by the time until all are done. */
#ifndef HEDDLE_FIGURES_H
#define HEDDLE_FIGURES_H

#include "stage/stage.h"

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

#define FIGURES_SPREAD 0.1 /* allowed spread of the rounds, relative to the median */

/* Returns the spread of turnarounds over the rounds, relative to their median, or -1 if there is
 * only one round. */
double stage_spread(const struct stage_result *r, bool high);
/* Checks the figures of n programs for impossible values and for rounds that differ too much.
 * Returns the objection in buf, or NULL if there is none. */
const char *figures_noise(
	const struct figures *f, unsigned n, double spread, char *buf, size_t size);

#endif
