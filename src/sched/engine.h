/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The engine's own state, and what its files have of each other. */
#ifndef HEDDLE_SCHED_ENGINE_H
#define HEDDLE_SCHED_ENGINE_H

#include "guard.h"
#include "heddle/policy.h"
#include "launch_state.h"
#include "quota.h"
#include "sched.h"

#define SCHED_STREAM_RANKS 16

/* What a launch has had of SMs since its curve was last learnt from. */
struct sched_spell {
	uint64_t sm_ns;          /* SMs times the time on them */
	uint64_t finished;       /* blocks that had finished before */
	uint32_t n_sms, workers; /* that it had last, and what they hold; 0: none since */
};

/* What else has SMs while a launch has some. */
struct sched_beside {
	uint64_t kernel;      /* the only other launch's code; count 0: there is none */
	uint32_t count, most; /* of its blocks, on an SM */
	uint32_t own_count;   /* of the launch's own */
	bool several;         /* several launches, or work that cannot be steered */
};

struct sched_launch {
	struct sched_kernel k;            /* as the policy sees it */
	struct sched_launch *prev, *next; /* in its list */
	struct sched_tenant *tenant;
	void *user;
	struct sched_shape shape; /* as the model sees it */
	uint32_t regs, stream_priority, device_sms;
	enum launch_state state;                    /* sched_to alone changes it */
	enum launch_state refused_from, refused_to; /* in LAUNCH_ASTRAY */
	/* What it may use; some SM if it is in LAUNCH_HAS_SMS, every SM of a native one. NEXT: what
	 * it would begin with. QUEUED: what it would have begun with when it was NEXT, or none. */
	struct quota allowed, next_allowed;
	struct sms reserved;
	uint64_t submit_ns, since_ns; /* since: T_w, T_r, ran_ns are accounted up to here */
	uint64_t preempt_ns; /* of the last PREEMPT or SHRINK that it has not answered; else 0 */
	uint64_t ran_ns, grace_ns;
	uint64_t sm_ns;     /* SM time, from the SMs that it had and could use */
	uint64_t work_ns;   /* its part of the tenant's work_ns */
	uint64_t coming_ns; /* when it was granted SMs on which it has begun nothing yet; or 0 */
	uint64_t started;   /* blocks that have begun */
	struct sched_spell spell;
	struct sched_beside beside; /* during the spell; where s->pairs is set */
	bool shared;                /* something was beside it since it arrived; likewise */
	uint32_t preemptions;       /* and shrinks, so far */
	struct sched_guard guard;
	/* turns.c. What it does on its SMs is apart from whether it has any. */
	bool partial;  /* since it arrived, it waited or had fewer workers than it could use */
	bool idle;     /* a pool of tasks that has none */
	bool had_lane; /* in the last decision */
	bool still;    /* gets nowhere while equals wait */
	uint64_t seen,
		came_on_ns; /* finished when it last came on, or was given SMs; when that was */
};

/* In the order of ids. */
struct sched_launches {
	struct sched_launch *first, *last;
};

