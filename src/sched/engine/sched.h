/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The scheduling engine: it gets events and returns decisions. There is one engine for each device.
 * The engine has no clock, no I/O and no threads: events that need the time have it as a parameter,
 * and the time never falls. Events only update the engine's state. sched_decide asks the policy
 * once for all events since the last decision, and sched_next returns the actions one by one.
 * sched_end and sched_leave invalidate handles of launches and tenants. doc/protocol.md defines
 * word, relay, round and drain. */
#ifndef HEDDLE_SCHED_H
#define HEDDLE_SCHED_H

#include "ctl/control.h"
#include "launch_state.h"
#include "sched/model/model.h"
#include "sched/policy/policy.h"

struct sched;
struct sched_journal;
struct sched_tenant;
struct sched_launch;

#define SCHED_POLICY_OPTIONS 1024u /* bytes, including the NUL */

/* In each field, 0 selects the default. */
struct sched_options {
	uint32_t n_sms; /* 1 to CTL_MAX_SMS */
	/* defaults: 2048, 32, 65536 and 228 KiB */
	uint32_t threads_per_sm, blocks_per_sm, regs_per_sm, shared_per_sm;
	bool simultaneous, spatial, within_srt; /* see struct heddle_policy_device */
	/* true if each program has its own numbers for SMs (tenant.h: renumbered) */
	bool renumbers;
	/* True if the caller calls sched_started. Then a tenant whose launch was granted SMs is
	 * charged for the device only from the launch's next block on, or after
	 * SCHED_CHANGE_MAX_NS. */
	bool tells_started;
	/* number of SMs taken in addition to those that a waiting kernel needs */
	uint32_t extra_sms;
	/* maximum time for which the device waits for a tenant whose next work is expected
	 * (default: 1 ms) */
	uint64_t linger_max_ns;
	/* how long the engine waits for a submitted launch that has SMs to arrive, before the
	 * tenant counts as late (default: 2 ms) */
	uint64_t grace_ns;
	/* cost of a preemption while none has been measured (default: 100 us) */
	uint64_t cost_ns;
	uint64_t resume_ns;    /* cost of resuming the launch, added to cost_ns (default: 20 us) */
	uint32_t max_launches; /* maximum number of launches of one tenant (default: 256) */
	uint64_t opaque_ns;    /* cost of taking the device from opaque work (default: 0) */
	/* how long a burst of opaque (unmanaged) work holds opaque work of lower priority (default:
	 * UINT64_MAX) */
	uint64_t opaque_hold_ns;
	bool opaque_free; /* if true, opaque work never holds other opaque work */
	/* how long tenants of the same priority wait for a tenant without progress (turns.c;
	 * default: 1 s) */
	uint64_t still_ns;
	/* maximum part of the time that policy ffs spends on switching, in 1/1000 (policy_ffs.c;
	 * default: 100) */
	uint32_t overhead_permille;
	/* The model that predicts durations and learns them (default: model_durations). The
	 * caller owns the model's state, which must outlive the engine. model_state NULL: the
	 * engine creates a state. */
	const struct sched_model *model;
	void *model_state;
	/* Records all inputs and actions of the engine (journal.h), until the engine is destroyed.
	 * The model must be model_durations, with a state of the caller's. NULL: no journal. */
	struct sched_journal *journal;
	/* Options for one of the engine's own policies (sched_policy_check). The engine copies the
	 * string. NULL means "". */
	const char *policy_options;
};

struct sched_launch_info {
	uint64_t id, kernel, total;
	/* True if the launch has the guard form: it has the same count of blocks on all its SMs. To
	 * get another count, the launch drains, and its tenant launches the remaining blocks
	 * again. */
	bool unranked;
	/* The possible counts below the greatest: bit n for n blocks. 0: the launch obeys only
	 * quota 0. */
	uint32_t counts;
	uint32_t threads, regs, shared_bytes; /* per block, per thread, per block */
	uint32_t workers_per_sm;              /* 0: computed from threads, regs and shared_bytes */
	uint32_t stream_priority;             /* values above 15 count as 15 */
	float input[SCHED_INPUTS];            /* see struct sched_shape */
	void *user;
};

/* Returns 0, -EINVAL or -ENOMEM. Functions from here to sched_next change the engine's state: each
 * has a row in events.def. */
