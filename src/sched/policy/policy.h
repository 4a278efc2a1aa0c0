/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The engine's policies. Most use the interface of heddle/policy.h: a policy sees kernels and
 * tenants with their times, and returns a plan (planner.h); policy_none.c is the template. Policy
 * hpf instead assigns a lane to each kernel, as defined below; lanes.c picks the SMs. A lane is a
 * set of kernels that share SMs. The engine asks the policy after every burst of events, and at the
 * time that the policy requested. */
#ifndef HEDDLE_SCHED_POLICY_H
#define HEDDLE_SCHED_POLICY_H

#include "heddle/policy.h"
#include "sched/model/model.h"

#define SCHED_NO_LANE UINT32_MAX
#define SCHED_NO_TURN UINT64_MAX

enum sched_kind {
	SCHED_MANAGED, /* a launch that obeys quotas */
	/* unmanaged work of a tenant: it obeys no quotas and takes the whole device while it
	 * lasts */
	SCHED_OPAQUE,
	SCHED_LINGER, /* the tenant has no work now, but will soon; a switch would take longer */
};

struct sched_kernel {
	/* The question. */
	enum sched_kind kind;
	uint32_t tenant;
	uint64_t id;    /* number of the launch within its tenant */
	uint64_t order; /* of arrival: the earlier launch has the smaller number */
	int priority;   /* the tenant's; the larger goes first */
	/* how many levels its stream's priority is below the highest stream priority of all arrived
	 * launches of its tenant */
	uint32_t depth;
	/* Queue position among tenants of the same priority; the smaller one goes first (turns.c).
	 * SCHED_NO_TURN: the kernel has nothing to do now, and goes last. */
	uint64_t turn;
	uint64_t kernel; /* hash of the code */
	uint64_t total, finished;
	uint32_t threads, workers_per_sm;
	uint32_t need_sms; /* SMs that its unfinished blocks can use, and extra_sms */
	bool running;      /* it has SMs now, */
	bool begun;        /* and a block of it has begun on them */
	/* Waits (waits.c). overdue: not 0 if it has waited too long behind equals; the smaller value
	 * goes first. attained_ns: how long it has had SMs. If it has no SM, it gets one only after
	 * it could have had one for pause_ns; free_ns: since when it could (0: it could not). */
	uint64_t overdue, attained_ns, pause_ns, free_ns;
	uint64_t predicted_ns, waited_ns, remaining_ns; /* T_e, T_w, T_r, or SCHED_UNKNOWN */
	uint64_t cost_ns;                               /* of preempting it after it has begun */
	/* The policy's output. Kernels of one lane share their SMs. A lane may use every SM that no
	 * lane with a smaller number has reserved. */
	uint32_t lane;     /* SCHED_NO_LANE: it must not run */
	bool withheld;     /* it must not run yet, because of pause_ns; its lane keeps its SMs */
	uint32_t want_sms; /* SMs to reserve for it */
};

struct sched_view {
	uint64_t now_ns;
	uint32_t n_sms;
	bool simultaneous; /* tenants may run side by side; if not, one tenant has all lanes */
	bool spatial;      /* a lane may leave SMs to the next lane */
	bool within_srt;   /* launches of one tenant compete by remaining time, too */
	/* The kernels. The policy may sort this array. Each kernel's lane is SCHED_NO_LANE before
	 * the call. */
	struct sched_kernel **at;
	size_t len;
	/* The policy's output: tenants whose priority is lower than hold_below are held. New
	 * launches of a held tenant begin with no SM, and its unmanaged work waits. INT_MIN: no
	 * tenant is held. */
	int hold_below;
};

/* A policy and its callbacks. struct sched_policy points to this structure, and all engines of a
 * process may share it. */
struct sched_planner {
	const struct heddle_policy *policy;
	const char *options; /* the policy's options; NULL: those of struct sched_options */
	/* Each callback may be NULL. `enter` and `leave` are called before and after each call of
	 * the policy, for a watchdog. `call` is "create", "decide" or "destroy". */
	void (*enter)(void *user, const char *call);
	void (*leave)(void *user);
	/* Reports a fault in the policy's plans, as a sentence without the policy's name. Called
	 * once for each kind of fault. */
	void (*say)(void *user, const char *what);
	void *user;
	uint32_t said; /* kinds already reported, as bits; initially 0 */
};

struct sched_policy {
	const char *name;
	/* True if all managed kernels must ask an SM for the same division of its memory into L1
	 * and shared memory. Then quotas can be met, whichever launch comes first. */
	bool one_split;
	/* True if a tenant's weight entitles it to a share of the device. `heddle ps` then shows
	 * the share. */
	bool by_shares;
	/* True if a tenant that is alone on the device also reports its launches and gets
	 * quotas. */
	bool steers_one;
	/* Set if the policy answers in plans (heddle/policy.h). Such a policy decides by itself
	 * which tenant comes first. So the engine does not assign time slices (turns.c), and may
	 * wait for a tenant's next work whichever tenants have to wait meanwhile. NULL: the policy
	 * answers in lanes (sets of kernels that share SMs). */
	struct sched_planner *planner;
	/* Checks the options for `create`. Returns 0, or -EINVAL; then ret_why says what is wrong,
	 * without the name of the configuration key. NULL: options are not checked. A built-in
	 * policy without `check` ignores its options; a policy from a file gets them in
	 * `create`. */
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
/* Returns 0, or -EINVAL; then ret_why is "policy_options: " and a sentence. */
int sched_policy_check(
	const struct sched_policy *p, const char *options, char *ret_why, size_t size);

#endif
