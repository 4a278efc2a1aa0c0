/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The table of policies. */
#include "policy.h"

#include <stdio.h>
#include <string.h>

static const struct sched_policy *const policies[] = {&sched_policy_none, &sched_policy_hpf,
	&sched_policy_ffs, &sched_policy_greedy, &sched_policy_profile, &sched_policy_fixed,
	&sched_policy_split};

const struct sched_policy *sched_policy_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		if (strcmp(policies[i]->name, name) == 0)
			return policies[i];
	}
	return NULL;
}

int sched_policy_check(
	const struct sched_policy *p, const char *options, char *ret_why, size_t size)
{
	int n = snprintf(ret_why, size, "policy_options: ");

	return p->check ? p->check(options, ret_why + n, size - (size_t)n) : 0;
}
