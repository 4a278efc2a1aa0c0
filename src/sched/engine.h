/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The engine's own state, and the functions that its files share. */
#ifndef HEDDLE_SCHED_ENGINE_H
#define HEDDLE_SCHED_ENGINE_H

#include "guard.h"
#include "heddle/policy.h"
#include "launch_state.h"
#include "quota.h"
#include "sched.h"

#define SCHED_STREAM_RANKS 16

/* SM time and blocks of a spell, the time since the model last learned from the launch. */
struct sched_spell {
	uint64_t sm_ns;          /* sum over its SMs of the time on them */
	uint64_t finished;       /* blocks that had finished before the spell */
	uint32_t n_sms, workers; /* its last SMs, and the workers that fit on them; 0: none yet */
};

/* The company of a launch: which other work has SMs while the launch has some. */
struct sched_beside {
	uint64_t kernel;      /* code of the only other launch; count 0: there is none */
	uint32_t count, most; /* its blocks on an SM: now, and at most */
	uint32_t own_count;   /* blocks of the launch itself on an SM */
	bool several;         /* there are several launches, or unmanaged work */
};

struct sched_launch {
	struct sched_kernel k;            /* as the policy sees it */
	struct sched_launch *prev, *next; /* in the list of its state */
	struct sched_tenant *tenant;
	void *user;
	struct sched_shape shape; /* the launch as the model sees it */
	uint32_t regs, stream_priority, device_sms;
	enum launch_state state;                    /* changed only by sched_to */
	enum launch_state refused_from, refused_to; /* in LAUNCH_ASTRAY */
	/* Quotas that the launch obeys: not all zero in LAUNCH_HAS_SMS, without bounds for a
	 * native launch. NEXT: those that it would begin with. QUEUED: those that it had as
	 * NEXT, or none. */
	struct quota allowed, next_allowed;
	struct sms reserved;
	uint64_t submit_ns, since_ns; /* since: times are up to date to this point */
	uint64_t preempt_ns;          /* of the last PREEMPT or SHRINK without an answer; else 0 */
	uint64_t ran_ns, grace_ns;
	uint64_t sm_ns;     /* SM time, over the SMs that it was allowed and could use */
	uint64_t work_ns;   /* its contribution to the tenant's work_ns */
	uint64_t coming_ns; /* time of the grant of SMs on which no block has begun yet; or 0 */
	uint64_t started;   /* blocks that have begun */
	struct sched_spell spell;
	struct sched_beside beside; /* in this spell; only if s->pairs is set */
	bool shared;                /* it has had company since it arrived; likewise */
	uint32_t preemptions;       /* and shrinks, so far */
	struct sched_guard guard;
	/* turns.c. Whether the launch makes progress is independent of whether it has SMs. */
	bool partial;  /* since it arrived, it has waited or had fewer workers than it could use */
	bool idle;     /* a pool of tasks without a task */
	bool had_lane; /* it had a lane in the last decision */
	bool stalled;  /* it is stalled: it makes no progress while equals wait */
	uint64_t progress_finished; /* finished blocks at the last progress or grant of SMs */
	uint64_t progress_ns;       /* time of that */
};

/* In the order of launch ids. */
struct sched_launches {
	struct sched_launch *first, *last;
};

