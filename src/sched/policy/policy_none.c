/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The template for policies. Every launch gets the whole device, and no tenant is held, as on a
 * device without heddle. */
#include "heddle/policy.h"

#include <string.h>

static void none_decide(
	void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	(void)state;
	memset(out->quota, HEDDLE_POLICY_UNBOUNDED, (size_t)in->n_kernels * in->device->n_sms);
}

const struct heddle_policy policy_none = {.size = sizeof(policy_none),
	.abi = HEDDLE_POLICY_ABI,
	.name = "none",
	.decide = none_decide,
	.flags = HEDDLE_POLICY_ANY_SPLIT | HEDDLE_POLICY_OVERCOMMITS | HEDDLE_POLICY_TAKES_NOTHING};
