/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A policy for heddled: two kernels at a time, the shortest first. Each has half of every SM or,
 * alone, all of it. Kernels of unknown duration go last, by order of arrival. Where tenants cannot
 * run side by side, one kernel runs at a time.
 *
 * Build and load it (heddle/policy.h tells the rest):
 *	cc -std=c11 -O2 -shared -fPIC -o halves.so halves.c
 *	heddled --policy ./halves.so */
#include <heddle/policy.h>

#include <string.h>

/* HEDDLE_POLICY_UNKNOWN is longer than all. */
static int goes_first(const struct heddle_policy_kernel *a, const struct heddle_policy_kernel *b)
{
	return a->remaining_ns != b->remaining_ns ? a->remaining_ns < b->remaining_ns
						  : a->order < b->order;
}

/* Finds the shortest kernel other than `not`. Returns n_kernels if there is none. */
static uint32_t shortest(const struct heddle_policy_view *in, uint32_t not )
{
	uint32_t best = in->n_kernels;

	for (uint32_t i = 0; i < in->n_kernels; i++) {
		const struct heddle_policy_kernel *k = heddle_policy_kernel_at(in, i);

		if (i == not || k->kind != HEDDLE_POLICY_MANAGED || k->idle)
			continue;
		if (best == in->n_kernels || goes_first(k, heddle_policy_kernel_at(in, best)))
			best = i;
	}
	return best;
}

static void decide(void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	uint32_t chosen[2] = {shortest(in, in->n_kernels), 0}, n = in->device->n_sms;
	int alone;

	(void)state;
	chosen[1] = shortest(in, chosen[0]);
	alone = chosen[1] == in->n_kernels || !in->device->simultaneous;
	for (int i = 0; i < (alone ? 1 : 2) && chosen[i] < in->n_kernels; i++) {
		uint32_t all = heddle_policy_kernel_at(in, chosen[i])->blocks_per_sm;
		uint32_t half = all > 1 ? all / 2 : 1;

		memset(heddle_policy_row(in, out, chosen[i]),
			(int)(alone ? HEDDLE_POLICY_UNBOUNDED : half), n);
	}
	if (chosen[1] < in->n_kernels) /* remaining times change: look again in 10 ms */
		out->wake_ns = in->now_ns + 10000000;
}

const struct heddle_policy *heddle_policy(void)
{
	static const struct heddle_policy halves = {.size = sizeof(halves),
		.abi = HEDDLE_POLICY_ABI,
		.name = "halves",
		.decide = decide};

	return &halves;
}
