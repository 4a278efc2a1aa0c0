/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Definitions that the threaded mode and the serial mode of stepping blocks share. */
#ifndef HEDDLE_VGPU_SM_TASK_H
#define HEDDLE_VGPU_SM_TASK_H

#include "sm_pool.h"

/* A block slot of an SM that this process uses. The task keeps its last block object for the next
 * block of the same run. */
struct vgpu_task {
	struct vgpu_run *run; /* run that the task's block belongs to, or last belonged to */
	struct vgpu_block *block;
	/* next in one of the pool's task_lists; the array `tasks` owns it */
	struct vgpu_task *next;
	/* next in vgpu_run.cached, while the task keeps a block of that run */
	struct vgpu_task *cached;
	uint64_t index;  /* index of the block */
	uint64_t due_ns; /* if idle: time at which to step it again */
	uint32_t backoff_ns;
	uint16_t sm, slot;
	bool linked; /* the task is in vgpu_run.cached */
	bool fresh;  /* create or reset the block before its next step */
};

struct task_list {
	struct vgpu_task *first, *last;
	unsigned n;
};

struct vgpu_pool {
	struct sm *sm;
	struct sm_config config;
	pthread_mutex_t *big;
	pthread_mutex_t lock; /* protects everything below; locked after big */
	struct vgpu_task *tasks;
	struct task_list ready, idle;
	struct vgpu_run *pending; /* runs that are not in the shared queue yet, in launch order */
	struct vgpu_run *ended;   /* runs for which `done` is still to be called */
	struct vgpu_run *live;    /* all other runs */
	uint64_t unplaced;        /* number of runs that may have blocks to place */
	pthread_t *threads;
	unsigned n_threads, n_workers; /* threads running, and their maximum number */
	bool stop, lost;
	/* Serial mode only: */
	uint64_t now_ns, clock_ns[SM_MAX_SMS];
	struct task_list on_sm[SM_MAX_SMS];
	unsigned idle_streak;
};

void task_push(struct task_list *l, struct vgpu_task *t);
struct vgpu_task *task_pop(struct task_list *l);

/* Call these with the pool's lock held. */
void pool_retry(struct vgpu_pool *p); /* moves pending runs to the shared queue */
/* Takes newly placed blocks, and passes the task of each to `put`. */
bool pool_take(struct vgpu_pool *p, void (*put)(struct vgpu_pool *p, struct vgpu_task *t));
/* Ends the task's block and releases its slot. */
void pool_end_block(struct vgpu_pool *p, struct vgpu_task *t);
void pool_fault(struct vgpu_pool *p, struct vgpu_task *t, int error);
/* Ends every run with an error because the process has lost its table entry on the device. A run
 * with blocks that are being stepped ends after these steps. */
void pool_lose(struct vgpu_pool *p);
struct vgpu_run *pool_pop_ended(struct vgpu_pool *p);

/* Executes one step of the task's block. Called without the lock. */
enum vgpu_state task_step(struct vgpu_task *t, uint64_t budget, uint64_t *io_cycles);

void *pool_worker(void *arg);

#endif
