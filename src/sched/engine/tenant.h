/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A tenant as the engine keeps it. The comment of each group of fields names the file that works
 * with them; only events (engine.c) write to groups of other files. */
#ifndef HEDDLE_SCHED_TENANT_H
#define HEDDLE_SCHED_TENANT_H

#include "launch.h"
#include "tenant_state.h"

/* launches.c. Of the submitted launches only the oldest takes part in decisions, and only while no
 * launch has arrived. So a decision costs the same, however many launches are submitted. */
struct tenant_launches {
	struct sched_launches arrived, submitted, native;
	struct sched_launch *head;                   /* the launch in LAUNCH_NEXT, or NULL */
	uint32_t n;                                  /* of all lists */
	uint32_t n_submitted_of[SCHED_STREAM_RANKS]; /* by stream priority */
	uint32_t n_there, n_leave; /* launches in LAUNCH_HAS_SMS or NATIVE; in LAUNCH_LEAVES */
	uint32_t n_unpredicted;    /* launches of both sets without a prediction */
	uint32_t n_coming;         /* launches of n_there with coming_ns */
	uint64_t coming_until_ns;  /* launches with coming_ns count as coming until this time */
	uint64_t began_ns;         /* when a block of one began last, as far as reported */
};

/* account.c */
struct tenant_account {
	uint64_t service_ns; /* sched_service */
	uint64_t sm_ns;      /* of launches that have ended */
	uint64_t work_ns;    /* struct heddle_policy_tenant */
};

/* pauses.c: the pauses between the tenant's work. */
struct tenant_pauses {
	uint64_t idle_since_ns, busy_since_ns; /* when its state last changed so */
	uint64_t burst_ns;                     /* start of the present burst of opaque work */
	bool continues;    /* its opaque work has ended, and the program did not wait for that */
	uint64_t mean_ns;  /* moving mean of the pauses */
	uint32_t n;        /* pauses so far, at most 1000 */
	uint64_t until_ns; /* until when decisions last awaited its next work */
	/* sched_copied; confidence that a copy follows right after its work */
	uint64_t copied_ns, last_copy_ns;
	uint32_t copies;
};

/* begin.c: how new launches begin. */
struct tenant_begin {
	/* true if a submitted launch did not arrive in time, and none has arrived since */
	bool late;
	int64_t submitted_priority; /* highest one of submitted launches; -1: there are none */
	struct quota now, next;     /* the quotas that new launches begin with */
	/* In this decision: the tenant's oldest launch that gets an SM, and its quotas. */
	const struct sched_launch *best;
	struct quota best_quota;
};

struct sched_tenant {
	struct sched_tenant *prev, *next; /* in sched.tenants */
	struct sched_level *level;        /* of its priority */
	void *user;
	uint32_t id, weight;
	int priority;
	uint32_t index;                       /* planner.c: in the view */
	enum tenant_state state;              /* changed only by tenant_to */
	enum tenant_opaque opaque_state;      /* changed only by tenant_opaque_to */
	struct sched_kernel opaque, expected; /* its entries of the view in these states */
	bool held, next_held; /* it may start nothing, whatever its priority: now, next */
	bool pinned;          /* heddled takes nothing from its launches, */
	bool kept;            /* nor from launches that begin now */
	/* Under MPS %smid does not identify an SM (seen on an H200). When a program starts work,
	 * its SMs are numbered from 0, TPC by TPC. The numbers stay valid until the program has no
	 * work left. They are physical numbers only if the device was empty. This flag marks a
	 * program that started beside others: its sets of SMs only say how many SMs it has. */
	bool renumbered;
	struct tenant_launches launches;
	struct tenant_account account;
	struct tenant_pauses pauses;
	struct tenant_begin begin;
	struct sched_own own;
};

#endif