struct sched_tenant {
	struct sched_tenant *prev, *next;
	/* Only a tenant's oldest submitted launch takes part in decisions, and only while none
	 * has arrived: the cost of a decision must not depend on hundreds of others. */
	struct sched_launches arrived, submitted, native;
	struct sched_launch *head;                   /* the launch in LAUNCH_NEXT, or NULL */
	uint32_t n_submitted_of[SCHED_STREAM_RANKS]; /* by stream priority */
	struct sched_kernel opaque, linger;          /* pseudo launches */
	uint64_t service_ns;                         /* sched_service */
	uint64_t sm_ns;                              /* of launches that have ended */
	uint64_t work_ns;                            /* struct heddle_policy_tenant */
	uint64_t coming_until_ns;  /* launches with coming_ns count as coming until this time */
	uint32_t n_coming;         /* launches of n_there with coming_ns */
	uint32_t n_there, n_leave; /* launches in LAUNCH_HAS_SMS or NATIVE; in LAUNCH_LEAVES */
	uint32_t n_unpredicted;    /* launches of both sets without a prediction */
	void *user;
	uint32_t id, weight, n_launches;
	int priority;
	int64_t submitted_priority; /* highest one of submitted launches; -1: there are none */
	bool opaque_active;
	bool opaque_waits;    /* opaque work was submitted during the present hold */
	bool held, next_held; /* it may start nothing, whatever its priority */
	bool continues; /* its opaque work has ended, and the program did not wait for this end */
	uint64_t burst_ns; /* start of the present burst of opaque work */
	bool busy, worked; /* it has work now; it has had work */
	bool late;         /* a submitted launch did not arrive in time, and no launch has since */
	bool pinned;       /* heddled takes nothing from its launches, */
	bool kept;         /* nor from launches that begin now */
	/* Under MPS %smid does not identify an SM (seen on an H200). The SMs of a program that
	 * starts work are numbered from 0, TPC by TPC, and keep these numbers until it has no
	 * work left. They are the physical numbers only if the device was empty. This flag marks
	 * a program that started beside others: its sets of SMs only say how many SMs it has. */
	bool renumbered;
	uint64_t idle_since_ns, gap_ns; /* gap_ns: moving mean of the pauses between its work */
	uint32_t gaps;
	uint64_t busy_since_ns, copied_ns, last_copy_ns;
	uint32_t copies; /* confidence that a copy follows right after its work */
	uint64_t linger_until_ns;
	struct sms linger_sms;          /* the SMs that its work reserved last */
	struct quota begin, next_begin; /* the quotas that new launches begin with */
	/* turns.c */
	uint64_t turn;       /* among equals with a stalled tenant, the smaller turn goes first */
	uint64_t awaited_ns; /* since when an equal has waited for it; 0: no equal waits */
	uint64_t used_ns, counted_ns; /* part of its turn during which an equal waited; as of */
	uint64_t watched_ns, watched_service_ns; /* start of its starvation watch, or 0 */
	bool starved; /* it had little service for a while, and no launch of it has ended since */
	bool stalled, in_turns, has_lane, waits;
	/* In the present decision: its launch of the lowest lane, and that lane's quotas. */
	const struct sched_launch *best;
	struct quota best_avail;
};

/* Buffers and state of planner.c; they last from decision to decision. */
struct planning {
	VEC(struct heddle_policy_kernel) kernels;
	VEC(struct heddle_policy_tenant) tenants;
	uint8_t *now;  /* rows of the kernels' present quotas */
	uint8_t *plan; /* canary, rows of quotas, canary, held, canary */
	size_t plan_bytes, now_bytes;
	uint64_t empty_ns; /* since when no launch has had an SM; 0: some launch has one */
	uint64_t ask_ns;   /* when to ask a policy with no wake time again; 0: never */
	bool any;          /* in the present plan, some launch gets an SM */
	bool waits;        /* in the present plan, some launch gets no SM, or a tenant is held */
};

struct sched {
	struct sched_options o;
	const struct sched_policy *policy;
	void *policy_state; /* the state of a policy with a planner */
	struct planning planning;
	struct sched_tenant *tenants;
	void *model_state; /* of o.model */
	struct sched_stats stats;
	uint32_t n_in[LAUNCH_STATES]; /* number of launches in each state */
	uint64_t order, deadline_ns;
	uint64_t served_ns; /* the service of all tenants is up to date to this time */
	uint64_t change_ns; /* moving mean of the length of a change of launches; 0: none seen */
	uint64_t decided;   /* launches with a smaller order existed at the last decision */
	struct sms all;
	struct quota everywhere;            /* no bound on any SM */
	const struct sched_tenant *late[2]; /* the two late tenants of the highest priorities */
	uint64_t left_ns;                   /* turns.c: when a launch was last seen leaving */
	bool dirty, contended;
	bool turns; /* some tenant is stalled or starved */
	bool pairs; /* the policy asks the model of pairs, so the engine teaches that model */
	char policy_options[SCHED_POLICY_OPTIONS];
	VEC(struct sched_kernel *) view;
	VEC(struct sched_action) actions;
	size_t next_action;
};

/* ---- launches.c ---- */
/* The only function that changes a launch's state: moves the launch to the list and count of its
 * new state. An illegal transition makes it STRAY and requests a decision; then false. */
bool sched_to(struct sched *s, struct sched_launch *l, enum launch_state to);
/* Forgets all launches of a list. */
void sched_drop_all(struct sched *s, struct sched_launches *list);
/* Work of the tenant reaches the device: decides how its SMs are numbered. */
void sched_number(const struct sched *s, struct sched_tenant *t);
static inline struct sched_launch *sched_launch_of(struct sched_kernel *k)
{
	return k->kind == SCHED_MANAGED ? CONTAINER_OF(k, struct sched_launch, k) : NULL;
}

