/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Fixed numbers of blocks: each launch may have as many blocks on every SM as the weight of its
 * tenant says (heddle run -w), for as long as it runs. Blocks that do not fit beside those of
 * earlier launches are left out. heddle bench share --oracle tries such divisions of an SM. */
#include "base/base.h"
#include "planner.h"
#include "policy.h"

#include <string.h>

static void decide(void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	(void)state;
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(in, i);
		uint32_t weight = heddle_policy_tenant_at(in, k->tenant_index)->weight;

		if (k->kind != HEDDLE_POLICY_MANAGED)
			continue;
		memset(heddle_policy_row(in, out, i),
			(int)MIN(weight, MIN(k->blocks_per_sm, HEDDLE_POLICY_MAX_QUOTA)),
			in->device->n_sms);
	}
	out->wake_ns = in->now_ns + PLANNER_ASK_NS;
}

static const struct heddle_policy table = {
	.size = sizeof(table), .abi = HEDDLE_POLICY_ABI, .name = "fixed", .decide = decide};
static struct sched_planner planner = {.policy = &table};

const struct sched_policy sched_policy_fixed = {
	.name = "fixed", .shares_sms = true, .planner = &planner};
