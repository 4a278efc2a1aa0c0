/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Fixed numbers of blocks. The weight of a tenant (heddle run -w) is the number of blocks that each
 * of its launches may have on every SM. This bound holds while another launch also has blocks to
 * begin; a launch that is alone may have all blocks that fit. If an SM has no room for so many
 * blocks beside those of earlier launches, the launch gets only what fits. heddle bench share
 * --oracle tries such divisions of an SM. */
#include "base/base.h"
#include "heddle/policy.h"

#include <string.h>

static bool competes(const struct heddle_policy_kernel *k)
{
	return k->kind == HEDDLE_POLICY_MANAGED && !k->idle && k->started < k->blocks;
}

static void fixed_decide(
	void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	uint32_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < in->n_kernels; i++)
		n += competes(heddle_policy_kernel_at(in, i));
	for (uint32_t i = 0; i < in->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(in, i);
		uint32_t weight = heddle_policy_tenant_at(in, k->tenant_index)->weight, count;

		if (k->kind != HEDDLE_POLICY_MANAGED)
			continue;
		count = MIN(weight, MIN(k->blocks_per_sm, HEDDLE_POLICY_MAX_QUOTA));
		if (n == 1 && competes(k))
			count = HEDDLE_POLICY_UNBOUNDED;
		memset(heddle_policy_row(in, out, i), (int)count, in->device->n_sms);
	}
	out->wake_ns = in->now_ns + HEDDLE_POLICY_MAX_WAKE;
}

static const struct heddle_policy table = {
	.size = sizeof(table), .abi = HEDDLE_POLICY_ABI, .name = "fixed", .decide = fixed_decide};

const struct heddle_policy *heddle_policy(void)
{
	return &table;
}
