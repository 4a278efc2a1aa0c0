/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The template for policies. Every launch gets the whole device, and no tenant is held, as on a
 * device without heddle. */
#include "policy.h"

#include <string.h>

static void none_decide(
	void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	(void)state;
	memset(out->quota, HEDDLE_POLICY_UNBOUNDED, (size_t)in->n_kernels * in->device->n_sms);
}

static const struct heddle_policy table = {
	.size = sizeof(table), .abi = HEDDLE_POLICY_ABI, .name = "none", .decide = none_decide};
static struct sched_planner planner = {.policy = &table};

const struct sched_policy sched_policy_none = {.name = "none", .planner = &planner};
