/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The state of the library of heddle/policy_lanes.h, and the functions that its files share. The
 * library includes public headers only, because policies in shared objects are linked with it.
 *
 * A decision runs through lanes.c, which calls the other files: levels.c for the tenants of each
 * priority and the SMs that kernels need, turns.c and waits.c before and after the policy has put
 * the kernels into lanes. */
#ifndef HEDDLE_SCHED_LANES_INSIDE_H
#define HEDDLE_SCHED_LANES_INSIDE_H

#include <heddle/policy_lanes.h>

#define LANES_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LANES_MAX(a, b) ((a) > (b) ? (a) : (b))
#define PER_SM          32u /* maximum number of blocks on an SM */

struct sm_set {
	uint64_t w[HEDDLE_POLICY_MAX_SMS / 64];
};

/* Stored in `own` of a launch; all-zero at first. */
struct own_launch {
	struct sm_set reserved; /* SMs that its lane reserved in the last decision */
	uint64_t round;         /* number of the last decision whose view contained it */
	/* used by turns.c */
	/* number of finished blocks at the last progress or grant of SMs */
	uint64_t progress_finished;
	uint64_t progress_ns; /* time of that progress or grant */
	/* used by waits.c */
	/* behind_ns: how long it has waited behind equals since its last block */
	uint64_t overdue, behind_ns;
	uint64_t finished;         /* number of finished blocks at the last decision */
	uint64_t slice_ns;         /* if overdue: when its slice began; 0: not yet */
	uint64_t share_ns;         /* length of its slice */
	uint64_t granted_finished; /* number of finished blocks at the last grant */
	uint64_t vain_ns;          /* since when `vain` falls */
	uint64_t pause_ns;         /* how long SMs must be available to it before it gets them */
	uint64_t free_ns;          /* since when SMs have been available to it; 0: they are not */
	/* how often it lost its SMs before a block finished; falls with time */
	uint32_t vain;
	uint8_t granted;        /* it got its SMs by a grant */
	uint8_t behind;         /* it is waiting behind equals */
	uint8_t there;          /* it has SMs, or its workers are leaving them */
	uint8_t idle, had_lane; /* values at the last decision */
	/* it makes no progress while a tenant of equal priority waits */
	uint8_t stalled;
};

/* Stored in `own` of a tenant; all-zero at first. */
struct own_tenant {
	struct sm_set expected; /* SMs that were reserved for its last work */
	uint64_t turn;          /* its position in the queue of tenants of its priority */
	/* since when a tenant of equal priority waits for it; 0: none does */
	uint64_t awaited_ns;
	/* how much of its time slice is used; when that was last updated */
	uint64_t used_ns, counted_ns;
	struct lanes_level *level; /* level of its priority, in the current decision */
	/* earliest progress_ns of its launches with a lane, in the current decision */
	uint64_t next_check_ns;
	/* row of quotas of its first launch that has a lane, or NULL */
	const uint8_t *best;
	int32_t priority;
	uint32_t n_listed; /* number of its launches in the view */
	uint8_t known, stalled, in_turns, has_lane, waits, opaque;
	/* blocks on an SM of its launch whose relay takes most room, 0: none has an SM; and of
	 * those that fill the device */
	uint8_t relay, relay_full;
};

_Static_assert(sizeof(struct own_launch) <= HEDDLE_POLICY_OWN, "own");
_Static_assert(sizeof(struct own_tenant) <= HEDDLE_POLICY_OWN, "own");

/* The tenants of one priority. No decision compares each tenant with each other one. */
struct lanes_level {
	int32_t priority;
	uint32_t n_tenants;
	uint64_t last_turn;         /* the last queue position given */
	uint32_t n_waiting;         /* tenants that have a launch without a lane */
	uint32_t n_lanes, n_behind; /* number of launches with a lane; without a lane */
	uint8_t stalled;            /* at least one tenant is stalled */
	/* tenants of this level, and of all lower levels, whose relays take room: their number for
	 * each number of blocks on an SM */
	uint32_t relays[PER_SM + 1], relays_full[PER_SM + 1], relays_below[PER_SM + 1];
};

