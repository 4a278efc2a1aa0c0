/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Policies of other people (heddle/policy.h) under the engine. The one place where the public view
 * and plan meet the engine's own structures; believes nothing of a plan before it has looked. */
#ifndef HEDDLE_SCHED_FOREIGN_H
#define HEDDLE_SCHED_FOREIGN_H

#include "heddle/policy.h"

struct sched;

#define FOREIGN_EMPTY_NS 100000000ull  /* nobody has an SM for so long though there is work */
#define FOREIGN_ASK_NS   1000000000ull /* asked again though it did not want to be */

/* A loaded policy; struct sched_policy points to it. All engines of a process may share one. */
struct sched_foreign {
	const struct heddle_policy *policy;
	const char *options; /* the caller's; not NULL */
	/* Around each call into the policy, for a watchdog; call: "create", "decide", "destroy". */
	void (*enter)(void *user, const char *call);
	void (*leave)(void *user);
	/* What is wrong with its answers, as a sentence without its name; once a kind. */
	void (*say)(void *user, const char *what);
	void *user;
	uint32_t said; /* kinds, as bits: 0 beforehand */
};

/* The policy's state for this engine's device. NULL: out of memory. */
void *foreign_create(struct sched *s, struct sched_foreign *f);
void foreign_destroy(struct sched_foreign *f, void *state);
/* Asks the policy, and sets what each launch and tenant gets: next_allowed, next_begin, share.held;
 * lowers deadline_ns. Behind sched_gather. 0 or -ENOMEM. */
int foreign_decide(struct sched *s, uint64_t now_ns);

#endif
