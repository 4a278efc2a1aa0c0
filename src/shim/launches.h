/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The outstanding managed launches. For each slot of the page, the shim keeps its own data here.
 * The lock guards the list of launches, and those fields whose comment says so. The other fields of
 * a launch belong to one thread: to the thread that took the slot while the launch is being
 * prepared, and to the thread that resumes the launch while it is being resumed. */
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
	/* Total bytes of parameters of the outstanding launches. The driver keeps the parameters of
	 * queued launches in a ring buffer of some 4 MiB (121 launches of 32 KiB were seen to fill
	 * it). If the buffer is full, a launch waits in the driver and holds a lock. The launch
	 * that resumes preempted work needs the same lock. */
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
/* Takes a slot for a launch on s with `bytes` bytes of parameters. Returns NULL if there is no free
 * slot or too many bytes of parameters are outstanding. */
struct managed *launches_take(struct stream *s, size_t bytes);
void launches_drop(struct managed *m); /* it was not launched after all */
/* Call after launches_take has failed. Waits until there is space for the launch. Returns false if
 * the outstanding launches make no progress for a while, or if heddled is gone. */
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
/* For a thread that natively would continue sooner or later. */
void patience_begin(struct patience *p, const _Atomic unsigned *ended, _Atomic unsigned *gave_up);
/* Call repeatedly while a thread waits for launches. Returns true if no launch has made progress
 * for so long that the launches may be waiting for this thread. */
bool patience_ends(struct patience *p);

/* ---- its grids (managed.c) ---- */
/* Limits the next grid of a guard form to `quota` blocks on an SM, as far as additional shared
 * memory (padding) can do so. */
void managed_pad(struct managed *m, uint32_t quota);
uint32_t managed_first_quota(void); /* the quota for a launch without a word of its own */
/* Launches the form once, with m's parameters. `config` is the program's launch configuration, or
 * NULL. */
CUresult managed_fire(
	struct managed *m, uint64_t blocks, CUstream stream, const CUlaunchConfig *config);
/* Launches the closer, a one-thread kernel that follows each grid of the guard form in its stream.
 * The closer completes the launch, or reports that blocks are left to run. */
CUresult managed_fire_closer(struct managed *m, CUstream stream);

/* ---- more of them (resume.c) ---- */
/* Returns true if no launch waits for SMs, and each launch that heddled steers has all the workers
 * that it needs. */
bool launches_served(void);
int resume_init(int priority); /* the streams of the rounds; the context is current */
void resume_after_fork(void);

#endif
