/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A launch, as the engine stores it. */
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
	uint64_t sm_ns;    /* SM time of the spell, summed over its SMs */
	uint64_t finished; /* number of blocks that had finished before the spell */
	/* its current SMs, and how many of its workers fit on them; 0: none yet */
	uint32_t n_sms, workers;
};

/* The other work that has SMs while a launch has some, for the model of pairs. */
struct sched_beside {
	/* code of the other launch, if there is only one; count 0: no other launch */
	uint64_t kernel;
	uint32_t count, most; /* blocks of the other launch on an SM: current and maximum number */
	uint32_t own_count;   /* blocks of this launch on an SM */
	bool several;         /* there are several other launches, or unmanaged work */
};

/* Work that competes for the device: a launch, or one entry for all opaque or all expected work of
 * a tenant. */
struct sched_kernel {
	enum heddle_policy_kind kind;
	uint32_t tenant;
	uint64_t id;    /* number of the launch within its tenant */
	uint64_t order; /* rank by arrival: an earlier launch has a smaller number */
	/* how many levels its stream's priority is below the highest stream priority of all arrived
	 * launches of its tenant */
	uint32_t depth;
	uint64_t kernel; /* hash of the code */
	uint64_t total, finished;
	uint32_t threads, workers_per_sm;
	bool running; /* it has SMs now */
	/* one of its blocks has begun on the SMs that it has now */
	bool begun;
	/* T_e, T_w, T_r of the paper, or SCHED_UNKNOWN */
	uint64_t predicted_ns, waited_ns, remaining_ns;
	uint64_t cost_ns; /* time to preempt it after it has begun */
};

/* Memory of the policy for a launch or a tenant (struct heddle_policy_kernel). */
struct sched_own {
	_Alignas(max_align_t) unsigned char at[HEDDLE_POLICY_OWN];
};

struct sched_launch {
	struct sched_kernel k;
	struct sched_launch *prev, *next; /* links in the list of its state */
	struct sched_tenant *tenant;
	void *user;
	struct sched_shape shape; /* the launch as the model of durations sees it */
	uint32_t regs, stream_priority, device_sms;
	enum launch_state state;                    /* only sched_to changes it */
	enum launch_state refused_from, refused_to; /* valid in LAUNCH_ASTRAY */
	/* Quotas that the launch obeys. In the states LAUNCH_HAS_SMS they are not all 0; a native
	 * launch has no bounds. In LAUNCH_NEXT the launch would begin with these quotas. In
	 * LAUNCH_QUEUED they are what they were in LAUNCH_NEXT, or all 0. */
	struct quota allowed, next_allowed;
	/* since_ns: waited, ran and remaining times are up to date to this time */
	uint64_t submit_ns, since_ns;
	/* time of the last PREEMPT or SHRINK that has no answer yet; else 0 */
	uint64_t preempt_ns;
	uint64_t ran_ns, grace_ns;
	/* SM time, counting the SMs that it was allowed to use and could use */
	uint64_t sm_ns;
	uint64_t work_ns; /* the part of the tenant's work_ns that comes from this launch */
	/* when it got SMs, if none of its blocks has begun on them yet; else 0 */
	uint64_t coming_ns;
	uint64_t started;    /* number of blocks that have begun */
	uint64_t granted_ns; /* when it was last granted SMs; before that, when it arrived */
	struct sched_spell spell;
	struct sched_beside beside; /* what runs beside it in this spell; only if s->pairs is set */
	/* another launch has run beside it since it arrived; only if s->pairs is set */
	bool shared;
	uint32_t preemptions; /* number of preemptions and shrinks */
	struct sched_guard guard;
	bool partial; /* it has waited, or had fewer workers than it could use, since it arrived */
	bool idle;    /* it is a task pool that has no task now */
	struct sched_own own;
};

/* A list in the order of launch ids. */
struct sched_launches {
	struct sched_launch *first, *last;
};

#endif
