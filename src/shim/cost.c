/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A table of times by what took them, and how it learns. */
#include "shim/cost.h"
#include "base/base.h"

#include <string.h>

#define ENTRIES 4096u
#define PROBES  8u
#define WEIGHT  0.5 /* of the newest */
#define FACTOR  8.0 /* that one batch changes a time by, at most */
#define MAX_US  1e9

static struct entry {
	uint64_t what; /* 0: free */
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
	double factor = b->us ? took_us / b->us : 1;

	factor = MIN(MAX(factor, 1 / FACTOR), FACTOR);
	for (uint32_t i = 0; i < b->n; i++) {
		struct entry *e = find_entry(b->what[i]);
		double us = e->what == b->what[i] ? (double)e->us : unknown_us;

		us += WEIGHT * (us * factor - us);
		*e = (struct entry){b->what[i], (float)MIN(MAX(us, 0.5), MAX_US)};
	}
}

void cost_forget(void)
{
	memset(table, 0, sizeof(table));
}
