/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The engine's own state, shared by engine.c (events) and decide.c (decisions). */
#ifndef HEDDLE_SCHED_ENGINE_H
#define HEDDLE_SCHED_ENGINE_H

#include "profile.h"
#include "sched.h"

#define SM_WORDS           (CTL_MAX_SMS / 64)
#define SCHED_STREAM_RANKS 16

struct sms {
	uint64_t w[SM_WORDS];
};

struct sched_launch {
	struct sched_kernel k;            /* as the policy sees it */
	struct sched_launch *prev, *next; /* in its list */
	struct sched_tenant *tenant;
	void *user;
	uint32_t shared_bytes, stream_priority, device_sms;
	bool arrived;
	bool told;     /* what it may use is known to it, or will be when it arrives */
	bool draining; /* told to leave while it ran; not yet gone */
	bool active;   /* in the present view */
	struct sms
		allowed; /* of a submitted one that is not its tenant's head: see sched_allowed */
	struct sms reserved, next_allowed;
	uint64_t submit_ns, since_ns; /* since: T_w, T_r, ran_ns are accounted up to here */
	uint64_t preempt_ns; /* of the last PREEMPT or SHRINK that it has not answered; else 0 */
	uint64_t ran_ns, grace_ns;
	uint32_t preemptions;
};

/* In the order of ids. */
struct sched_launches {
	struct sched_launch *first, *last;
};

struct sched_tenant {
	struct sched_tenant *prev, *next;
	/* A queue may hold hundreds that have not arrived: only the oldest of them, and that only
	 * while nothing has arrived, takes part in decisions, which must not cost more for the
	 * rest. */
	struct sched_launches arrived, submitted;
	struct sched_launch *head; /* of submitted, in the present view; or NULL */
	uint32_t n_submitted_of[SCHED_STREAM_RANKS]; /* by stream priority */
	struct sched_kernel opaque, linger;          /* pseudo launches */
	void *user;
	uint32_t id, weight, n_launches;
	int priority;
	int64_t submitted_priority; /* highest stream's of what has not arrived; -1: nothing */
	bool opaque_active, held;
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
	struct sms linger_sms;        /* what its work had reserved last */
	struct sms begin, next_begin; /* what its launches begin with */
	/* In the present decision: of the lowest lane, and what that lane may use. */
	const struct sched_launch *best;
	struct sms best_avail;
};

struct sched {
	struct sched_options o;
	const struct sched_policy *policy;
	struct sched_tenant *tenants;
	struct profile *profile;
	struct sched_stats stats;
	uint64_t order, deadline_ns;
	uint64_t decided; /* launches of a smaller order were there when it was last decided */
	struct sms all;
	const struct sched_tenant *door[2]; /* late tenants of the highest priorities */
	bool dirty, contended;
	VEC(struct sched_kernel *) view;
	VEC(struct sched_action) actions;
	size_t next_action;
};

static inline bool sms_any(const struct sms *s)
{
	for (unsigned i = 0; i < SM_WORDS; i++) {
		if (s->w[i])
			return true;
	}
	return false;
}

static inline uint32_t sms_count(const struct sms *s)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < SM_WORDS; i++)
		n += (uint32_t)__builtin_popcountll(s->w[i]);
	return n;
}

static inline bool sms_has(const struct sms *s, uint32_t sm)
{
	return s->w[sm / 64] >> sm % 64 & 1;
}

static inline void sms_add(struct sms *s, uint32_t sm)
{
	s->w[sm / 64] |= 1ull << sm % 64;
}

static inline void sms_remove(struct sms *s, uint32_t sm)
{
	s->w[sm / 64] &= ~(1ull << sm % 64);
}

/* What is in a and not in b. */
static inline struct sms sms_minus(struct sms a, const struct sms *b)
{
	for (unsigned i = 0; i < SM_WORDS; i++)
		a.w[i] &= ~b->w[i];
	return a;
}

static inline struct sms sms_plus(struct sms a, const struct sms *b)
{
	for (unsigned i = 0; i < SM_WORDS; i++)
		a.w[i] |= b->w[i];
	return a;
}

/* Brings waited, ran and remaining up to now. */
void sched_account(struct sched_launch *l, uint64_t now_ns);
/* Something of the tenant's comes to the device: whose numbers it has from then on. */
void sched_number(const struct sched *s, struct sched_tenant *t);
/* What it may use; of one that is only submitted: what it would begin with. */
const struct sms *sched_allowed(const struct sched_launch *l);

#endif
