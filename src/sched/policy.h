/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The engine's policies. The seam is heddle/policy.h: a policy sees kernels and tenants with their
 * figures, and answers with a plan (planner.h); policy_none.c is the template. Policy hpf answers
 * for each kernel in which lane it runs, as below; lanes.c picks the SMs. The engine asks after
 * every burst of events, and at the time that the policy asked for. */
#ifndef HEDDLE_SCHED_POLICY_H
#define HEDDLE_SCHED_POLICY_H

#include "model.h"

#define SCHED_NO_LANE UINT32_MAX
#define SCHED_NO_TURN UINT64_MAX

enum sched_kind {
	SCHED_MANAGED, /* a launch that can be steered */
	SCHED_OPAQUE,  /* a tenant's work that cannot: it takes the whole device while it lasts */
	SCHED_LINGER,  /* nothing now, but the tenant is expected back before it pays to go on */
};

struct sched_kernel {
	/* The question. */
	enum sched_kind kind;
	uint32_t tenant;
	uint64_t id;     /* of the launch in its tenant */
	uint64_t order;  /* of arrival: smaller came first */
	int priority;    /* the tenant's: larger goes first */
	uint32_t depth;  /* how far its stream ranks below the highest active one of its tenant */
	uint64_t turn;   /* of equals smaller goes first: turns.c; SCHED_NO_TURN: it has nothing to
			    do now, and everybody goes first */
	uint64_t kernel; /* hash of the code */
	uint64_t total, finished;
	uint32_t threads, workers_per_sm;
	uint32_t need_sms; /* as many as its unfinished blocks can use, and what was asked for more
			    */
	bool running;      /* has SMs now, */
	bool begun;        /* and a block of it has begun on them */
	uint64_t predicted_ns, waited_ns, remaining_ns; /* T_e, T_w, T_r, or SCHED_UNKNOWN */
	uint64_t cost_ns;                               /* of preempting it, once it has begun */
	/* The answer. Kernels of one lane share their SMs; a lane may use every SM that no lane of
	 * a smaller number has reserved. */
	uint32_t lane;     /* SCHED_NO_LANE: must not run */
	uint32_t want_sms; /* to be reserved for it */
};

struct sched_view {
	uint64_t now_ns;
	uint32_t n_sms;
	bool simultaneous; /* tenants may run side by side; else all lanes belong to one tenant */
	bool spatial;      /* a lane may leave SMs to the next one */
	bool within_srt;   /* launches of one tenant compete by remaining time too */
	struct sched_kernel **at; /* the policy may sort it; lane is SCHED_NO_LANE beforehand */
	size_t len;
	/* Answer: tenants of a priority below this one start nothing (new launches begin with no
	 * SMs, opaque ones wait). INT_MIN: nobody is held. */
	int hold_below;
};

struct sched_planner;
struct sched_policy {
	const char *name;
	bool one_split; /* of L1 and shared memory for all kernels: quotas hold in any order */
	bool by_shares; /* weights entitle tenants to shares of the device, as `heddle ps` shows */
	/* A tenant that is alone on the device reports its launches, too, and gets quotas. */
	bool steers_one;
	/* It answers in plans (heddle/policy.h) and weighs tenants as it likes: whoever has its
	 * turn may be waited for at the cost of any other, and equals need no turns of the engine's
	 * (turns.c). NULL: it answers in lanes. */
	struct sched_planner *planner;
	/* Whether create takes these options. 0 or -EINVAL: ret_why says what is wrong, without
	 * the name of the key. NULL: the policy ignores its options. */
	int (*check)(const char *options, char *ret_why, size_t size);
	void (*decide)(struct sched_view *v); /* in lanes */
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
