/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The results of heddle demo, and functions that show them. */
#ifndef HEDDLE_DEMO_H
#define HEDDLE_DEMO_H

#include "stage/figures.h"

#define DEMO_PAIRS 2

struct demo_pair {
	const char *low, *high; /* names of example programs */
	/* factor for low's input on the virtual GPU, which interprets kernels */
	double scale;
};
extern const struct demo_pair demo_pairs[DEMO_PAIRS];

struct demo {
	struct cli *c;
	struct arena arena;
	enum dev_kind device;
	char device_name[128];
	bool mps;
	/* folder in which programs keep the results computed on the host; empty: none */
	char reference[64];
	unsigned rounds;
	struct stage_result alone_low[DEMO_PAIRS], alone_high[DEMO_PAIRS], unmanaged[DEMO_PAIRS],
		managed[DEMO_PAIRS];
};

struct figures demo_figures(const struct demo *d, unsigned i, const struct stage_result *together);
/* Returns whether every result of pair i was checked and was correct. */
bool demo_is_verified(const struct demo *d, unsigned i);
/* Returns why the figures of pair i are not a valid result (in buf), or NULL if they are valid. */
const char *demo_noise(const struct demo *d, unsigned i, char *buf, size_t size);

/* Counts of rounds.
 * - together: the high-priority program launched while the low-priority one ran.
 * - overtook: the high-priority program also ended first, by at least a twentieth of the
 *   low-priority program's time. The margin is needed because without heddle both end at about the
 *   same time.
 *
 * On the virtual GPU, times depend on other load of the machine, so the demo's result there is
 * `overtook`. It depends only on the order in which blocks run. */
struct demo_order {
	unsigned together, overtook;
};
struct demo_order demo_order(const struct stage_result *r);

void demo_table(const struct demo *d, struct strbuf *out);

#endif
