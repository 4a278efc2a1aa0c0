/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Durations of launches by blocks on each SM, from the events of a heddled with policy profile
 * (doc/events.md, sched/policy_profile.c). */
#ifndef HEDDLE_CLI_MEASURED_H
#define HEDDLE_CLI_MEASURED_H

#include "base/base.h"
#include "sched/model.h"
#include "wire/wire.h"

/* A kernel in one shape and form: heddle may try two forms, of which an SM holds different numbers
 * of blocks. Counts are blocks on each SM. */
struct measured_kernel {
	uint64_t code, blocks;
	uint32_t threads, shared_bytes, n_sms;
	uint32_t fit; /* blocks that an SM holds */
	char name[64];
	uint32_t most;      /* the largest count: what an SM holds, and the grid can use */
	bool guard;         /* it has the guard form, with most and */
	uint32_t counts;    /* these counts, bit n for n; 0: its blocks obey no bound */
	uint64_t launches;  /* all that ended, */
	uint64_t recent;    /* of these, in the last run */
	uint64_t disturbed; /* disturbed ones among all, which measure nothing */
	VEC(double) ns[SCHED_PER_SM + 1]; /* [n]: durations of launches with count n */
};

struct measured {
	VEC(struct measured_kernel) kernels; /* in the order of their first launches */
	unsigned joined;                     /* processes that became tenants */
	uint64_t launched[WIRE_REASONS];     /* all launches of those that have left */
	bool failed;                         /* out of memory */
};

/* Counts the tenants that joined in this text, and those of them that left. */
void measured_count(const char *events, unsigned *ret_joined, unsigned *ret_left);
/* Adds the launches of a program's run. events: the lines of one heddled, from before its tenants
 * joined until they left. */
void measured_add(struct measured *m, const char *events);
/* Can a launch have n blocks on each SM, for n from 1 to k->most? */
bool measured_can_have(const struct measured_kernel *k, uint32_t n);
/* The median for each count from 1 to k->most; 0: not measured. Sorts k->ns. */
void measured_curve(struct measured_kernel *k, double ret_ns[SCHED_PER_SM + 1]);
/* The number of missing launches if each count of each kernel, in its current form, is to have
 * `rounds` of them; *ret_unmeasured: counts without any launch. */
uint64_t measured_missing(const struct measured *m, unsigned rounds, unsigned *ret_unmeasured);
/* Is it in the form that most launches of this kernel and shape had in the last run? */
bool measured_is_current(const struct measured *m, const struct measured_kernel *k);
/* Does its curve represent all of its code? True for the current form of the largest grid; of equal
 * ones, the first. */
bool measured_is_main(const struct measured *m, const struct measured_kernel *k);
void measured_finish(struct measured *m);

#endif
