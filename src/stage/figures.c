/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Distinguishes results from noise with bounds that no schedule can exceed and with the spread of
 * the rounds. */
#include "stage/figures.h"

#include <stdio.h>

double stage_spread(const struct stage_result *r, bool high)
{
	double least = 0, most = 0, median = high ? r->high_ns : r->low_ns;

	for (unsigned i = 0; i < r->rounds; i++) {
		const struct stage_round *at = &r->at[i];
		double ns = high ? (double)(at->high_done_ns - at->high_launch_ns)
				 : (double)(at->low_done_ns - at->low_launch_ns);

		least = i == 0 || ns < least ? ns : least;
		most = i == 0 || ns > most ? ns : most;
	}
	return r->rounds > 1 && median > 0 ? (most - least) / median : -1;
}

const char *figures_noise(
	const struct figures *f, unsigned n, double spread, char *buf, size_t size)
{
	if (f->antt < 1)
		snprintf(buf, size, "ANTT %.2f cannot be below 1", f->antt);
	else if (f->stp > n)
		snprintf(buf, size, "STP %.2f cannot be above %u", f->stp, n);
	else if (spread > FIGURES_SPREAD)
		snprintf(buf, size, "rounds differ by %.0f %%", spread * 100);
	else if (spread < 0)
		snprintf(buf, size, "one round does not tell how far rounds differ");
	else
		return NULL;
	return buf;
}
