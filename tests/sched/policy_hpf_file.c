/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The built-in policy hpf in a shared object: the same source, built with public headers only and
 * linked with libheddle_lanes.a. With PLANTED it never holds a tenant, so that the traces must
 * differ from those of hpf. */
#include "../../src/sched/policy/policy_hpf.c"

#ifdef PLANTED
static void decide_without_holds(
	void *state, const struct heddle_policy_view *in, struct heddle_policy_plan *out)
{
	hpf_decide(state, in, out);
	memset(out->held, 0, in->n_tenants);
}
#endif

const struct heddle_policy *heddle_policy(void)
{
	static struct heddle_policy policy;

	policy = policy_hpf;
#ifdef PLANTED
	policy.decide = decide_without_holds;
#endif
	return &policy;
}
