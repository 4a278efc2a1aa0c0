/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The seam between the engine and its policies. A policy sees kernels and tenants with their
 * figures, and answers for each kernel in which lane it runs; it knows no processes and no device.
 * The engine asks after every burst of events, and at the time that the policy asked for; it picks
 * the SMs, and tells the difference to what holds now. policy_none.c is the template. */
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
	uint64_t id;    /* of the launch in its tenant */
	uint64_t order; /* of arrival: smaller came first */
	int priority;   /* the tenant's: larger goes first */
	uint32_t depth; /* how far its stream ranks below the highest active one of its tenant */
	uint64_t turn;  /* of equals smaller goes first: turns.c; SCHED_NO_TURN: it has nothing to
			   do now, and everybody goes first */
	uint32_t weight;
	uint64_t kernel; /* hash of the code */
	uint64_t total, finished;
	uint32_t threads, workers_per_sm;
	uint32_t need_sms; /* as many as its unfinished blocks can use, and what was asked for more
			    */
	bool running;      /* has SMs now */
	uint64_t predicted_ns, waited_ns, remaining_ns; /* T_e, T_w, T_r, or SCHED_UNKNOWN */
	uint64_t cost_ns;                               /* of preempting it */
	/* The answer. Kernels of one lane share their SMs; a lane may use every SM that no lane of
	 * a smaller number has reserved. */
	uint32_t lane;     /* SCHED_NO_LANE: must not run */
	uint32_t want_sms; /* to be reserved for it */
};

/* A tenant, and what it has had of the device. */
struct sched_share {
	/* The question. */
	uint32_t tenant, weight;
	int priority;
	/* Time that it has had the device, work of its being there; while somebody is on the way
	 * out, that one alone has it. Never falls. */
	uint64_t service_ns;
	/* The answer: it starts nothing, as with hold_below. False beforehand. */
	bool held;
};

struct sched_view {
	uint64_t now_ns;
	uint32_t n_sms;
	bool simultaneous; /* tenants may run side by side; else all lanes belong to one tenant */
	bool spatial;      /* a lane may leave SMs to the next one */
	bool within_srt;   /* launches of one tenant compete by remaining time too */
	struct sched_kernel **at; /* the policy may sort it; lane is SCHED_NO_LANE beforehand */
	size_t len;
	struct sched_share **tenants; /* all of them, in no order */
	size_t n_tenants;
	uint32_t overhead_permille; /* what switching may cost of the device's time */
	uint64_t
		change_ns; /* what a change from one launch to another takes, as seen; 0: not yet */
	/* Answer: when to ask again though nothing happens; SCHED_UNKNOWN, as it is beforehand: not
	 * at all. */
	uint64_t wake_ns;
	/* Answer: tenants of a priority below this one start nothing (new launches begin with no
	 * SMs, opaque ones wait). INT_MIN: nobody is held. */
	int hold_below;
};

struct sched_foreign;
struct sched_policy {
	const char *name;
	/* A policy of other people's, which is asked instead of the functions below; by_shares is
	 * true. NULL: one of the engine's own. */
	struct sched_foreign *foreign;
	/* Shares of time, not priorities, decide among tenants: whoever has its turn may be waited
	 * for at the cost of any other, and equals need no turns of the engine's (turns.c). */
	bool by_shares;
	/* What it keeps from one decision to the next; both NULL: nothing. A new one starts from
	 * the view. NULL from create: out of memory. */
	void *(*create)(void);
	void (*destroy)(void *state);
	void (*decide)(void *state, struct sched_view *v);
};

extern const struct sched_policy sched_policy_none;
extern const struct sched_policy sched_policy_hpf;
extern const struct sched_policy sched_policy_ffs;
const struct sched_policy *sched_policy_find(const char *name); /* NULL: no such */

#endif
