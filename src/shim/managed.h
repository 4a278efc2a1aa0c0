/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Managed launches, and what keeps them from blocking other work: streams and their hardware
 * channels, fences before driver calls that take a lock, and the agent thread that resumes
 * preempted launches. */
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
	/* Used by follow.c. `opaque` counts the stream's unmanaged launches since the last event.
	 * follow.c's lock guards the other four fields:
	 * - batch, began_ns: the launches since the last event whose time heddled limits, and the
	 *   time of the first of them
	 * - events: the number of events in flight
	 * - passed: the last event that has completed */
	_Atomic uint32_t opaque;
	struct cost_batch batch;
	uint64_t began_ns;
	uint32_t events;
	CUevent passed;
	_Atomic unsigned waits; /* sync_count() at its last launch, while there are gates */
};
struct stream *stream_of(CUstream handle); /* NULL: out of memory, or not to be touched */
bool stream_capturing(CUstream handle);
/* Returns true if launches on s can be managed without exhausting the hardware's channels. Counts s
 * as a used stream. */
bool stream_admits(struct stream *s);
void stream_use(struct stream *s); /* before any work is put on it */
/* Switches the calling thread to the session of the stream's device, whichever context is
 * current. */
void stream_route(CUstream handle);
bool stream_served(CUstream handle); /* stream_route, then shim_on */
void stream_touch(CUstream handle);  /* stream_use by handle, if there is a daemon */
/* Reserves a hardware channel for a stream of the shim. Returns false if all channels are in
 * use. */
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
/* Copies n parameters to ret, each to its offset. Returns false if the driver would refuse the
 * parameters. */
bool launch_params(const struct launch *l, uint32_t n, const uint32_t *offsets,
	const uint32_t *sizes, uint8_t *ret);
struct admission;
/* Launches an admitted launch as a managed one. Returns true if it was launched, and stores the
 * driver's result in *ret. If false, the caller launches the kernel unmanaged, for the reason
 * a->why. */
bool managed_launch(const struct launch *l, struct admission *a, CUresult *ret);
int managed_init(void); /* control blocks and helper stream; the context is current */
unsigned managed_outstanding(void);
void managed_reap(void); /* notices what has completed */
/* Resumes launches to which heddled has granted SMs. Returns in how many ns to call this again, or
 * UINT64_MAX if only a wake-up makes that necessary. */
uint64_t managed_resume(void);
bool managed_any_preempted(void);
/* Returns true if some launch has no SMs, so that heddled's next update of the quotas may resume
 * it. */
bool managed_any_waiting(void);
void resume_return_channels(void); /* stream_give_back for channels that are no longer used */
/* Call before a context may end, when no launch is outstanding. Stops querying the context's
 * streams. */
void resume_leave_channels(void);
void resume_forget(void); /* it has ended, and the streams of the rounds with it */
/* Lets all launches run without a daemon: raises the quotas of preempted launches, and of launches
 * that begin. Call this repeatedly. A launch may have begun with the low quotas from before the
 * first call, and the page may show that it has begun only later. */
void managed_take_over(void);
bool managed_any_stopped(void); /* by any daemon, or by the first quotas */
void managed_forget(void);      /* the context is broken or gone: nothing will ever complete */
void managed_after_fork(void);
void managed_stream_destroyed(struct stream *s);

/* ---- unmanaged work of a tenant (opaque.c); follow.h reports when it is complete ---- */
struct opaque {
	bool counted;
	uint64_t what; /* a number that identifies the kernel and its grid, or the graph; never 0 */
	uint32_t us;   /* its estimated time, where the bound counts */
	bool passes;   /* see placing_pass */
};
/* Call these around an unmanaged launch. opaque_begin waits while heddled holds the tenant's
 * launches back, or while the tenant has too much work in flight. */
void opaque_begin(struct stream *s, uint64_t what, struct opaque *ret);
/* Replaces opaque_begin for short work, such as a memset. Never waits, and counts the work only
 * under MPS. */
void opaque_pass(struct stream *s, struct opaque *ret);
void opaque_end(struct stream *s, const struct opaque *o, CUresult r);
void opaque_wake(void); /* waiting threads check again */

void sync_done(void);      /* the program has waited for the device */
unsigned sync_count(void); /* number of waits, from 1 on (sync.c) */
void copies_anew(void);    /* after a launch: later copies are ordered after it (copy.c) */

/* ---- unmanaged launches whose stream waits until heddled admits them (gate.c) ---- */
bool gate_suits(const struct launch *l, struct kernel *k);
bool gate_begin(struct stream *s); /* before the launch; false: launch it as any other */
void gate_end(struct stream *s, CUresult r);
void gate_after_fork(void);

/* ---- how large a launch's input is (inputs.c) ---- */
/* Computes the input sizes of a launch. `params` is one buffer in the driver's layout. If a
 * parameter is a pointer, its size is that of the allocation. This asks the driver for that size,
 * unless the driver's last answer is recent. */
void inputs_of(struct form *f, const uint8_t *params, float ret[WIRE_INPUTS]);
void inputs_forget(void); /* memory may have been freed */

/* ---- fences (fence.c) ---- */
enum fence_kind {
	/* The driver would wait for the GPU, so the shim first waits itself, without a timeout. */
	FENCE_WAITS,
	/* The driver waits for running launches, as it does without heddle. So the shim only waits
	 * while launches are preempted, and otherwise for at most 2 s. */
	FENCE_LOADS,
};
void fence_begin(enum fence_kind kind);
enum fence_copy {
	FENCE_NO_COPY,
	/* The driver may wait for space in its queue, which it would not do without heddle. So the
	 * shim waits first, for a bounded time. */
	FENCE_COPY_MAY,
	/* The driver would wait for the stream, so the shim first waits itself, without a
	 * timeout. */
	FENCE_COPY_WAITS,
};
/* Call before a copy for which the driver would wait while it holds a lock. */
void fence_copy_begin(CUstream stream, enum fence_copy kind);
/* Keeps new launches from being managed until fence_end, but does not wait. */
void fence_stand(void);
void fence_end(void);
/* Begin and end a fence on all devices of the program, for calls that may wait for any device. */
void fence_all_begin(enum fence_kind kind);
void fence_all_end(void);
bool fence_active(void);

/* ---- the thread (agent.c) ---- */
int agent_start(void);
void agent_poke(void);

#endif
