/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A table of the estimated time of kernels and graphs, learned from batches. */
#include "shim/order/cost.h"
#include "base/base.h"

#include <string.h>

#define ENTRIES 4096u
#define PROBES  8u
#define WEIGHT  0.5 /* weight of the newest time */
#define FACTOR  8.0 /* one batch changes an estimate by at most this factor */
#define MAX_US  1e9

static struct entry {
	uint64_t what; /* 0: the entry is free */
	float us;
} table[ENTRIES];

/* Returns the table entry of `what`. If `what` has none, returns the entry to use for it: a free
 * one, or else the first entry that it collides with, which the caller overwrites. */
static struct entry *find_entry(uint64_t what)
{
	uint64_t at = what * 0x9e3779b97f4a7c15u >> 40;

	for (unsigned i = 0; i < PROBES; i++) {
		struct entry *e = &table[(at + i) % ENTRIES];

		if (e->what == what || !e->what)
			return e;
	}
	return &table[at % ENTRIES];
}

uint32_t cost_of(uint64_t what, uint32_t unknown_us)
{
	const struct entry *e = find_entry(what);

	return e->what == what ? MAX((uint32_t)e->us, 1) : MAX(unknown_us, 1);
}

void cost_learn(const struct cost_batch *b, uint32_t unknown_us, double took_us)
{
	double was[COST_BATCH], sum = 0, factor;

	/* From the present estimates, not from those at the submission (b->us): the batches that
	 * ended since may have corrected them already. */
	for (uint32_t i = 0; i < b->n; i++) {
		const struct entry *e = find_entry(b->what[i]);

		was[i] = e->what == b->what[i] ? (double)e->us : unknown_us;
		sum += was[i];
	}
	factor = sum > 0 ? took_us / sum : 1;
	factor = MIN(MAX(factor, 1 / FACTOR), FACTOR);
	for (uint32_t i = 0; i < b->n; i++) {
		double us = was[i] + WEIGHT * (was[i] * factor - was[i]);

		/* Launches of one kind get the same value, so their estimate changes only once. */
		*find_entry(b->what[i]) =
			(struct entry){b->what[i], (float)MIN(MAX(us, 0.5), MAX_US)};
	}
}

void cost_forget(void)
{
	memset(table, 0, sizeof(table));
}
