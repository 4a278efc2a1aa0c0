/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A launch as the engine keeps it. */
#ifndef HEDDLE_SCHED_LAUNCH_H
#define HEDDLE_SCHED_LAUNCH_H

#include "guard.h"
#include "heddle/policy.h"
#include "launch_state.h"
#include "quota.h"
#include "sched/model/model.h"

#include <stddef.h>

struct sched_tenant;

#define SCHED_STREAM_RANKS 16

/* A spell is the period since the model last learned from a launch. */
struct sched_spell {
	uint64_t sm_ns;          /* sum over its SMs of the time on them */
	uint64_t finished;       /* blocks that had finished before the spell */
	uint32_t n_sms, workers; /* its last SMs, and the workers that fit on them; 0: none yet */
};

/* The other work that has SMs while a launch has some, for the model of pairs. */
struct sched_beside {
	uint64_t kernel;      /* code of the only other launch; count 0: there is none */
	uint32_t count, most; /* its blocks on an SM: now, and at most */
	uint32_t own_count;   /* blocks of the launch itself on an SM */
	bool several;         /* there are several launches, or unmanaged work */
};

/* Work that competes for the device: a launch, or one entry for all opaque or all expected work of
 * a tenant. */
struct sched_kernel {
	enum heddle_policy_kind kind;
	uint32_t tenant;
	uint64_t id;    /* number of the launch within its tenant */
	uint64_t order; /* of arrival: the earlier launch has the smaller number */
	/* how many levels its stream's priority is below the highest stream priority of all arrived
	 * launches of its tenant */
	uint32_t depth;
	uint64_t kernel; /* hash of the code */
	uint64_t total, finished;
	uint32_t threads, workers_per_sm;
	bool running;                                   /* it has SMs now, */
	bool begun;                                     /* and a block of it has begun on them */
	uint64_t predicted_ns, waited_ns, remaining_ns; /* T_e, T_w, T_r, or SCHED_UNKNOWN */
	uint64_t cost_ns;                               /* of preempting it after it has begun */
};

/* Memory of the policy for a launch or a tenant (struct heddle_policy_kernel). */
struct sched_own {
	_Alignas(max_align_t) unsigned char at[HEDDLE_POLICY_OWN];
};

struct sched_launch {
	struct sched_kernel k;
	struct sched_launch *prev, *next; /* in the list of its state */
	struct sched_tenant *tenant;
	void *user;
	struct sched_shape shape; /* the launch as the model sees it */
	uint32_t regs, stream_priority, device_sms;
	enum launch_state state;                    /* changed only by sched_to */
	enum launch_state refused_from, refused_to; /* in LAUNCH_ASTRAY */
	/* Quotas that the launch obeys. In the states LAUNCH_HAS_SMS they are not all 0; a native
	 * launch has no bounds. In LAUNCH_NEXT the launch would begin with these quotas. In
	 * LAUNCH_QUEUED they are what they were in LAUNCH_NEXT, or all 0. */
	struct quota allowed, next_allowed;
	uint64_t submit_ns, since_ns; /* since: times are up to date to this point */
	uint64_t preempt_ns;          /* last PREEMPT or SHRINK that is not answered yet; else 0 */
	uint64_t ran_ns, grace_ns;
	uint64_t sm_ns;      /* SM time, over the SMs that it was allowed and could use */
	uint64_t work_ns;    /* its contribution to the tenant's work_ns */
	uint64_t coming_ns;  /* when it got SMs, if no block has begun on them yet; else 0 */
	uint64_t started;    /* blocks that have begun */
	uint64_t granted_ns; /* when it was last granted SMs, or arrived */
	struct sched_spell spell;
	struct sched_beside beside; /* in this spell; only if s->pairs is set */
	bool shared;                /* it has had company since it arrived; likewise */
	uint32_t preemptions;       /* and shrinks, so far */
	struct sched_guard guard;
	bool partial; /* it has waited, or had fewer workers than it could use, since it arrived */
	bool idle;    /* a pool of tasks without a task */
	struct sched_own own;
};

/* In the order of launch ids. */
struct sched_launches {
	struct sched_launch *first, *last;
};

#endif
