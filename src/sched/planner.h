/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Policies that answer in plans (heddle/policy.h) under the engine: all of other people's, and of
 * the engine's own those that need no lanes. The one place where the public view and plan meet the
 * engine's own structures; believes nothing of a plan before it has looked. */
#ifndef HEDDLE_SCHED_PLANNER_H
#define HEDDLE_SCHED_PLANNER_H

#include "heddle/policy.h"

struct planning;
struct sched;

#define PLANNER_EMPTY_NS 100000000ull  /* nobody has an SM for so long though there is work */
#define PLANNER_ASK_NS   1000000000ull /* asked again though it did not want to be */

/* A policy, and who calls it; struct sched_policy points to it. All engines of a process may share
 * one. */
struct sched_planner {
	const struct heddle_policy *policy;
	const char *options; /* the caller's; NULL: those of struct sched_options */
	/* All of these may be NULL. Around each call into the policy, for a watchdog; call:
	 * "create", "decide", "destroy". */
	void (*enter)(void *user, const char *call);
	void (*leave)(void *user);
	/* What is wrong with its answers, as a sentence without its name; once a kind. */
	void (*say)(void *user, const char *what);
	void *user;
	uint32_t said; /* kinds, as bits: 0 beforehand */
};

/* The policy's state for this engine's device. NULL: it has none, or it failed; planner_decide then
 * gives the device to everyone. */
void *planner_create(const struct sched *s, const struct sched_planner *f);
/* Frees what planner_create returned for this policy. */
void planner_destroy(const struct sched_planner *f, void *state);
/* Frees what p holds, not p itself. */
void planner_free(struct planning *p);
/* Asks the policy, and sets what each launch and tenant gets: next_allowed, next_begin, next_held;
 * lowers deadline_ns. Behind sched_gather. 0 or -ENOMEM. */
int planner_decide(struct sched *s, uint64_t now_ns);

#endif
