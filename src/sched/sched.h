/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The engine that decides who runs: events in, decisions out. It has no clock (every event brings
 * its time, which never falls), no I/O, no threads. Events only take note; sched_decide asks the
 * policy once for all that has happened, and sched_next hands out what is to be done. One engine a
 * device. Handles of launches and tenants die with sched_end and sched_leave. */
#ifndef HEDDLE_SCHED_H
#define HEDDLE_SCHED_H

#include "ctl/control.h"
#include "launch_state.h"
#include "model.h"
#include "policy.h"

struct sched;
struct sched_tenant;
struct sched_launch;

#define SCHED_POLICY_OPTIONS 1024u /* bytes, the NUL among them */

/* Zero means the default named. */
struct sched_options {
	uint32_t n_sms; /* 1 to CTL_MAX_SMS */
	/* 2048, 32, 65536, 228 KiB */
	uint32_t threads_per_sm, blocks_per_sm, regs_per_sm, shared_per_sm;
	bool simultaneous, spatial, within_srt; /* struct sched_view */
	bool renumbers;     /* programs number SMs by themselves: struct sched_tenant, renumbered */
	bool tells_started; /* sched_started is called: a launch that was granted SMs has the device
			       from when it begins blocks again */
	uint32_t extra_sms; /* given up beyond what a waiting kernel needs */
	uint64_t linger_max_ns;  /* longest wait for a tenant that is expected back: 1 ms */
	uint64_t grace_ns;       /* how long a submitted launch counts as about to arrive: 2 ms */
	uint64_t cost_ns;        /* of a preemption, while none has been seen: 100 us */
	uint64_t resume_ns;      /* what the way back adds to it: 20 us */
	uint32_t max_launches;   /* a tenant: 256 */
	uint64_t opaque_ns;      /* what taking the device from opaque work costs: 0 */
	uint64_t opaque_hold_ns; /* a burst of opaque work holds lower such work: UINT64_MAX */
	bool opaque_free;        /* it does not at all */
	uint64_t still_ns;       /* equals wait so long for one that gets nowhere (turns.c): 1 s */
	uint32_t overhead_permille; /* what switching by shares may cost (policy_ffs.c): 100 */
	/* What predicts, and learns: sched_model_means. Its state stays the caller's, and outlives
	 * the engine; NULL: the engine makes one. */
	const struct sched_model *model;
	void *model_state;
	/* Of a policy of the engine's own (sched_policy_check); copied. NULL: "". */
	const char *policy_options;
};

struct sched_launch_info {
	uint64_t id, kernel, total;
	bool unranked;   /* the guard form: it has one count of blocks on all its SMs, and leaves
			    and comes again for another one */
	uint32_t counts; /* which ones, beside as many as fit: bit n for n blocks; 0: it obeys 0
			    only, and any other quota is no bound */
	uint32_t threads, regs, shared_bytes; /* a block, a thread, a block */
	uint32_t workers_per_sm;              /* 0: from the resources above */
	uint32_t stream_priority;             /* 15 and all above it are the same */
	float input[SCHED_INPUTS];            /* struct sched_shape */
	void *user;
};

int sched_create(const struct sched_options *o, const struct sched_policy *p, struct sched **ret);
/* From here on; the device stays (its numbers, simultaneous, renumbers, max_launches),
 * and so does the model. */
void sched_reconfigure(struct sched *s, const struct sched_options *, const struct sched_policy *);
void sched_destroy(struct sched *s);

/* ---- events ---- */
int sched_join(struct sched *s, uint64_t now_ns, uint32_t tenant, int priority, uint32_t weight,
	void *user, struct sched_tenant **ret);
void sched_leave(struct sched *s, uint64_t now_ns, struct sched_tenant *t);
void sched_set_priority(struct sched *s, struct sched_tenant *t, int priority); /* next decision */
void sched_set_weight(struct sched *s, struct sched_tenant *t, uint32_t weight);
/* The program called; -EEXIST, -ENOSPC, -EINVAL (no blocks), -ENOMEM. Nothing is told of it before
 * it arrives: it begins with what its tenant was told last (SCHED_BEGIN). */
int sched_submit(struct sched *s, uint64_t now_ns, struct sched_tenant *t,
	const struct sched_launch_info *info, struct sched_launch **ret);
/* Its stream's turn. With what did it begin? */
enum sched_began {
	SCHED_BEGAN_FREE,    /* with every SM */
	SCHED_BEGAN_TOLD,    /* with what SCHED_BEGIN told last */
	SCHED_BEGAN_UNKNOWN, /* with what an earlier one told: it needs a word in any case */
};
void sched_arrive(struct sched *s, uint64_t now_ns, struct sched_launch *l, enum sched_began began);
void sched_progress(struct sched *s, struct sched_launch *l, uint64_t finished); /* no decision */
/* So many of its blocks have begun, finished ones among them. When the last one has, a policy of
 * other people's is asked, as it may have room for the next kernel. */
void sched_started(struct sched *s, uint64_t now_ns, struct sched_launch *l, uint64_t started);
/* All of it left: it was preempted, or is of the guard form and was given another count. */
void sched_drained(struct sched *s, uint64_t now_ns, struct sched_launch *l);
/* As many of its workers left as the last SHRINK took room from. A caller that cannot tell never
 * says so, or says absent: then the shrink teaches no cost. */
