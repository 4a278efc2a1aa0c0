/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Steps this process's resident blocks, that is, executes some instructions of each in turn. Worker
 * threads do this. In serial mode, the thread that waits for the result does it, on a virtual
 * clock. A run is one launch from submission to its end. */
#ifndef HEDDLE_VGPU_SM_POOL_H
#define HEDDLE_VGPU_SM_POOL_H

#include <pthread.h>

#include "dev/cpu/vgpu.h"
#include "sm.h"

struct vgpu_task;
struct vgpu_run {
	/* Set by the submitter: */
	struct vgpu_launch launch;
	struct sm_demand demand;
	uint64_t n_blocks;
	int priority; /* higher numbers run first */
	bool cooperative;
	/* called once when the run has no block left, with the big lock held */
	void (*done)(struct vgpu_run *r);
	/* The outcome: */
	struct vgpu_fault *fault; /* NULL: none; vgpu_run_finish frees it */
	/* -ENOMEM: a block or the fault report could not be created; -ESTALE: the process lost its
	 * table entry on the device (sm_lost); otherwise an error of sm_launch */
	int error;
	uint64_t end_ns;
	uint64_t thread_insns;
	/* Used by the pool: */
	uint64_t finished, start_ns;
	uint64_t held; /* number of blocks of the run that were taken and have not ended */
	uint32_t id;
	enum { RUN_NEW, RUN_PENDING, RUN_QUEUED, RUN_ENDED } state;
	bool cancelled;
	struct vgpu_task *cached; /* tasks that keep a block object of this run for reuse */
	/* The caller owns the run. next: in vgpu_pool.pending, and later in vgpu_pool.ended.
	 * live_next: in vgpu_pool.live until it ends. */
	struct vgpu_run *next, *live_next;
};
void vgpu_run_finish(struct vgpu_run *r);

struct vgpu_pool;
/* Creates a pool. `big` is the lock that is held while `done` runs. Callers hold it for all
 * functions below, except where a comment says otherwise. */
int vgpu_pool_create(
	const struct sm_config *c, struct sm *s, pthread_mutex_t *big, struct vgpu_pool **ret);
/* Stops the threads after their current step. Called without the big lock, unless no thread was
 * started. */
void vgpu_pool_destroy(struct vgpu_pool *p);
/* Makes sure that at least one worker thread executes submitted runs. Returns 0 or a negative
 * errno. */
int vgpu_pool_prepare(struct vgpu_pool *p);
void vgpu_pool_submit(struct vgpu_pool *p, struct vgpu_run *r);
/* Drops the run's remaining blocks. `done` is called later, not during this call. */
void vgpu_pool_cancel(struct vgpu_pool *p, struct vgpu_run *r);
/* Returns the time by CLOCK_MONOTONIC, or by the virtual clock in serial mode. CLOCK_MONOTONIC
 * needs no lock. */
uint64_t vgpu_clock_ns(struct vgpu_pool *p);

/* Returns the virtual time of the next step, or UINT64_MAX if there is no block to step. Serial
 * mode only. */
uint64_t vgpu_pool_next_ns(struct vgpu_pool *p);
void vgpu_pool_set_now(struct vgpu_pool *p, uint64_t now_ns);
/* Executes one step; this can call `done`. Returns false if there is no block, or if every block
 * waits for an outside event. */
bool vgpu_pool_step(struct vgpu_pool *p);

#endif