struct heddle_lanes {
	struct heddle_policy_device device; /* as of the current decision */
	uint64_t now_ns, left_ns, wake_ns;
	uint64_t passed_ns; /* time since the last decision */
	uint64_t round, overdue;
	uint8_t turns; /* at least one tenant is stalled */
	struct heddle_lane_kernel *at;
	uint32_t len, cap;
	struct lanes_level *levels; /* in descending order of priority */
	uint32_t n_levels, cap_levels;
	uint8_t *rows; /* rows of quotas: none, all, the rest, and one for each lane */
	size_t cap_rows;
};

static inline struct own_launch *launch_of(const struct heddle_lane_kernel *k)
{
	return k->kernel->own;
}

static inline struct own_tenant *tenant_of(const struct heddle_lane_kernel *k)
{
	return k->tenant->own;
}

static inline int is_launch(const struct heddle_lane_kernel *k)
{
	return k->kernel->kind == HEDDLE_POLICY_MANAGED;
}

static inline struct own_tenant *own_of(const struct heddle_policy_view *in, uint32_t i)
{
	return heddle_policy_tenant_at(in, i)->own;
}

static inline void wake_at(struct heddle_lanes *s, uint64_t ns)
{
	s->wake_ns = LANES_MIN(s->wake_ns, ns);
}

/* ---- sets of SMs ---- */

static inline uint32_t sms_count(const struct sm_set *s)
{
	uint32_t n = 0;

	for (unsigned i = 0; i < HEDDLE_POLICY_MAX_SMS / 64; i++)
		n += (uint32_t)__builtin_popcountll(s->w[i]);
	return n;
}

static inline int sms_has(const struct sm_set *s, uint32_t sm)
{
	return s->w[sm / 64] >> sm % 64 & 1;
}

static inline void sms_add(struct sm_set *s, uint32_t sm)
{
	s->w[sm / 64] |= 1ull << sm % 64;
}

static inline void sms_unite(struct sm_set *s, const struct sm_set *more)
{
	for (unsigned i = 0; i < HEDDLE_POLICY_MAX_SMS / 64; i++)
		s->w[i] |= more->w[i];
}

static inline void sms_subtract(struct sm_set *s, const struct sm_set *less)
{
	for (unsigned i = 0; i < HEDDLE_POLICY_MAX_SMS / 64; i++)
		s->w[i] &= ~less->w[i];
}

static inline struct sm_set sms_all(uint32_t n)
{
	struct sm_set s = {{0}};

	for (uint32_t sm = 0; sm < n; sm++)
		sms_add(&s, sm);
	return s;
}

/* ---- levels.c ---- */
/* Makes the levels of the view's tenants. A tenant that is new, or has another priority than
 * before, comes after the tenants that already have this priority. Returns 0 if memory is
 * exhausted. */
int lanes_find_levels(struct heddle_lanes *s, const struct heddle_policy_view *in);
/* Sets need_sms of every kernel. */
void lanes_find_needs(struct heddle_lanes *s, const struct heddle_policy_view *in);

/* ---- turns.c ---- */
/* Finds stalled tenants and assigns time slices: sets `turn` of all kernels. */
void lanes_assign_turns(struct heddle_lanes *s, const struct heddle_policy_view *in);
/* Notes which tenants wait, and when to check next whether a launch is stalled or a time slice has
 * ended. */
void lanes_note_turns(struct heddle_lanes *s, const struct heddle_policy_view *in);

/* ---- waits.c ---- */
/* Sets `overdue` of all kernels, and how long each must pause before it gets SMs. */
void lanes_update_waits(struct heddle_lanes *s);
/* Notes which kernels wait behind equals, and when the next of them becomes overdue. */
void lanes_note_waits(struct heddle_lanes *s);

#endif
