/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The configuration of heddled; heddled(8) describes each key. */
#ifndef HEDDLE_DAEMON_CONFIG_H
#define HEDDLE_DAEMON_CONFIG_H

#include "sched/policy/policy.h"

#define HD_SPIN_AUTO UINT64_MAX

struct hd_config {
	const struct sched_policy *policy;
	bool mps, mps_stays, temporal, within_srt, gates;
	/* true if opaque_ns, the bound on unmanaged work, applies only where it helps more than the
	 * device's own time slices (apply.c: bound_until) */
	bool opaque_auto;
	uint32_t extra_sms, max_tenants, log_level;
	uint32_t overhead_permille; /* the key max_overhead, for policy ffs */
	/* limits for one user (uid); 0: a fixed fraction of the total (limits.c) */
	uint32_t user_tenants, user_devices, user_connections;
	/* timeout in ns for MPS's reply to the health check (mps_health.c); UINT64_MAX: no health
	 * check */
	uint64_t mps_answer_ns;
	/* how long a peer may leave its reply unread, or send nothing on a connection without a
	 * tenant */
	uint64_t silence_ns;
	uint64_t min_managed_ns, latency_ns, opaque_ns, opaque_hold_ns, linger_max_ns, grace_ns;
	/* 0: the engine's default; UINT64_MAX: tenants of the same priority never take turns */
	uint64_t still_ns;
	/* how long to poll without sleeping if the next launch may preempt; HD_SPIN_AUTO: only
	 * if waking up is slow */
	uint64_t spin_ns;
	char socket[108], group[64], privileged_group[64], mps_pipe[108];
	char events[4096];
	/* A policy in a file (policies.h): a path, or the name of a POLICY_FILE (policies.def). "":
	 * a built-in one. */
	char policy_file[4096];
	char policy_options[1024]; /* options that heddled passes to the policy */
	/* the folder of heddled.db; "off": heddled keeps no file; "": keeper.c chooses the
	 * folder */
	char state[4096];
};

#endif