void sched_shrunk(struct sched *s, uint64_t now_ns, struct sched_launch *l);
/* A pool of tasks has none (everybody goes first, and it is not one that gets nowhere). */
void sched_idle(struct sched *s, uint64_t now_ns, struct sched_launch *l, bool idle);
/* Told to leave, or to shrink, but nobody was there who had to: none will be seen to leave. */
void sched_absent(struct sched *s, struct sched_launch *l);
/* Its last block ended then, and no time after that is its own. Ahead of sched_end. */
void sched_ended(struct sched_launch *l, uint64_t ended_ns);
/* Over, and the handle with it. completed: every block ran; ran_ns: as the device measured it, or
 * 0. A launch given up (completed false) teaches nothing. */
void sched_end(
	struct sched *s, uint64_t now_ns, struct sched_launch *l, bool completed, uint64_t ran_ns);
/* Opaque work of a tenant now in flight, or waiting to be let go. waited: the program has waited
 * for its end; otherwise more of it is on its way. */
void sched_opaque(
	struct sched *s, uint64_t now_ns, struct sched_tenant *t, bool active, bool waited);
/* When the tenant called for copies to or from the device: first since its last launch, last. */
void sched_copied(struct sched_tenant *t, uint64_t first_ns, uint64_t last_ns);
/* Nothing is taken from launches of a pinned tenant; what was taken before is not given back. */
void sched_pin(struct sched *s, struct sched_tenant *t, bool pinned);
/* Likewise, and what it starts begins as it began last. */
void sched_keep(struct sched *s, struct sched_tenant *t, bool kept);
/* A launch seen only after it was over: teaches its duration. */
void sched_learn(struct sched *s, const struct sched_launch_info *info, uint64_t ran_ns);

/* ---- decisions ---- */
/* In this order, so that what others wait for is told first. */
enum sched_action_type {
	SCHED_BEGIN,   /* what the tenant's launches begin with that arrive from now on */
	SCHED_PREEMPT, /* the launch gives up all SMs */
	SCHED_SHRINK,  /* some */
	SCHED_GRANT,   /* from none to some */
	SCHED_GROW,    /* gets more (and may lose some) */
	SCHED_NATIVE,  /* gets the whole device for good, since its state is not known */
	SCHED_HOLD,    /* the tenant starts nothing */
	SCHED_RELEASE,
};

struct sched_action {
	enum sched_action_type type;
	bool first; /* the first word on this launch */
	struct sched_tenant *tenant;
	struct sched_launch *launch; /* NULL for BEGIN, HOLD and RELEASE */
	uint32_t n_sms;              /* that the launch, or one that begins, may use now */
	uint32_t workers;            /* that may stay on these; of a launch only */
};

/* 0; -ENOMEM: nothing decided, ask again. Nor is anything while sched_next has more. */
int sched_decide(struct sched *s, uint64_t now_ns);
bool sched_next(struct sched *s, struct sched_action *ret);
/* When sched_decide must be called though nothing happens; UINT64_MAX: never. */
uint64_t sched_deadline(const struct sched *s);

/* ---- looking ---- */
void *sched_tenant_user(const struct sched_tenant *t);
/* Time that the tenant has had the device, work of its being there, as of the last event with a
 * time; while somebody is on the way out, that one alone has it. Never falls. */
uint64_t sched_service(const struct sched_tenant *t);
void *sched_launch_user(const struct sched_launch *l);
/* A byte an SM (quota.h). SMs that the device does not have: 0, unless all others are the same. */
void sched_quotas(
	const struct sched *s, const struct sched_launch *l, uint8_t ret_quota[CTL_MAX_SMS]);
/* What SCHED_BEGIN told. */
void sched_begin_quotas(
	const struct sched *s, const struct sched_tenant *t, uint8_t ret_quota[CTL_MAX_SMS]);

enum launch_state sched_state(const struct sched_launch *l);
/* Of a stray or native launch: the transition that made it so. */
void sched_refused(
	const struct sched_launch *l, enum launch_state *ret_from, enum launch_state *ret_to);
/* How many launches are in this state, of all tenants. */
uint32_t sched_count(const struct sched *s, enum launch_state state);
struct sched_info {
	enum launch_state state;
	uint32_t preemptions, n_sms;
	uint32_t workers; /* that may stay on these SMs */
	uint64_t predicted_ns, waited_ns, remaining_ns, ran_ns, cost_ns, finished;
};
void sched_launch_state(
	struct sched *s, uint64_t now_ns, const struct sched_launch *l, struct sched_info *ret);

/* How long the launch may still take that will be through first, of those that run or come next;
 * SCHED_UNKNOWN: nobody can tell. */
uint64_t sched_soonest(const struct sched *s, uint64_t now_ns);

struct sched_stats {
	uint64_t decisions, grants, preemptions, shrinks, holds, lingers, late, natives;
	uint32_t tenants, launches;
};
void sched_stats(const struct sched *s, struct sched_stats *ret);
/* Somebody is held, drains or waits while another runs: pages must be watched closely. */
bool sched_contended(const struct sched *s);

#endif
