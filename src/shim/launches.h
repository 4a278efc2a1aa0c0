/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Managed launches under way, beside their slots in the page: what the shim knows of each. The lock
 * guards which there are and what is said to be under it. Between times a launch that is being
 * filled (not launched yet) belongs to who took its slot, one that is resuming to who resumes it.
 */
#ifndef HEDDLE_SHIM_LAUNCHES_H
#define HEDDLE_SHIM_LAUNCHES_H

#include <stdatomic.h>

#include "shim/managed.h"

/* A launch, beside its slot in the page. */
struct managed {
	bool used, resuming, launched; /* under the lock */
	struct form *form;
	struct form_shape *shape;
	struct stream *stream;
	uint64_t id, total, submit_ns, resumed_ns;
	uint64_t resumed_at;  /* blocks that had finished when it was last resumed */
	uint32_t preemptions; /* and the daemon's account of them at that time */
	struct ctl_args args;
	uint32_t block[3], workers, drains, grow, rounds;
	uint32_t shared, padded;   /* dynamic shared memory: the program's, the next grid's */
	struct pads pads;          /* of guard forms */
	uint64_t ticket;           /* at the last round, */
	uint32_t seq, idle_rounds; /* and the word applied; rounds that left both as they were */
	bool guard;
	uint64_t first_grid; /* hardware blocks of its first grid */
	uint8_t *params;
	size_t params_cap;
	size_t bytes; /* of parameters that the driver keeps */
};

extern struct launches {
	pthread_mutex_t lock;
	struct managed at[WIRE_SLOTS];
	uint16_t active[WIRE_SLOTS]; /* which of them are used, in no order */
	unsigned n_active;
	/* of launches.c: */
	unsigned cursor, closed;
	uint64_t last_id;
	/* Parameters of what is under way. The driver keeps those of queued launches in a ring of
	 * some 4 MiB (seen: 121 launches of 32 KiB fill it), and a launch that finds it full waits
	 * within the driver, under a lock that the resume launch needs. */
	size_t parameter_bytes;
	_Atomic unsigned ended, outstanding, gave_up;
} launches_of[SHIM_SESSIONS];

static inline struct launches *launches(void)
{
	return &launches_of[shim_at()];
}

static inline struct wire_slot *slot_of(const struct managed *m)
{
	return &shim->page->slots[m - launches()->at];
}

static inline bool is_done(const struct managed *m)
{
	return __atomic_load_n(&slot_of(m)->host.done, __ATOMIC_ACQUIRE) == m->args.gen + 1;
}

static inline bool is_granted(const struct wire_slot *w)
{
	return atomic_load(&shim->dead) || __atomic_load_n(&w->granted, __ATOMIC_ACQUIRE);
}

/* ---- slots (launches.c) ---- */
/* bytes: of its parameters. NULL: there is no room for one more. */
struct managed *launches_take(struct stream *s, size_t bytes);
void launches_drop(struct managed *m); /* it was not launched after all */
/* After that: waits for one to end. False: nothing ends for a while, though it may run. */
bool launches_await_room(size_t bytes);
void launches_reap(unsigned at_most); /* looks at so many; under the lock */
void launches_learn(void);            /* the same of a few, with no lock held */

/* ---- waiting for them (patience.c) ---- */
struct patience {
	const _Atomic unsigned *ended; /* of those that are waited for */
	_Atomic unsigned *gave_up;     /* when so many, less one, had ended; 0: never */
	unsigned seen_ended;
	uint64_t seen_moves, looked_ns, lull_ns;
};
/* For a program that natively would go on sooner or later. */
void patience_begin(struct patience *p, const _Atomic unsigned *ended, _Atomic unsigned *gave_up);
/* Asked again and again: no launch has moved for so long that what is waited for may be waiting,
 * too. */
bool patience_ends(struct patience *p);

/* ---- its grids (managed.c) ---- */
/* Has the next grid of a guard form keep to so many blocks on an SM, as far as it can. */
void managed_pad(struct managed *m, uint32_t quota);
uint32_t managed_first_quota(void); /* what that is for a launch without a word of its own */
/* One launch of the form, with the parameters that m holds. config: the program's, or NULL. */
CUresult managed_fire(
	struct managed *m, uint64_t blocks, CUstream stream, const CUlaunchConfig *config);
/* Behind a grid of the guard form: closes it, or says that it drained. */
CUresult managed_fire_closer(struct managed *m, CUstream stream);

/* ---- more of them (resume.c) ---- */
/* None is held, and each that was has got the rounds of workers that it wanted. */
bool launches_served(void);
int resume_init(int priority); /* the streams of the rounds; the context is current */
void resume_after_fork(void);

#endif
