/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Pauses of programs between their work, and whether to wait for the end of one (pauses.c). */
#ifndef HEDDLE_SCHED_PAUSES_H
#define HEDDLE_SCHED_PAUSES_H

#include <stdbool.h>
#include <stdint.h>

struct sched;
struct sched_tenant;

/* The tenants of one priority. The engine keeps one level for each priority that some tenant has,
 * so that no decision compares each tenant with each other one. */
struct sched_level {
	/* next in sched.levels (in descending order) or in free_levels */
	struct sched_level *next;
	struct sched_level *above; /* the next higher level */
	int priority;
	uint32_t n_tenants;
	/* In the present decision: what a switch to its work costs, or to that of all levels below
	 * it; whether there is such work. */
	uint64_t bounce, bounce_below;
	bool works, works_below;
};

/* The greatest cost of a switch to work of the view: of all of it, and of other tenants than the
 * one with the greatest cost. */
struct sched_costs {
	uint64_t most, others;
	uint32_t tenant;
};

/* Notes whether the tenant has work. Learns from the pause that ends. */
void sched_set_busy(struct sched *s, struct sched_tenant *t, bool busy, uint64_t now_ns);
/* Appends a pseudo launch for each idle tenant to s->view, if waiting for its next work costs less
 * than switching to other tenants. Returns false if out of memory. */
bool sched_linger(struct sched *s, uint64_t now_ns);

#endif