struct sched_tenant {
	struct sched_tenant *prev, *next;
	/* A queue may hold hundreds that have not arrived: only the oldest of them, and that only
	 * while nothing has arrived, takes part in decisions, which must not cost more for the
	 * rest. The state of a launch says which list it is in. */
	struct sched_launches arrived, submitted, native;
	struct sched_launch *head;                   /* the one that is NEXT, or NULL */
	uint32_t n_submitted_of[SCHED_STREAM_RANKS]; /* by stream priority */
	struct sched_kernel opaque, linger;          /* pseudo launches */
	uint64_t service_ns;                         /* sched_service */
	uint64_t sm_ns;                              /* of launches that are gone */
	uint64_t work_ns;                            /* struct heddle_policy_tenant */
	uint64_t coming_until_ns;  /* until when those count as such that have coming_ns: */
	uint32_t n_coming;         /* so many of those that are there */
	uint32_t n_there, n_leave; /* launches in LAUNCH_HAS_SMS or NATIVE, and in LAUNCH_LEAVES */
	uint32_t n_unpredicted;    /* of both, those without a prediction */
	void *user;
	uint32_t id, weight, n_launches;
	int priority;
	int64_t submitted_priority; /* highest stream's of what has not arrived; -1: nothing */
	bool opaque_active;
	bool opaque_waits;    /* submitted while the tenant was held, which it still is */
	bool held, next_held; /* it starts nothing, whatever its priority */
	bool continues; /* its opaque work has come to an end that the program did not wait for */
	uint64_t burst_ns; /* when its opaque work began that is one burst with what there is now */
	bool busy, worked; /* has work now; ever had */
	bool late;         /* what it submitted did not arrive in time: counts again when it does */
	bool pinned;       /* nothing is taken from its launches, */
	bool kept;         /* nor from those that begin now */
	/* Under MPS %smid is no SM's name (seen on an H200): a program that has nothing on the
	 * device numbers what it comes upon then from 0 on, TPC by TPC, and keeps those numbers
	 * until nothing of it is left. Whoever began on an empty device has them as they are; for
	 * one that found others there, which is this, sets of SMs say how many alone. */
	bool renumbered;
	uint64_t idle_since_ns, gap_ns; /* moving mean of the pauses between its work */
	uint32_t gaps;
	uint64_t busy_since_ns, copied_ns, last_copy_ns;
	uint32_t copies; /* how sure it is that a copy comes right behind its work */
	uint64_t linger_until_ns;
	struct sms linger_sms;          /* what its work had reserved last */
	struct quota begin, next_begin; /* what its launches begin with */
	/* turns.c */
	uint64_t turn;       /* among equals of which one stands still: smaller goes first */
	uint64_t awaited_ns; /* since when an equal has waited for it; 0: none does */
	uint64_t used_ns, counted_ns; /* of its turn, as far as it was awaited; up to when */
	uint64_t watched_ns, had_ns;  /* since when it has work, 0: it has none; what it
					 had had of the device by then */
	bool starved; /* it had little of it in a while, and no launch of it has ended since */
	bool still, in_turns, has_lane, waits;
	/* In the present decision: of the lowest lane, and what that lane may use. */
	const struct sched_launch *best;
	struct quota best_avail;
};

/* What planner.c needs for a decision, and keeps until the next one. */
struct planning {
	VEC(struct heddle_policy_kernel) kernels;
	VEC(struct heddle_policy_tenant) tenants;
	uint8_t *now;  /* rows of the quotas that kernels have */
	uint8_t *plan; /* canary, rows of quotas, canary, held, canary */
	size_t plan_bytes, now_bytes;
	uint64_t empty_ns; /* since when nobody has an SM; 0: somebody has */
	uint64_t ask_ns;   /* when it is asked again though it did not want to be; 0: not at all */
	bool any;          /* in the present plan, somebody is given an SM */
	bool waits;        /* or somebody is not, or is held */
};

struct sched {
	struct sched_options o;
	const struct sched_policy *policy;
	void *policy_state; /* of a policy with a planner */
	struct planning planning;
	struct sched_tenant *tenants;
	void *model_state; /* of o.model */
	struct sched_stats stats;
	uint32_t n_in[LAUNCH_STATES]; /* launches in each state */
	uint64_t order, deadline_ns;
	uint64_t served_ns; /* tenants' service is accounted up to here */
	uint64_t change_ns; /* moving mean of what a change of launches took; 0: none was seen */
	uint64_t decided;   /* launches of a smaller order were there when it was last decided */
	struct sms all;
	struct quota everywhere;            /* no bound on any SM */
	const struct sched_tenant *door[2]; /* late tenants of the highest priorities */
	uint64_t left_ns;                   /* turns.c: when somebody was last on the way out */
	bool dirty, contended;
	bool turns; /* somebody stands still */
	bool pairs; /* the policy asks the model of pairs, so that is taught */
	char policy_options[SCHED_POLICY_OPTIONS];
	VEC(struct sched_kernel *) view;
	VEC(struct sched_action) actions;
	size_t next_action;
};

/* ---- launches.c ---- */
/* The one way to change a launch's state: moves it to the list and the count of its new state. An
 * illegal transition makes it STRAY, and asks for a decision; false then. */
bool sched_to(struct sched *s, struct sched_launch *l, enum launch_state to);
/* Forgets all launches of a list. */
void sched_drop_all(struct sched *s, struct sched_launches *list);
/* Something of the tenant's comes to the device: whose numbers it has from then on. */
void sched_number(const struct sched *s, struct sched_tenant *t);
static inline struct sched_launch *sched_launch_of(struct sched_kernel *k)
{
	return k->kind == SCHED_MANAGED ? CONTAINER_OF(k, struct sched_launch, k) : NULL;
}

