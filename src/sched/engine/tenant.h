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
	struct sched_launch *head;                   /* the launch in state LAUNCH_NEXT, or NULL */
	uint32_t n;                                  /* number of launches in all lists */
	uint32_t n_submitted_of[SCHED_STREAM_RANKS]; /* index: stream priority */
	/* number of launches in LAUNCH_HAS_SMS or NATIVE; in LAUNCH_LEAVES */
	uint32_t n_there, n_leave;
	/* launches counted in n_there or n_leave that have no prediction */
	uint32_t n_unpredicted;
	uint32_t n_coming;        /* launches counted in n_there whose coming_ns is not 0 */
	uint64_t coming_until_ns; /* until this time, launches with a coming_ns count as coming */
	/* when a block of one of the launches last began, as far as reported */
	uint64_t began_ns;
};

/* Kept by account.c. */
struct tenant_account {
	uint64_t service_ns; /* result of sched_service */
	uint64_t sm_ns;      /* SM time of launches that have ended */
	uint64_t work_ns;    /* see struct heddle_policy_tenant */
};

/* The pauses between the tenant's work (pauses.c). */
struct tenant_pauses {
	/* when the tenant last became idle; when it last became busy */
	uint64_t idle_since_ns, busy_since_ns;
	uint64_t burst_ns; /* start of the current burst of opaque work */
	bool continues;    /* its opaque work has ended, and the program did not wait for that */
	uint64_t mean_ns;  /* moving mean of the length of its pauses */
	uint32_t n;        /* number of pauses so far, at most 1000 */
	uint64_t until_ns; /* the end of the last wait for its next work, as a decision set it */
	/* sched_copied; confidence that a copy follows right after its work */
	uint64_t copied_ns, last_copy_ns;
	uint32_t copies;
};

/* How the tenant's new launches begin (begin.c). */
struct tenant_begin {
	/* true if a submitted launch did not arrive in time, and none has arrived since */
	bool late;
	/* highest priority of a submitted launch; -1: no launch is submitted */
	int64_t submitted_priority;
	/* quotas with which new launches begin: now, and after this decision */
	struct quota now, next;
	/* In this decision: the tenant's oldest launch that gets an SM, and its quotas. */
	const struct sched_launch *best;
	struct quota best_quota;
};

struct sched_tenant {
	struct sched_tenant *prev, *next; /* links in the list sched.tenants */
	struct sched_level *level;        /* level of its priority */
	void *user;
	uint32_t id, weight;
	int priority;
	uint32_t index;                  /* planner.c: index in the view */
	enum tenant_state state;         /* only tenant_to changes it */
	enum tenant_opaque opaque_state; /* only tenant_opaque_to changes it */
	/* the tenant's entries in the view for opaque and for expected work */
	struct sched_kernel opaque, expected;
	/* now, and after this decision: it may start no work, whatever its priority */
	bool held, next_held;
	bool pinned; /* heddled takes no SMs from its current launches */
	bool kept;   /* heddled takes no SMs from its new launches either */
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
