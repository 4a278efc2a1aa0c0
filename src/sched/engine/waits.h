/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* How long launches wait behind launches of the same priority, and how often they get SMs in vain
 * (waits.c). Also the tenants of each priority, which turns.c uses, too. */
#ifndef HEDDLE_SCHED_WAITS_H
#define HEDDLE_SCHED_WAITS_H

#include "sched/model/model.h"

#include <stdbool.h>

struct sched;
struct sched_launch;

/* How long a launch waits, and how often it got SMs in vain (waits.c). */
struct sched_wait {
	uint64_t behind_ns; /* how long it has waited behind equals since its last block */
	uint64_t finished;  /* blocks that had finished at the last decision */
	uint64_t slice_ns;  /* overdue: when its slice began; 0: not yet */
	uint64_t share_ns;  /* length of the slice */
	uint64_t granted_ns, granted_finished; /* of the last grant, or of its arrival */
	uint64_t vain_ns;                      /* since when `vain` falls */
	uint32_t vain;                         /* losses of SMs before a block has finished */
	bool granted;                          /* it has SMs by a grant */
	bool behind;                           /* it waits behind equals */
};

/* The tenants of one priority. The engine keeps one level for each priority that some tenant has, so
 * that no decision compares each tenant with each other one. */
struct sched_level {
	struct sched_level *next;  /* in sched.levels (in descending order), or in free_levels */
	struct sched_level *above; /* pauses.c, gather.c: the next higher one */
	int priority;
	uint32_t n_tenants;
	/* Of the present decision. turns.c: whether a tenant is stalled, and the last queue
	 * position. */
	bool stalled;
	uint64_t last_turn;
	uint32_t n_waiting; /* tenants with a launch that has no lane */
	/* pauses.c: what a switch to its work costs, or to that of all levels below it; whether there
	 * is such work */
	uint64_t bounce, bounce_below;
	bool works, works_below;
	/* gather.c: tenants of all lower levels, and of this one, whose relays take room: their number
	 * for each number of workers on an SM */
	uint32_t relays_below[SCHED_PER_SM + 1], relays[SCHED_PER_SM + 1];
	uint32_t relays_full[SCHED_PER_SM + 1];
	uint32_t n_lanes, n_behind; /* launches with and without a lane (waits.c) */
};

/* The most that a launch waits behind equals that can be preempted, and the most losses of SMs in
 * one second before a block has finished. */
#define SCHED_WAIT_MAX_NS 200000000u
#define SCHED_VAIN_MAX    20u
/* Called before and after a policy that answers in lanes. */
void sched_waits(struct sched *s, uint64_t now_ns);
void sched_waits_note(struct sched *s, uint64_t now_ns);
/* The launch has been granted SMs; it has left all of them; more blocks of it have begun. */
void sched_wait_granted(struct sched_launch *l, uint64_t now_ns);
void sched_wait_left(struct sched_launch *l, uint64_t now_ns);
void sched_wait_started(struct sched *s, struct sched_launch *l, uint64_t now_ns);

#endif