/* ---- account.c ---- */
/* If a launch begins no block for longer than this after a grant, the cause is not the change
 * between launches. */
#define SCHED_CHANGE_MAX_NS 20000000u
/* The launch was granted SMs and has not begun a block on them yet. */
void sched_comes(struct sched *s, struct sched_launch *l, uint64_t now_ns);
/* Updates the service of all tenants to now. Call this before any change. */
void sched_serve(struct sched *s, uint64_t now_ns);
/* learn.c teaches the model. sched_learn_way_out: a preempted launch has left. sched_learn_end:
 * a launch has ended; undisturbed_ns is its undisturbed duration, or 0. */
void sched_learn_way_out(struct sched *s, uint64_t now_ns, struct sched_launch *l);
void sched_learn_spell(struct sched *s, struct sched_launch *l);
/* After a decision: notes the company of each launch, if s->pairs is set. A change of company
 * ends a launch's spell. */
void sched_learn_beside(struct sched *s);
void sched_learn_end(struct sched *s, struct sched_launch *l, uint64_t undisturbed_ns);
struct sched_shape sched_shape_of(const struct sched *s, const struct sched_launch_info *i);
/* How many of its blocks fit on an SM. */
uint32_t sched_workers(const struct sched_options *o, const struct sched_launch_info *i);
/* Adds the predicted time of newly finished blocks to the tenant's work_ns. */
void sched_work(struct sched_launch *l);
/* Updates the waited, ran and remaining times to now. */
void sched_account(struct sched_launch *l, uint64_t now_ns);

/* ---- gather.c ---- */
/* Fills s->view with the work that competes. 0 or -ENOMEM. */
int sched_gather(struct sched *s, uint64_t now_ns);
/* Appends to s->view, with no lane. False: out of memory. */
bool sched_add_kernel(struct sched *s, struct sched_kernel *k);
/* The tenant's oldest submitted launch, if none has arrived. NULL: one has arrived, or the
 * tenant is late. */
struct sched_launch *sched_arriving(const struct sched_tenant *t);
/* True if the launch was submitted after the last decision. */
bool sched_is_new(const struct sched *s, const struct sched_launch *l);

/* ---- pauses.c ---- */
/* The tenant has work again. */
void sched_came_back(const struct sched *s, struct sched_tenant *t, uint64_t now_ns);
/* Appends the tenant's pseudo launch to s->view if it pays to wait for the tenant's return.
 * False: out of memory. */
bool sched_linger(struct sched *s, struct sched_tenant *t, uint64_t now_ns);

/* ---- lanes.c ---- */
/* Asks a policy that answers in lanes, and sets next_allowed, next_begin and next_held of each
 * launch and tenant; lowers deadline_ns. Call it after sched_gather. *ret_hold_below: as in
 * struct sched_view. 0 or -ENOMEM. (planner.h does the same for policies that answer in plans.) */
int sched_lanes(struct sched *s, uint64_t now_ns, int *ret_hold_below);

/* ---- tell.c ---- */
/* Appends an action for each difference between the next and the present quotas, and makes the
 * next ones present. 0, or -ENOMEM: nothing changed. */
int sched_tell(struct sched *s, uint64_t now_ns, int hold_below);

/* ---- begin.c: keeps an SM free for a launch that has not arrived yet ---- */
/* Finds the late tenants for which an SM stays free. Call it before the others. */
void sched_find_late_tenants(struct sched *s);
/* Removes that SM from the quotas of the launch, if a late tenant needs it. */
void sched_leave_arrival_sm(
	const struct sched *s, const struct sched_launch *l, struct quota *io_allowed);
/* Sets the quotas with which new launches of the tenant begin. Pinned, or neither held nor with
 * work that competes: every SM. Without such work, where tenants run side by side: `left`.
 * Otherwise those of its first launch by rank (t->best), or none. ARRIVAL_SM is left out for a
 * late tenant of the same or a higher priority. */
void sched_begin_place(
	struct sched *s, struct sched_tenant *t, bool held, const struct quota *left);

/* ---- turns.c ---- */
/* Before the policy: finds stalled tenants, and gives turns. */
void sched_turns(struct sched *s, uint64_t now_ns);
/* After the policy: notes which tenants wait, and lowers deadline_ns to the next check. */
void sched_turns_note(struct sched *s, uint64_t now_ns);
/* True if the launch was preempted long ago and is still there. Decisions ignore such a launch. */
bool sched_stays_away(const struct sched *s, const struct sched_launch *l, uint64_t now_ns);
uint64_t sched_last_turn(const struct sched *s, int priority);

#endif
