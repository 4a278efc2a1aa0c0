/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The scheduling engine: events in, decisions out. The engine has no clock (each event brings
 * its time, which never falls), no I/O and no threads. Events only update its state.
 * sched_decide asks the policy once for all events since the last decision, and sched_next
 * returns the actions one by one. There is one engine for each device. sched_end and sched_leave
 * invalidate handles of launches and tenants. doc/protocol.md defines word, relay, round and
 * drain. */
#ifndef HEDDLE_SCHED_H
#define HEDDLE_SCHED_H

#include "ctl/control.h"
#include "launch_state.h"
#include "model.h"
#include "policy.h"

struct sched;
struct sched_tenant;
struct sched_launch;

#define SCHED_POLICY_OPTIONS 1024u /* bytes, including the NUL */

/* Zero means the default. Each field names it. */
struct sched_options {
	uint32_t n_sms; /* 1 to CTL_MAX_SMS */
	/* defaults: 2048, 32, 65536, 228 KiB */
	uint32_t threads_per_sm, blocks_per_sm, regs_per_sm, shared_per_sm;
	bool simultaneous, spatial, within_srt; /* see struct sched_view */
	/* each program numbers its SMs itself (struct sched_tenant, renumbered) */
	bool renumbers;
	/* The caller calls sched_started. Then a launch that was granted SMs is charged for the
	 * device only from its next block on. */
	bool tells_started;
	uint32_t extra_sms; /* SMs given up beyond those that a waiting kernel needs */
	/* longest wait for a tenant that is expected back (default: 1 ms) */
	uint64_t linger_max_ns;
	/* how long a submitted launch counts as about to arrive (default: 2 ms) */
	uint64_t grace_ns;
	uint64_t cost_ns;      /* cost of a preemption if none was measured (default: 100 us) */
	uint64_t resume_ns;    /* added to that cost for the return (default: 20 us) */
	uint32_t max_launches; /* of a tenant (default: 256) */
	uint64_t opaque_ns;    /* cost of taking the device from opaque work (default: 0) */
	/* how long a burst of opaque work holds opaque work of lower priority (default:
	 * UINT64_MAX) */
	uint64_t opaque_hold_ns;
	bool opaque_free; /* opaque work never holds other opaque work */
	/* how long equals wait for a stalled tenant (turns.c; default: 1 s) */
	uint64_t still_ns;
	/* part of the time that ffs may spend on switching (policy_ffs.c; default: 100) */
	uint32_t overhead_permille;
	/* The model that predicts durations and learns them (default: sched_model_means). The
	 * caller owns its state, which must outlive the engine. NULL: the engine creates one. */
	const struct sched_model *model;
	void *model_state;
	/* Options of one of the engine's own policies (sched_policy_check). The engine copies
	 * them. NULL: "". */
	const char *policy_options;
};

struct sched_launch_info {
	uint64_t id, kernel, total;
	/* The guard form: the launch has the same count of blocks on all its SMs, and drains and
	 * is launched again for another count. */
	bool unranked;
	/* The possible counts besides the greatest: bit n for n blocks. 0: only quota 0 is a
	 * bound. */
	uint32_t counts;
	uint32_t threads, regs, shared_bytes; /* of a block, a thread, a block */
	uint32_t workers_per_sm;              /* 0: computed from the resources above */
	uint32_t stream_priority;             /* all values from 15 on are equal */
	float input[SCHED_INPUTS];            /* see struct sched_shape */
	void *user;
};

int sched_create(const struct sched_options *o, const struct sched_policy *p, struct sched **ret);
/* Changes options and policy from now on. The properties of the device stay (its limits,
 * simultaneous, renumbers, max_launches), and so does the model. */
void sched_reconfigure(struct sched *s, const struct sched_options *, const struct sched_policy *);
void sched_destroy(struct sched *s);

/* ---- events ---- */
int sched_join(struct sched *s, uint64_t now_ns, uint32_t tenant, int priority, uint32_t weight,
	void *user, struct sched_tenant **ret);
void sched_leave(struct sched *s, uint64_t now_ns, struct sched_tenant *t);
/* takes effect at the next decision */
void sched_set_priority(struct sched *s, struct sched_tenant *t, int priority);
void sched_set_weight(struct sched *s, struct sched_tenant *t, uint32_t weight);
/* The program has submitted a launch. -EEXIST, -ENOSPC, -EINVAL (no blocks), -ENOMEM. The launch
 * gets no word before it arrives: it begins with the quotas of the last SCHED_BEGIN. */
int sched_submit(struct sched *s, uint64_t now_ns, struct sched_tenant *t,
	const struct sched_launch_info *info, struct sched_launch **ret);
/* The launch begins, and with which quotas. */
enum sched_began {
	SCHED_BEGAN_FREE, /* without a bound */
	SCHED_BEGAN_TOLD, /* those of the last SCHED_BEGIN */
	/* those of an earlier SCHED_BEGIN: the launch needs a word in any case */
	SCHED_BEGAN_UNKNOWN,
};
void sched_arrive(struct sched *s, uint64_t now_ns, struct sched_launch *l, enum sched_began began);
/* requests no decision */
void sched_progress(struct sched *s, struct sched_launch *l, uint64_t finished);
/* Reports the number of blocks that have begun, including finished ones. When the last block has
 * begun, a policy that answers in plans is asked, because it may have room for another kernel. */
