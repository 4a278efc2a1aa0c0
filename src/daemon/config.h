/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* What heddled(8) lists as its configuration. */
#ifndef HEDDLE_DAEMON_CONFIG_H
#define HEDDLE_DAEMON_CONFIG_H

#include "sched/policy.h"

#define HD_SPIN_AUTO UINT64_MAX

struct hd_config {
	const struct sched_policy *policy;
	bool mps, mps_stays, temporal, within_srt, gates,
		opaque_auto; /* that: where opaque_ns does good */
	uint32_t extra_sms, max_tenants, log_level;
	uint32_t overhead_permille; /* max_overhead, of policy ffs */
	/* What one user (uid) may have of it; 0: a part of what there is (limits.c). */
	uint32_t user_tenants, user_devices, user_connections;
	uint64_t
		mps_answer_ns; /* MPS may take so long for an answer; UINT64_MAX: it is not asked */
	uint64_t silence_ns;   /* who is no tenant may say nothing, and take nothing, for so long */
	uint64_t min_managed_ns, latency_ns, opaque_ns, opaque_hold_ns, linger_max_ns, grace_ns;
	uint64_t still_ns; /* 0: the engine's default; UINT64_MAX: equals never take turns */
	uint64_t spin_ns;  /* look on for so long, unslept, where the next launch may preempt;
			      HD_SPIN_AUTO: where waking turns out to be slow */
	char socket[108], group[64], privileged_group[64], mps_pipe[108];
	char events[4096];
	char policy_file[4096];    /* of other people's policy (policies.h); "": one of ours */
	char policy_options[1024]; /* what it is given */
	char state[4096]; /* the folder of heddled.db; "off": none; "": as keeper.c finds it */
};

#endif
