/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The outstanding managed launches. For each slot of the page, the shim keeps its own data here.
 * The lock guards the list of launches, and those fields whose comment says so. The other fields of
 * a launch belong to one thread: to the thread that took the slot while the launch is being
 * prepared, and to the thread that resumes the launch while it is being resumed. */
#ifndef HEDDLE_SHIM_LAUNCHES_H
#define HEDDLE_SHIM_LAUNCHES_H

#include "ctl/args.h"
#include "shim/core/lock.h"
#include "shim/order/pads.h"
#include "shim/order/stream.h"

#include <stdatomic.h>

struct form;
struct form_shape;

/* The shim's record of a managed launch; the page has a slot with the same index. */
struct managed {
	bool used, resuming, launched; /* guarded by the lock */
	struct form *form;
	struct form_shape *shape;
	struct stream *stream;
	uint64_t id, total, submit_ns, resumed_ns;
	uint64_t resumed_at;  /* number of finished blocks when it was last resumed */
	uint32_t preemptions; /* heddled's count of its preemptions at that time */
	struct ctl_args args;
	uint32_t block[3], workers, drains, grow, rounds;
	/* dynamic shared memory in bytes: as the program asked; with padding, in the next grid */
	uint32_t shared, padded;
	struct pads pads; /* used by guard forms */
	uint64_t ticket;  /* value of the ticket at the last round */
	/* drained_seq at the last round; rounds in a row that changed neither it nor `ticket` */
	uint32_t seq, idle_rounds;
	bool guard;
	uint64_t first_grid; /* number of hardware blocks in its first grid */
	uint8_t *params;
	size_t params_cap;
	size_t bytes; /* size of its parameters in the driver's buffer */
};

struct launches {
	struct lock lock;
	struct managed at[WIRE_SLOTS];
	uint16_t active[WIRE_SLOTS]; /* indices of the used elements of `at`, in any order */
	unsigned n_active;
	/* Used by launches.c only: */
	unsigned cursor, closed;
	uint64_t last_id;
	/* Total bytes of parameters of the outstanding launches. The driver keeps the parameters of
	 * queued launches in a ring buffer of some 4 MiB (121 launches of 32 KiB were seen to fill
	 * it). If the buffer is full, a launch waits in the driver and holds a lock. The launch
	 * that resumes preempted work needs the same lock. */
	size_t parameter_bytes;
	_Atomic unsigned ended, outstanding, gave_up;
	/* Called for each launch that has completed, under the lock, before its slot is given back
	 * (learn.c). NULL: nothing learns. */
	void (*on_end)(struct session *session, struct managed *m);
};

static inline struct wire_slot *slot_of(struct session *session, const struct managed *m)
{
	return &session->page->slots[m - session->launches->at];
}

static inline bool is_done(struct session *session, const struct managed *m)
{
	return __atomic_load_n(&slot_of(session, m)->host.done, __ATOMIC_ACQUIRE) ==
	       m->args.gen + 1;
}

static inline bool is_granted(struct session *session, const struct wire_slot *w)
{
	return atomic_load(&session->dead) || __atomic_load_n(&w->granted, __ATOMIC_ACQUIRE);
}

/* ---- slots of the page (launches.c) ---- */
/* Takes a slot for a launch on s with `bytes` bytes of parameters. Returns NULL if there is no free
 * slot or too many bytes of parameters are outstanding. */
struct managed *launches_take(struct session *session, struct stream *s, size_t bytes);
/* Frees the slot of a launch that did not happen. */
void launches_drop(struct session *session, struct managed *m);
/* Does the driver keep few enough bytes of parameters for `bytes` more? Under the lock. */
bool launches_have_bytes(struct session *session, size_t bytes);
/* Finishes launches that have completed. Checks at most this many. Call it under the lock. */
void launches_reap(struct session *session, unsigned at_most);
/* Does the same for a few launches. Call it without the lock. */
void launches_learn(struct session *session);

unsigned managed_outstanding(struct session *session);
void managed_reap(struct session *session); /* looks for launches that have completed */
bool managed_any_preempted(struct session *session);
/* Returns true if some launch has no SMs, so that heddled's next update of the quotas may resume
 * it. */
bool managed_any_waiting(struct session *session);
/* The context is broken or gone: nothing will ever complete. Also drops the control blocks. */
void launches_end_all(struct session *session);
void launches_stream_destroyed(struct session *session, struct stream *s);
bool launches_open(struct session *session);
struct session_ends;
void launches_forget(struct session *session, const struct session_ends *ends);

#endif
