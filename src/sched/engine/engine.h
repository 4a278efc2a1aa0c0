/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The engine's own state, and the functions that its files share. */
#ifndef HEDDLE_SCHED_ENGINE_H
#define HEDDLE_SCHED_ENGINE_H

#include "pauses.h"
#include "planner.h"
#include "sched.h"
#include "tenant.h"

struct sched {
	struct sched_options o;
	const struct sched_policy *policy;
	void *policy_state;
	struct planning planning;
	struct sched_tenant *tenants;
	void *model_state; /* state of o.model */
	struct sched_stats stats;
	/* the engine's number in o.journal; number of launches by state */
	uint32_t engine, n_in[LAUNCH_STATES];
	/* One level was allocated for each tenant; free_levels has those that are not in use. */
	struct sched_level *levels, *free_levels;
	/* costs of pauses in the current decision (pauses.c) */
	struct sched_costs costs;
	uint32_t n_tenants_in[TENANT_STATES]; /* counts at the last decision */
	uint64_t order, deadline_ns;
	uint64_t served_ns; /* service_ns of each tenant covers the time up to here */
	/* moving mean of the time from a grant to the first block; 0: unknown */
	uint64_t change_ns;
	/* value of `order` at the last decision: earlier launches have smaller ones */
	uint64_t decided;
	struct sms all;
	struct quota everywhere;            /* no bound on any SM */
	const struct sched_tenant *late[2]; /* the two late tenants of highest priority */
	/* when the engine last saw a launch leaving or learned that one had left */
	uint64_t left_ns;
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
/* Removes all launches of a list from the engine. */
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
						 : CONTAINER_OF(k, struct sched_tenant, expected);
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
/* Returns how many of the launch's blocks fit on an SM. */
uint32_t sched_workers(const struct sched_options *o, const struct sched_launch_info *i);
/* Adds the predicted time of newly finished blocks to the tenant's work_ns. */
void sched_work(struct sched_launch *l);
/* Updates the launch's waited, ran and remaining times to now. */
void sched_account(struct sched_launch *l, uint64_t now_ns);

/* ---- gather.c ---- */
/* Fills s->view with the work that competes. Returns 0 or -ENOMEM. */
int sched_gather(struct sched *s, uint64_t now_ns);
/* Returns the tenant's oldest submitted launch; NULL if one has arrived or the tenant is late. */
struct sched_launch *sched_arriving(const struct sched_tenant *t);
/* Returns true if the launch was submitted after the last decision. */
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
 * gets none, one without competing work every SM, and any other those of t->begin.best, or none. A
 * pinned tenant gets every SM in any case. ARRIVAL_SM is excluded if a late tenant has the same or
 * a higher priority. */
void sched_begin_place(struct sched *s, struct sched_tenant *t, const struct quota *row);

#endif
