/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The engine's policies. The interface is heddle/policy.h: a policy sees kernels and tenants
 * with their times, and answers with a plan (planner.h); policy_none.c is the template. Policy
 * hpf instead answers with a lane for each kernel, as below; lanes.c picks the SMs. The engine
 * asks after every burst of events, and at the time that the policy asked for. */
#ifndef HEDDLE_SCHED_POLICY_H
#define HEDDLE_SCHED_POLICY_H

#include "model.h"

#define SCHED_NO_LANE UINT32_MAX
#define SCHED_NO_TURN UINT64_MAX

enum sched_kind {
	SCHED_MANAGED, /* a launch that obeys quotas */
	/* a tenant's work that obeys none: it takes the whole device while it lasts */
	SCHED_OPAQUE,
	SCHED_LINGER, /* no work now, but the tenant returns before it pays to switch to another */
};

struct sched_kernel {
	/* The question. */
	enum sched_kind kind;
	uint32_t tenant;
	uint64_t id;    /* number of the launch within its tenant */
	uint64_t order; /* of arrival: the earlier launch has the smaller number */
	int priority;   /* the tenant's; the larger goes first */
	uint32_t depth; /* ranks between its stream and the highest active stream of its tenant */
	/* among equals the smaller goes first (turns.c). SCHED_NO_TURN: it has nothing to do
	 * now, and goes last. */
	uint64_t turn;
	uint64_t kernel; /* hash of the code */
	uint64_t total, finished;
	uint32_t threads, workers_per_sm;
	uint32_t need_sms; /* SMs that its unfinished blocks can use, and extra_sms */
	bool running;      /* it has SMs now, */
	bool begun;        /* and a block of it has begun on them */
	uint64_t predicted_ns, waited_ns, remaining_ns; /* T_e, T_w, T_r, or SCHED_UNKNOWN */
	uint64_t cost_ns;                               /* of preempting it after it has begun */
	/* The answer. Kernels of one lane share their SMs. A lane may use every SM that no lane
	 * with a smaller number has reserved. */
	uint32_t lane;     /* SCHED_NO_LANE: it must not run */
	uint32_t want_sms; /* SMs to reserve for it */
};

struct sched_view {
	uint64_t now_ns;
	uint32_t n_sms;
	bool simultaneous; /* tenants may run side by side; if not, one tenant owns all lanes */
	bool spatial;      /* a lane may leave SMs to the next lane */
	bool within_srt;   /* launches of one tenant compete by remaining time, too */
	/* the policy may sort this; each lane is SCHED_NO_LANE before the call */
	struct sched_kernel **at;
	size_t len;
	/* Answer: tenants with a lower priority than this start nothing. Their new launches
	 * begin with no SM and their opaque work waits. INT_MIN: no tenant is held. */
	int hold_below;
};

struct sched_planner;
struct sched_policy {
	const char *name;
	/* All kernels use one division of L1 and shared memory, so quotas hold in any order of
	 * launches. */
	bool one_split;
	/* weights entitle tenants to shares of the device, which `heddle ps` shows */
	bool by_shares;
	/* A tenant alone on the device also reports its launches, and gets quotas. */
	bool steers_one;
	/* The policy answers in plans (heddle/policy.h) and weighs tenants itself: the tenant
	 * whose turn it is may be awaited at the cost of any other, and the engine's own turns
	 * (turns.c) are off. NULL: the policy answers in lanes. */
	struct sched_planner *planner;
	/* Checks options for create. 0, or -EINVAL: ret_why says what is wrong, without the name
	 * of the key. NULL: the policy ignores its options. */
	int (*check)(const char *options, char *ret_why, size_t size);
	void (*decide)(struct sched_view *v); /* answers in lanes */
};

extern const struct sched_policy sched_policy_none;
extern const struct sched_policy sched_policy_hpf;
extern const struct sched_policy sched_policy_ffs;
extern const struct sched_policy sched_policy_greedy;
extern const struct sched_policy sched_policy_profile;
extern const struct sched_policy sched_policy_fixed;
extern const struct sched_policy sched_policy_split;
const struct sched_policy *sched_policy_find(const char *name); /* NULL: no such */
/* 0, or -EINVAL: ret_why is "policy_options: " and a sentence. */
int sched_policy_check(
	const struct sched_policy *p, const char *options, char *ret_why, size_t size);

#endif
