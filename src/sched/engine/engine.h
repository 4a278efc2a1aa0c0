/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The engine's own state, and the functions that its files share. */
#ifndef HEDDLE_SCHED_ENGINE_H
#define HEDDLE_SCHED_ENGINE_H

#include "guard.h"
#include "launch_state.h"
#include "pauses.h"
#include "planner.h"
#include "quota.h"
#include "sched.h"

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

struct sched_tenant {
	struct sched_tenant *prev, *next;
	struct sched_level *level; /* of its priority */
	/* Of the submitted launches only the oldest takes part in decisions, and only while no
	 * launch has arrived. So a decision costs the same, however many launches are submitted. */
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
	uint32_t index; /* planner.c: in the view */
	int priority;
	int64_t submitted_priority; /* highest one of submitted launches; -1: there are none */
	bool opaque_active;
	bool opaque_waits;    /* opaque work was submitted during the present hold */
	bool held, next_held; /* it may start nothing, whatever its priority */
	bool continues;    /* its unmanaged work has ended, and the program did not wait for that */
	uint64_t burst_ns; /* start of the present burst of opaque work */
	bool busy, worked; /* it has work now; it has had work */
	/* true if a submitted launch did not arrive in time, and none has arrived since */
	bool late;
	bool pinned; /* heddled takes nothing from its launches, */
	bool kept;   /* nor from launches that begin now */
	/* Under MPS %smid does not identify an SM (seen on an H200). When a program starts work,
	 * its SMs are numbered from 0, TPC by TPC. The numbers stay valid until the program has no
	 * work left. They are physical numbers only if the device was empty. This flag marks a
	 * program that started beside others: its sets of SMs only say how many SMs it has. */
	bool renumbered;
	uint64_t idle_since_ns, gap_ns; /* gap_ns: moving mean of the pauses between its work */
	uint32_t gaps;
	uint64_t began_ns; /* when a block of it began last, as far as reported */
	uint64_t busy_since_ns, copied_ns, last_copy_ns;
	uint32_t copies; /* confidence that a copy follows right after its work */
	uint64_t linger_until_ns;
	struct quota begin, next_begin; /* the quotas that new launches begin with */
	/* In this decision: the tenant's oldest launch that gets an SM, and its quotas. */
	const struct sched_launch *best;
	struct quota best_avail;
	struct sched_own own;
};

struct sched {
	struct sched_options o;
	const struct sched_policy *policy;
	void *policy_state;
	struct planning planning;
	struct sched_tenant *tenants;
	void *model_state; /* of o.model */
	struct sched_stats stats;
	uint32_t engine, n_in[LAUNCH_STATES]; /* its number in o.journal; launches in each state */
	/* One level was allocated for each tenant; free_levels has those that are not in use. */
	struct sched_level *levels, *free_levels;
	struct sched_costs costs; /* pauses.c, of the present decision */
	uint32_t n_busy;          /* tenants with work, as of the last decision */
	uint64_t order, deadline_ns;
	uint64_t served_ns; /* the service of all tenants is up to date to this time */
	uint64_t change_ns; /* from a grant to the first block, a moving mean; 0: unknown */
	uint64_t decided;   /* launches with a smaller order existed at the last decision */
	struct sms all;
	struct quota everywhere;            /* no bound on any SM */
	const struct sched_tenant *late[2]; /* the two late tenants of the highest priorities */
	uint64_t left_ns;                   /* when a launch was last seen leaving, or had left */
	bool dirty, contended;
	bool pairs; /* the policy asks the model of pairs, so the engine teaches that model */
	char policy_options[SCHED_POLICY_OPTIONS];
	VEC(struct sched_kernel *) view;
	VEC(struct sched_action) actions;
	size_t next_action;
};

/* ---- launches.c ---- */
/* Changes a launch's state, list and counts; no other function does. If launch_state.c does not
 * allow the transition, makes the launch STRAY, requests a decision and returns false. */
bool sched_to(struct sched *s, struct sched_launch *l, enum launch_state to);
/* Forgets all launches of a list. */
void sched_drop_all(struct sched *s, struct sched_launches *list);
/* Sets or clears `renumbered` of a tenant when its first work reaches the device. */
void sched_number(const struct sched *s, struct sched_tenant *t);
static inline struct sched_launch *sched_launch_of(struct sched_kernel *k)
{
	return k->kind == HEDDLE_POLICY_MANAGED ? CONTAINER_OF(k, struct sched_launch, k) : NULL;
}
static inline struct sched_tenant *sched_tenant_of(struct sched_kernel *k)
{
	return k->kind == HEDDLE_POLICY_MANAGED  ? CONTAINER_OF(k, struct sched_launch, k)->tenant
	       : k->kind == HEDDLE_POLICY_OPAQUE ? CONTAINER_OF(k, struct sched_tenant, opaque)
						 : CONTAINER_OF(k, struct sched_tenant, linger);
}

/* ---- account.c ---- */
/* The longest delay between a grant of SMs and the launch's first block that counts as part of the
 * change between launches. A longer delay has another cause. */
#define SCHED_CHANGE_MAX_NS 20000000u
/* Notes that the launch was granted SMs and has not begun a block on them yet. */
void sched_comes(struct sched *s, struct sched_launch *l, uint64_t now_ns);
/* Updates the service of all tenants to now. Must be called before any change. */
void sched_serve(struct sched *s, uint64_t now_ns);
/* learn.c: sched_learn_way_out teaches the model the cost of a preemption or shrink, after its end.
 * sched_learn_end teaches a launch's duration (undisturbed_ns: if it never lost an SM, else 0). */
void sched_learn_way_out(struct sched *s, uint64_t now_ns, struct sched_launch *l);
void sched_learn_spell(struct sched *s, struct sched_launch *l);
/* Called after a decision if s->pairs is set. Notes for each launch which other work has SMs beside
 * it. If that has changed, the launch's spell ends. */
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
/* Returns the tenant's oldest submitted launch; NULL if one has arrived or the tenant is late. */
struct sched_launch *sched_arriving(const struct sched_tenant *t);
/* True if the launch was submitted after the last decision. */
bool sched_is_new(const struct sched *s, const struct sched_launch *l);

/* ---- tell.c ---- */
/* Appends an action for each difference between the next and the present quotas, and makes the next
 * ones present. Returns 0, or -ENOMEM and changes nothing. */
int sched_tell(struct sched *s, uint64_t now_ns);

/* ---- begin.c: keeps an SM free for a launch that has not arrived yet ---- */
/* Finds the late tenants for which an SM must stay free. Called before the other two functions. */
void sched_find_late_tenants(struct sched *s);
/* If ARRIVAL_SM must stay free for a late tenant, removes this SM from the launch's quotas. */
void sched_leave_arrival_sm(
	const struct sched *s, const struct sched_launch *l, struct quota *io_allowed);
/* Sets the quotas with which new launches of the tenant begin: those of `row`, which the policy has
 * chosen and planner.c has checked. NULL: the policy has chosen none. Then a tenant that is held
 * gets none, one without competing work every SM, and any other the quotas of t->best, or none. A
 * pinned tenant gets every SM in any case. ARRIVAL_SM is excluded if a late tenant has the same or
 * a higher priority. */
void sched_begin_place(struct sched *s, struct sched_tenant *t, const struct quota *row);

#endif