void sched_started(struct sched *s, uint64_t now_ns, struct sched_launch *l, uint64_t started);
/* The launch has left: it was preempted, or it has the guard form and its count changed. */
void sched_drained(struct sched *s, uint64_t now_ns, struct sched_launch *l);
/* As many workers have left as the last SHRINK requires. A caller that cannot see this never
 * calls it, or calls sched_absent; the shrink then teaches no cost. */
void sched_shrunk(struct sched *s, uint64_t now_ns, struct sched_launch *l);
/* A pool of tasks has no task. It then goes last, and is never stalled. */
void sched_idle(struct sched *s, uint64_t now_ns, struct sched_launch *l, bool idle);
/* The launch was preempted or shrunk while none of its affected workers was on the device. The
 * caller will see none leave. */
void sched_absent(struct sched *s, struct sched_launch *l);
/* The last block of the launch has ended. The launch is charged for no later time. Call this
 * before sched_end. */
void sched_ended(struct sched_launch *l, uint64_t ended_ns);
/* Ends the launch and invalidates its handle. completed: every block ran. ran_ns: duration by
 * the device's clock, or 0. A launch that was abandoned (completed false) teaches nothing. */
void sched_end(
	struct sched *s, uint64_t now_ns, struct sched_launch *l, bool completed, uint64_t ran_ns);
/* Opaque work of a tenant is in flight, or waits for its hold to end. waited: the program waited
 * for the end of this work; if not, more work is on its way. */
void sched_opaque(
	struct sched *s, uint64_t now_ns, struct sched_tenant *t, bool active, bool waited);
/* The times of the tenant's first copy since its last launch, and of its last copy. */
void sched_copied(struct sched_tenant *t, uint64_t first_ns, uint64_t last_ns);
/* Takes nothing from the launches of a pinned tenant. SMs taken before are not given back. */
void sched_pin(struct sched *s, struct sched_tenant *t, bool pinned);
/* The same. In addition, new launches begin with the quotas of the last ones. */
void sched_keep(struct sched *s, struct sched_tenant *t, bool kept);
/* A launch that was noticed only after its end: teaches its duration. */
void sched_learn(struct sched *s, const struct sched_launch_info *info, uint64_t ran_ns);

/* ---- decisions ---- */
/* Actions are in this order, so that the SMs that others wait for are freed first. */
enum sched_action_type {
	SCHED_BEGIN,   /* the quotas of launches of the tenant that arrive from now on */
	SCHED_PREEMPT, /* the launch gives up all SMs */
	SCHED_SHRINK,  /* it gives up some SMs or blocks */
	SCHED_GRANT,   /* from none to some */
	SCHED_GROW,    /* it gets more on some SM (and may lose some) */
	SCHED_NATIVE,  /* it gets the whole device for good, because its state is not known */
	SCHED_HOLD,    /* the tenant may start nothing */
	SCHED_RELEASE,
};

struct sched_action {
	enum sched_action_type type;
	bool first; /* the first word for this launch */
	struct sched_tenant *tenant;
	struct sched_launch *launch; /* NULL for BEGIN, HOLD and RELEASE */
	uint32_t n_sms;              /* SMs that the launch, or a new launch, may use now */
	uint32_t workers;            /* workers that may stay on them; only for a launch */
};

/* 0; -ENOMEM: nothing was decided, call again. Does nothing while sched_next has actions left. */
int sched_decide(struct sched *s, uint64_t now_ns);
bool sched_next(struct sched *s, struct sched_action *ret);
/* When to call sched_decide although nothing happens; UINT64_MAX: never. */
uint64_t sched_deadline(const struct sched *s);

/* ---- queries ---- */
void *sched_tenant_user(const struct sched_tenant *t);
/* Time during which work of the tenant was on the device, as of the last event with a time.
 * While a preempted launch is leaving, only its tenant is charged. Never falls. */
uint64_t sched_service(const struct sched_tenant *t);
void *sched_launch_user(const struct sched_launch *l);
/* One byte for each SM (quota.h). Bytes of SMs that the device does not have are 0, or equal to
 * the others if those are all equal. */
void sched_quotas(
	const struct sched *s, const struct sched_launch *l, uint8_t ret_quota[CTL_MAX_SMS]);
/* The quotas of the last SCHED_BEGIN. */
void sched_begin_quotas(
	const struct sched *s, const struct sched_tenant *t, uint8_t ret_quota[CTL_MAX_SMS]);

enum launch_state sched_state(const struct sched_launch *l);
/* For a stray or native launch: the illegal transition. */
void sched_refused(
	const struct sched_launch *l, enum launch_state *ret_from, enum launch_state *ret_to);
/* How many launches of all tenants are in this state. */
uint32_t sched_count(const struct sched *s, enum launch_state state);
struct sched_info {
	enum launch_state state;
	uint32_t preemptions, n_sms;
	uint32_t workers; /* workers that may stay on these SMs */
	uint64_t predicted_ns, waited_ns, remaining_ns, ran_ns, cost_ns, finished;
};
void sched_launch_state(
	struct sched *s, uint64_t now_ns, const struct sched_launch *l, struct sched_info *ret);

/* Remaining time of the launch that ends first, among launches that run or come next;
 * SCHED_UNKNOWN: not known. */
uint64_t sched_soonest(const struct sched *s, uint64_t now_ns);

struct sched_stats {
	uint64_t decisions, grants, preemptions, shrinks, holds, lingers, late, natives;
	uint32_t tenants, launches;
};
void sched_stats(const struct sched *s, struct sched_stats *ret);
/* True if a tenant is held, or a launch drains or waits while another runs: pages must be
 * watched closely. */
bool sched_contended(const struct sched *s);

#endif
