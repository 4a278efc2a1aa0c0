/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs the policy (heddle/policy.h). Only planner.c converts between the public view and plan
 * and the engine's structures. planner.c checks every value of a plan before use. */
#ifndef HEDDLE_SCHED_PLANNER_H
#define HEDDLE_SCHED_PLANNER_H

#include "base/base.h"
#include "sched/policy/policy.h"

struct sched;

/* how long a policy may give no launch an SM although there is work */
#define PLANNER_EMPTY_NS 100000000ull

/* Buffers and state of planner.c, which are kept between decisions. */
struct planning {
	VEC(struct heddle_policy_kernel) kernels;
	VEC(struct heddle_policy_tenant) tenants;
	VEC(const uint8_t *) begin;
	uint8_t *plan; /* contents: canary, rows of quotas, canary, held flags, canary */
	size_t plan_bytes;
	uint64_t empty_ns; /* since when no launch has had an SM; 0: a launch has one now */
	uint64_t ask_ns;   /* when to ask a policy that gave no wake time again; 0: never */
	uint64_t soon_ns;  /* the last wake-up that was sooner than HEDDLE_POLICY_MIN_WAKE */
	/* Each such wake-up spends HEDDLE_POLICY_MIN_WAKE of time. So far the time until here is
	 * spent. */
	uint64_t spent_ns;
	bool any;   /* in the current plan, at least one launch gets an SM */
	bool waits; /* in the current plan, some launch gets no SM, or a tenant is held */
};

/* Creates the policy's state for this engine's device. Returns NULL if the policy has no state, or
 * if `create` failed. After a failure, planner_decide gives the device to every launch. */
void *planner_create(const struct sched *s, const struct sched_policy *p);
/* Destroys the state that planner_create returned for this policy. */
void planner_destroy(const struct sched_policy *p, void *state);
/* Frees the arrays of p, but not p itself. */
void planner_free(struct planning *p);
/* Asks the policy. Sets next_allowed, next_begin and next_held of each launch and tenant, and
 * lowers deadline_ns. Must be called after sched_gather. Returns 0 or -ENOMEM. */
int planner_decide(struct sched *s, uint64_t now_ns);

#endif
