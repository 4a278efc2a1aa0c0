/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Managed launches, and the parts that keep them from blocking other work: streams and their
 * channels, fences before driver calls that lock, the agent that resumes preempted launches. */
#ifndef HEDDLE_SHIM_MANAGED_H
#define HEDDLE_SHIM_MANAGED_H

#include "shim/cost.h"
#include "shim/kernel.h"

/* ---- streams (stream.c) ---- */
struct stream {
	CUstream handle; /* never 0: CU_STREAM_LEGACY or CU_STREAM_PER_THREAD instead */
	int priority;    /* the program's; smaller goes first, as CUDA has it */
	bool destroyed;
	CUcontext ctx;                /* where it was made; NULL: a default stream, or not known */
	_Atomic bool used;            /* the shim has seen work of any kind on it */
	pthread_mutex_t lock;         /* keeps a launch and its wait together in the stream */
	CUdeviceptr ctl;              /* its control block; 0: none yet */
	unsigned ctl_epoch;           /* the context epoch of `ctl` (ctlpool.c) */
	uint32_t gen;                 /* generation of its next launch */
	_Atomic unsigned outstanding; /* managed launches not known complete */
	_Atomic unsigned ended;       /* and those that were */
	_Atomic unsigned gave_up;     /* see patience.c */
	/* Of follow.c: unmanaged launches without an event yet. The other four are under its lock:
	 * those launches that count for the bound, when the first of them was launched, events in
	 * flight, and the last event that passed. */
	_Atomic uint32_t opaque;
	struct cost_batch batch;
	uint64_t began_ns;
	uint32_t events;
	CUevent passed;
	_Atomic unsigned waits; /* sync_count() at its last launch, while there are gates */
};
struct stream *stream_of(CUstream handle); /* NULL: out of memory, or not to be touched */
bool stream_capturing(CUstream handle);
/* May launches on s be managed without exhausting the hardware's channels? Counts s as used. */
bool stream_admits(struct stream *s);
void stream_use(struct stream *s); /* before any work is put on it */
/* Switches the thread to the session of the stream's device, whichever context is current. */
void stream_route(CUstream handle);
bool stream_served(CUstream handle); /* stream_route, then shim_on */
void stream_touch(CUstream handle);  /* stream_use by handle, if there is a daemon */
/* reserves a channel for a stream of the shim; false: all are used */
bool stream_borrow(void);
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
/* Copies n parameters to ret, each to its offset. False: the driver refuses them. */
bool launch_params(const struct launch *l, uint32_t n, const uint32_t *offsets,
	const uint32_t *sizes, uint8_t *ret);
struct admission;
/* For an admitted launch. True: launched, with the result in *ret. False: launch it unmanaged, for
 * the reason a->why. */
bool managed_launch(const struct launch *l, struct admission *a, CUresult *ret);
int managed_init(void); /* control blocks and helper stream; the context is current */
unsigned managed_outstanding(void);
void managed_reap(void); /* notices what has completed */
/* Resumes granted launches. Returns in how many ns to call again; UINT64_MAX: when woken. */
uint64_t managed_resume(void);
bool managed_any_preempted(void);
/* Some launch is not granted: the daemon's next word may resume it. */
bool managed_any_waiting(void);
void resume_return_channels(void); /* stream_give_back for channels that are no longer used */
/* The context may end, and no launch is outstanding: no stream of it is queried any more. */
void resume_leave_channels(void);
void resume_forget(void); /* it has ended, and the streams of the rounds with it */
/* Without a daemon: raises all quotas of stopped launches, and of launches that begin. Called
 * repeatedly, since a launch's start with smaller quotas may show late. */
void managed_take_over(void);
bool managed_any_stopped(void); /* by any daemon, or by the first quotas */
void managed_forget(void);      /* the context is broken or gone: nothing will ever complete */
void managed_after_fork(void);
void managed_stream_destroyed(struct stream *s);

/* ---- unmanaged work of a tenant (opaque.c; when it is over: follow.h) ---- */
struct opaque {
	bool counted;
	uint64_t what; /* a number for the kernel and its grid, or for the graph: never 0 */
	uint32_t us;   /* its estimated time, where the bound counts */
	bool passes;   /* see placing_pass */
};
/* Around an unmanaged launch: waits while the tenant is held, or has enough work in flight. */
void opaque_begin(struct stream *s, uint64_t what, struct opaque *ret);
/* The same for short work, such as a memset: never waits, and counts only under MPS. */
void opaque_pass(struct stream *s, struct opaque *ret);
void opaque_end(struct stream *s, const struct opaque *o, CUresult r);
void opaque_wake(void); /* waiting threads check again */

void sync_done(void);      /* the program has waited for the device */
unsigned sync_count(void); /* number of waits, from 1 on (sync.c) */
void copies_anew(void);    /* after a launch: later copies are ordered after it (copy.c) */

/* ---- unmanaged launches that a word in their stream holds (gate.c) ---- */
bool gate_suits(const struct launch *l, struct kernel *k);
bool gate_begin(struct stream *s); /* before the launch; false: launch it as any other */
void gate_end(struct stream *s, CUresult r);
void gate_after_fork(void);

/* ---- how large a launch's input is (inputs.c) ---- */
/* params: one buffer, in the driver's layout. Asks the driver where a pointer leads, unless the
 * last answer is recent. */
void inputs_of(struct form *f, const uint8_t *params, float ret[WIRE_INPUTS]);
void inputs_forget(void); /* memory may have been freed */

/* ---- fences (fence.c) ---- */
enum fence_kind {
	FENCE_WAITS, /* the driver would wait for the GPU: wait first, without a timeout */
	/* wait while launches are preempted, else for 2 s at most: the driver waits for running
	 * launches, as it does natively */
	FENCE_LOADS,
};
void fence_begin(enum fence_kind kind);
enum fence_copy {
	FENCE_NO_COPY,
	FENCE_COPY_MAY,   /* the driver may wait for room, and would not natively: a bounded wait */
	FENCE_COPY_WAITS, /* the driver would wait for the stream: wait first, without a timeout */
};
/* Before a copy that would wait in the driver, with a lock held. */
void fence_copy_begin(CUstream stream, enum fence_copy kind);
/* Only keeps new launches from being managed until fence_end; does not wait. */
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