/* ---- account.c ---- */
/* A launch that begins no block for longer than this after a grant is delayed by something other
 * than the change between launches. */
#define SCHED_CHANGE_MAX_NS 20000000u
/* The launch was granted SMs and has not begun a block on them yet. */
void sched_comes(struct sched *s, struct sched_launch *l, uint64_t now_ns);
/* Brings what each tenant has had of the device up to now: before anything changes. */
void sched_serve(struct sched *s, uint64_t now_ns);
/* learn.c: what the model is taught. A preempted launch, with its last word; a launch that ended,
 * and how long it ran undisturbed (0: it did not). */
void sched_learn_way_out(struct sched *s, uint64_t now_ns, struct sched_launch *l);
void sched_learn_spell(struct sched *s, struct sched_launch *l);
/* After a decision: notes what is beside each launch, where s->pairs is set. A launch that has
 * other company than before ends its spell. */
void sched_learn_beside(struct sched *s);
void sched_learn_end(struct sched *s, struct sched_launch *l, uint64_t undisturbed_ns);
struct sched_shape sched_shape_of(const struct sched *s, const struct sched_launch_info *i);
/* How many blocks an SM holds at once. */
uint32_t sched_workers(const struct sched_options *o, const struct sched_launch_info *i);
/* Adds the predicted time of newly finished blocks to the tenant's work_ns. */
void sched_work(struct sched_launch *l);
/* Brings waited, ran and remaining up to now. */
void sched_account(struct sched_launch *l, uint64_t now_ns);

/* ---- gather.c ---- */
/* Fills s->view with what competes. 0 or -ENOMEM. */
int sched_gather(struct sched *s, uint64_t now_ns);
/* Appends to s->view, without an answer yet. False: out of memory. */
bool sched_add_kernel(struct sched *s, struct sched_kernel *k);
/* The tenant's oldest launch, while none has arrived; NULL: one has, or it is late. */
struct sched_launch *sched_arriving(const struct sched_tenant *t);
/* It has come since the last decision. */
bool sched_is_new(const struct sched *s, const struct sched_launch *l);

/* ---- pauses.c ---- */
/* The tenant has work again. */
void sched_came_back(const struct sched *s, struct sched_tenant *t, uint64_t now_ns);
/* Appends the tenant's pseudo launch to s->view, if it pays to wait for the end of its pause.
 * False: out of memory. */
bool sched_linger(struct sched *s, struct sched_tenant *t, uint64_t now_ns);

/* ---- lanes.c ---- */
/* Asks a policy of the engine's own, and sets what each launch and tenant gets: next_allowed,
 * next_begin, next_held; lowers deadline_ns. Behind sched_gather. *ret_hold_below as in struct
 * sched_view. 0 or -ENOMEM. (planner.h: the same of other people's.) */
int sched_lanes(struct sched *s, uint64_t now_ns, int *ret_hold_below);

/* ---- tell.c ---- */
/* Appends actions for what differs from before, and makes it the present. 0 or -ENOMEM: nothing
 * changed. */
int sched_tell(struct sched *s, uint64_t now_ns, int hold_below);

/* ---- begin.c: where others keep out while a tenant's launch does not arrive ---- */
/* Ahead of the others: for whom. */
void sched_doors_find(struct sched *s);
/* Takes the SM from what the launch may use, where somebody else needs it. */
void sched_door_leave(
	const struct sched *s, const struct sched_launch *l, struct quota *io_allowed);
/* Sets what launches begin with that arrive after this decision: what the tenant's best one has,
 * and all that is left over where it has none. */
void sched_begin_place(
	struct sched *s, struct sched_tenant *t, bool held, const struct quota *left);

/* ---- turns.c ---- */
/* Ahead of the policy: who stands still, and whose turn it is. */
void sched_turns(struct sched *s, uint64_t now_ns);
/* Behind it: who waits for whom, and when to look at that again (deadline_ns). */
void sched_turns_note(struct sched *s, uint64_t now_ns);
/* Told to leave long ago, and still there: nobody waits for it. */
bool sched_stays_away(const struct sched *s, const struct sched_launch *l, uint64_t now_ns);
uint64_t sched_last_turn(const struct sched *s, int priority);

#endif
