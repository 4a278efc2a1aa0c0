/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Durations of launches by the number of blocks on each SM, derived from the events of a heddled
 * that uses policy profile (doc/events.md, sched/policy/policy_profile.c). */
#ifndef HEDDLE_CLI_MEASURED_H
#define HEDDLE_CLI_MEASURED_H

#include "base/base.h"
#include "sched/model/model.h"
#include "wire/wire.h"

/* Measurements of a kernel in one launch shape and one form. heddle may try two forms of a kernel,
 * and the two forms can differ in how many of their blocks an SM holds. In this header, a count is
 * a number of blocks on each SM. */
struct measured_kernel {
	uint64_t code, blocks;
	uint32_t threads, shared_bytes, n_sms;
	uint32_t fit; /* number of blocks that fit on an SM */
	char name[64];
	uint32_t most;      /* the largest count: limited by what fits on an SM and by the grid */
	bool guard;         /* this is the guard form */
	uint32_t counts;    /* guard form: a bit for each possible count below most; 0: none */
	uint64_t launches;  /* number of launches that ended */
	uint64_t recent;    /* number of those in the last run */
	uint64_t disturbed; /* number of launches that were disturbed and so measure nothing */
	VEC(double) ns[SCHED_PER_SM + 1]; /* ns[n]: durations of the launches with count n */
};

struct measured {
	VEC(struct measured_kernel) kernels; /* in the order of their first launches */
	unsigned joined;                     /* number of processes that became tenants */
	uint64_t launched[WIRE_REASONS];     /* all launches of the tenants that have left */
	bool failed;                         /* memory ran out */
};

/* Counts the tenants that joined according to these events, and how many tenants left. */
void measured_count(const char *events, unsigned *ret_joined, unsigned *ret_left);
/* Adds the launches of one run of the program. events are the event lines of one heddled, from
 * before its tenants joined until they left. */
void measured_add(struct measured *m, const char *events);
/* Returns whether a launch can have n blocks on each SM, for n from 1 to k->most. */
bool measured_can_have(const struct measured_kernel *k, uint32_t n);
/* Computes the median duration for each count from 1 to k->most; 0 if the count was not measured.
 * The call sorts k->ns. */
void measured_curve(struct measured_kernel *k, double ret_ns[SCHED_PER_SM + 1]);
/* Returns how many launches are missing until each count of each kernel, in its current form, has
 * `rounds` launches. *ret_unmeasured is the number of counts without any launch. */
uint64_t measured_missing(const struct measured *m, unsigned rounds, unsigned *ret_unmeasured);
/* Returns whether k is in the form that most launches of this kernel and shape had in the last
 * run. */
bool measured_is_current(const struct measured *m, const struct measured_kernel *k);
/* Returns true if k's curve represents all launch shapes of its code. Of the shapes in the kernel's
 * current form, that is the one with the largest grid; if several are equally large, the first. */
bool measured_is_main(const struct measured *m, const struct measured_kernel *k);
void measured_finish(struct measured *m);

#endif
