/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Managed launches and what keeps them from standing in anybody's way: streams and the channels
 * they hold, fences ahead of driver calls that lock, the thread that resumes what was preempted. */
#ifndef HEDDLE_SHIM_MANAGED_H
#define HEDDLE_SHIM_MANAGED_H

#include "shim/cost.h"
#include "shim/kernel.h"

/* ---- streams (stream.c) ---- */
struct stream {
	CUstream handle; /* never 0: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD where it was */
	int priority;    /* the program's; smaller goes first, as CUDA has it */
	bool destroyed;
	CUcontext ctx;                /* where it was made; NULL: a default stream, or not known */
	_Atomic bool used;            /* had work of any kind that we know of */
	pthread_mutex_t lock;         /* a launch and the wait behind it stay together */
	CUdeviceptr ctl;              /* its control block; 0: none yet */
	unsigned ctl_epoch;           /* of which context's (ctlpool.c) */
	uint32_t gen;                 /* that the next launch on it has */
	_Atomic unsigned outstanding; /* managed launches not known complete */
	_Atomic unsigned ended;       /* and those that were */
	_Atomic unsigned gave_up;     /* waiting for them (patience.c) */
	/* of follow.c: unmanaged launches that no event stands for yet; and under its lock, those
	 * of them that count for the bound, when the first was launched, events in flight, and the
	 * last that passed */
	_Atomic uint32_t opaque;
	struct cost_batch batch;
	uint64_t began_ns;
	uint32_t events;
	CUevent passed;
	_Atomic unsigned waits; /* sync_count() at its last launch, while there are gates */
};
struct stream *stream_of(CUstream handle); /* NULL: out of memory, or not to be touched */
bool stream_capturing(CUstream handle);
/* May launches be managed, without using up the hardware's channels? Counts s as used. */
bool stream_admits(struct stream *s);
void stream_use(struct stream *s); /* something is about to be put on it */
/* Makes the session of the stream's device the thread's, whichever context is current. */
void stream_route(CUstream handle);
bool stream_served(CUstream handle); /* stream_route, then shim_on */
void stream_touch(CUstream handle);  /* the same by handle, if there is a daemon */
bool stream_borrow(void);            /* a channel for a stream of the shim's; false: all are used */
void stream_give_back(void);
void streams_forget(CUcontext ctx); /* this context has ended, and its streams with it */

/* ---- launches (managed.c, launches.c, resume.c) ---- */
struct launch {
	CUfunction fn;
	uint32_t grid[3], block[3], shared;
	CUstream stream; /* 0 already resolved */
	void **params, **extra;
	const CUlaunchConfig *config; /* of cuLaunchKernelEx, or NULL */
};
/* Its n parameters, each at its offset, to ret. False: the driver refuses them. */
bool launch_params(const struct launch *l, uint32_t n, const uint32_t *offsets,
	const uint32_t *sizes, uint8_t *ret);
struct admission;
/* Of a launch that was admitted. False: it is to be launched as it is, and a->why says why. True:
 * launched, *ret is the result. */
bool managed_launch(const struct launch *l, struct admission *a, CUresult *ret);
int managed_init(void); /* control blocks and helper stream; the context is current */
unsigned managed_outstanding(void);
void managed_reap(void); /* notices what has completed */
/* Resumes what was granted. In how many ns to look again; UINT64_MAX: when woken. */
uint64_t managed_resume(void);
bool managed_any_preempted(void);
/* Some launch is not granted: the daemon's next word may resume it. */
bool managed_any_waiting(void);
void resume_return_channels(void); /* stream_give_back for those that are not used any more */
/* The context may end, and nothing is outstanding: no stream of it is asked any more. */
void resume_leave_channels(void);
void resume_forget(void); /* it has ended, and the streams of the rounds with it */
/* While nobody else writes words: all quotas up of what is stopped, and of what begins. Again and
 * again: that a launch began with less may show late. */
void managed_take_over(void);
bool managed_any_stopped(void); /* whoever did it */
void managed_forget(void);      /* the context is broken or gone: nothing will ever complete */
void managed_after_fork(void);
void managed_stream_destroyed(struct stream *s);

/* ---- unmanaged work of a tenant (opaque.c; when it is over: follow.h) ---- */
struct opaque {
	bool counted;
	uint64_t what; /* a number for the kernel and its grid, or the graph: never 0 */
	uint32_t us;   /* what it takes, where that counts */
	bool passes;   /* see placing_pass */
};
/* Around a launch that is passed on: waits while the tenant is held, or has enough in flight. */
void opaque_begin(struct stream *s, uint64_t what, struct opaque *ret);
/* The same for short work, such as a memset: never waits, and counts only under MPS. */
void opaque_pass(struct stream *s, struct opaque *ret);
void opaque_end(struct stream *s, const struct opaque *o, CUresult r);
void opaque_wake(void); /* those who wait look again */

void sync_done(void);      /* the program has waited for the device */
unsigned sync_count(void); /* how often, from 1 on (sync.c) */
void copies_anew(void);    /* a launch: what is copied from here on comes behind it (copy.c) */

/* ---- unmanaged launches that a word in their stream holds (gate.c) ---- */
bool gate_suits(const struct launch *l, struct kernel *k);
bool gate_begin(struct stream *s); /* ahead of the launch; false: launch it as any other */
void gate_end(struct stream *s, CUresult r);
void gate_after_fork(void);

/* ---- how large a launch's input is (inputs.c) ---- */
/* params: as the driver takes them, in one buffer. Asks the driver where a pointer leads, unless it
 * has lately. */
void inputs_of(struct form *f, const uint8_t *params, float ret[WIRE_INPUTS]);
void inputs_forget(void); /* memory may have been freed */

/* ---- fences (fence.c) ---- */
enum fence_kind {
	FENCE_WAITS, /* the driver would wait for the GPU: so do we, as long as it takes */
	FENCE_LOADS, /* as long as launches are preempted, else 2 s at most: the driver waits for
			what runs, as it does natively */
};
void fence_begin(enum fence_kind kind);
enum fence_copy {
	FENCE_NO_COPY,
	FENCE_COPY_MAY,   /* the driver may wait, for room, and does not natively: not for ever */
	FENCE_COPY_WAITS, /* it would wait for the stream: so do we, as long as it takes */
};
/* Ahead of a copy that would wait in the driver, with a lock held. */
void fence_copy_begin(CUstream stream, enum fence_copy kind);
/* Waits for nothing: no new launch is managed until fence_end, that is all. */
void fence_stand(void);
void fence_end(void);
/* The same on all devices of the program: the driver may wait for any of them. */
void fence_all_begin(enum fence_kind kind);
void fence_all_end(void);
bool fence_active(void);

/* ---- the thread (agent.c) ---- */
int agent_start(void);
void agent_poke(void);

#endif