int sched_create(const struct sched_options *o, const struct sched_policy *p, struct sched **ret);
/* Changes options and policy from now on. The model and the properties of the device stay the same
 * (the device's limits, simultaneous, renumbers, max_launches). If the new policy's options are too
 * long, the old policy stays, with its old options. */
void sched_reconfigure(struct sched *s, const struct sched_options *, const struct sched_policy *);
void sched_destroy(struct sched *s);

/* ---- events ---- */
int sched_join(struct sched *s, uint64_t now_ns, uint32_t tenant, int priority, uint32_t weight,
	void *user, struct sched_tenant **ret);
void sched_leave(struct sched *s, uint64_t now_ns, struct sched_tenant *t);
/* Both take effect at the next decision. */
void sched_set_priority(struct sched *s, struct sched_tenant *t, int priority);
void sched_set_weight(struct sched *s, struct sched_tenant *t, uint32_t weight);
/* Reports that the program has submitted a launch. The engine sends no quotas to the launch before
 * it arrives: it begins with the quotas of the last SCHED_BEGIN. Returns 0, -EEXIST, -ENOSPC,
 * -EINVAL (no blocks), or -ENOMEM. */
int sched_submit(struct sched *s, uint64_t now_ns, struct sched_tenant *t,
	const struct sched_launch_info *info, struct sched_launch **ret);
/* The quotas with which a launch begins (sched_arrive). */
enum sched_began {
	SCHED_BEGAN_FREE, /* without a bound on any SM */
	SCHED_BEGAN_TOLD, /* the quotas of the last SCHED_BEGIN */
	/* with the quotas of an earlier, unknown SCHED_BEGIN: the next decision sends quotas in any
	 * case */
	SCHED_BEGAN_UNKNOWN,
};
void sched_arrive(struct sched *s, uint64_t now_ns, struct sched_launch *l, enum sched_began began);
/* Requests no decision. */
void sched_progress(struct sched *s, struct sched_launch *l, uint64_t finished);
/* Reports how many blocks of the launch have begun, including finished ones. When the last block
 * has begun, a policy that answers in plans is asked again, because another kernel may fit now. */
void sched_started(struct sched *s, uint64_t now_ns, struct sched_launch *l, uint64_t started);
/* Reports that the launch has left the device. It left because it was preempted, or, in the guard
 * form, because its count of blocks on an SM changed. */
void sched_drained(struct sched *s, uint64_t now_ns, struct sched_launch *l);
/* Reports that as many workers have left as the last SHRINK requires. The caller may be unable to
 * see workers leave. It then does not call sched_shrunk, and may call sched_absent instead. The
 * engine then learns no cost from the shrink. */
void sched_shrunk(struct sched *s, uint64_t now_ns, struct sched_launch *l);
/* Reports whether a pool of tasks has no task. An idle pool goes last, and never counts as
 * stalled. */
void sched_idle(struct sched *s, uint64_t now_ns, struct sched_launch *l, bool idle);
/* Reports that a launch was preempted or shrunk while none of the affected workers was on the
 * device. So the caller will see no worker leave. */
void sched_absent(struct sched *s, struct sched_launch *l);
/* Reports when the last block of the launch ended. The launch is charged for no later time. Must be
 * called before sched_end. */
void sched_ended(struct sched *s, struct sched_launch *l, uint64_t ended_ns);
/* Ends the launch and invalidates its handle. completed: every block ran; if false, the launch was
 * abandoned, and the model learns nothing. ran_ns: duration by the device's clock, or 0. */
void sched_end(
	struct sched *s, uint64_t now_ns, struct sched_launch *l, bool completed, uint64_t ran_ns);
/* Reports a tenant's opaque work (work that heddle does not steer). active: some is in flight, or
 * waits because the tenant is held. waited: the program waited for the end of this work; if not,
 * more work will follow soon. */
void sched_opaque(
	struct sched *s, uint64_t now_ns, struct sched_tenant *t, bool active, bool waited);
/* Reports when the tenant's first and last copies since its last launch were made. */
void sched_copied(struct sched *s, struct sched_tenant *t, uint64_t first_ns, uint64_t last_ns);
/* pinned true: pins a tenant, so that the engine takes no SMs from its launches. SMs that were
 * taken before are not given back. pinned false: ends this. */
void sched_pin(struct sched *s, struct sched_tenant *t, bool pinned);
/* Does the same as sched_pin. In addition, the quotas with which new launches of the tenant begin
 * stay as they are, unless all of them are 0. */
void sched_keep(struct sched *s, struct sched_tenant *t, bool kept);
/* Learns the duration of a launch that was noticed only after its end. */
void sched_learn(struct sched *s, const struct sched_launch_info *info, uint64_t ran_ns);

/* ---- decisions ---- */
/* The actions of a decision, in the order in which sched_next returns them. Actions that take SMs
 * from launches come before those that grant SMs, because launches wait for the SMs that become
 * free. */
enum sched_action_type {
	SCHED_BEGIN,   /* sets the quotas with which launches of the tenant begin from now on */
	SCHED_PREEMPT, /* the launch must leave all its SMs */
	SCHED_SHRINK,  /* the launch must leave some SMs, or run fewer blocks on some */
	SCHED_GRANT,   /* the launch gets SMs and had none */
	SCHED_GROW,    /* the launch gets more blocks on some SM (and may get fewer on others) */
	SCHED_NATIVE,  /* it gets the whole device until its end, because its state is unknown */
	SCHED_HOLD,    /* the tenant may start no work */
	SCHED_RELEASE,
};

struct sched_action {
	enum sched_action_type type;
	bool first; /* this is the first action for the launch */
	struct sched_tenant *tenant;
	struct sched_launch *launch; /* NULL for BEGIN, HOLD and RELEASE */
	/* SMs that the launch, or for BEGIN a new launch, may use now */
	uint32_t n_sms;
	uint32_t workers; /* workers that may stay on these SMs; unused in BEGIN */
};

/* Makes a decision, if an event has requested one or sched_deadline has passed. Does nothing while
 * sched_next has actions left. Returns 0; -ENOMEM: nothing was decided, and the caller must call
 * again. */
int sched_decide(struct sched *s, uint64_t now_ns);
bool sched_next(struct sched *s, struct sched_action *ret);
/* Returns the number of actions that sched_next will still return. */
uint32_t sched_pending(const struct sched *s);
/* Returns when to call sched_decide even if no event comes. 0: now, because an event has requested
 * a decision. UINT64_MAX: never. */
uint64_t sched_deadline(const struct sched *s);

/* ---- queries ---- */
void *sched_tenant_user(const struct sched_tenant *t);
/* Returns how long work of the tenant was on the device, as of the last event with a time. While a
 * preempted launch is leaving, only its tenant is charged. The value never falls. */
uint64_t sched_service(const struct sched_tenant *t);
void *sched_launch_user(const struct sched_launch *l);
/* Returns the quotas of the launch, one byte for each SM (quota.h). The array has room for more SMs
 * than the device has. If all SMs of the device have the same quota, the further bytes get this
 * value, too; otherwise they are 0. */
void sched_quotas(
	const struct sched *s, const struct sched_launch *l, uint8_t ret_quota[CTL_MAX_SMS]);
/* Returns the quotas of the tenant's last SCHED_BEGIN. */
void sched_begin_quotas(
	const struct sched *s, const struct sched_tenant *t, uint8_t ret_quota[CTL_MAX_SMS]);

enum launch_state sched_state(const struct sched_launch *l);
/* Returns the illegal transition that made the launch stray or native. */
void sched_refused(
	const struct sched_launch *l, enum launch_state *ret_from, enum launch_state *ret_to);
/* Returns the number of launches in this state, over all tenants. */
uint32_t sched_count(const struct sched *s, enum launch_state state);
struct sched_info {
	enum launch_state state;
	uint32_t preemptions, n_sms;
	uint32_t workers; /* workers that may stay on these n_sms SMs */
	uint64_t predicted_ns, waited_ns, remaining_ns, ran_ns, cost_ns, finished;
};
void sched_launch_state(const struct sched *s, uint64_t now_ns, const struct sched_launch *l,
	struct sched_info *ret);

/* Returns the remaining time of the launch that ends first, among launches that run or are next;
 * SCHED_UNKNOWN if it is not known. */
uint64_t sched_soonest(const struct sched *s, uint64_t now_ns);

struct sched_stats {
	uint64_t decisions, grants, preemptions, shrinks, holds, lingers, late, natives;
	uint32_t tenants, launches;
};
void sched_stats(const struct sched *s, struct sched_stats *ret);
/* Returns true if at the last decision a tenant was held, or if some launch had less than the whole
 * device. New launches that would begin with less count, too. If true, the caller must poll the
 * tenants' pages often. */
bool sched_contended(const struct sched *s);

#endif
