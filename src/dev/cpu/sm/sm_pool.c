/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The pool of runs and tasks: a run is a launch, and a task is a block slot that this process uses.
 * This file contains the code that the two stepping modes share, worker threads (sm_worker.c) and
 * serial mode (sm_serial.c). Locks are taken in this order: p->big (the driver's lock), the pool's
 * lock, the shared table's lock. */
#include "sm_task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dev/cpu/thread.h"

void task_push(struct task_list *l, struct vgpu_task *t)
{
	t->next = NULL;
	if (l->last)
		l->last->next = t;
	else
		l->first = t;
	l->last = t;
	l->n++;
}

struct vgpu_task *task_pop(struct task_list *l)
{
	struct vgpu_task *t = l->first;

	if (t) {
		l->first = t->next;
		if (!l->first)
			l->last = NULL;
		l->n--;
	}
	return t;
}

/* Appends a run to one of the pool's lists of pending and ended runs. */
static void run_append(struct vgpu_run **list, struct vgpu_run *r)
{
	while (*list)
		list = &(*list)->next;
	r->next = NULL;
	*list = r;
}

static void task_forget_block(struct vgpu_task *t)
{
	if (!t->block)
		return;
	t->linked = false;
	for (struct vgpu_task **at = &t->run->cached; *at; at = &(*at)->cached)
		if (*at == t) {
			*at = t->cached;
			break;
		}
	vgpu_block_destroy(t->block);
	t->block = NULL;
}

static void run_end(struct vgpu_pool *p, struct vgpu_run *r)
{
	while (r->cached)
		task_forget_block(r->cached);
	for (struct vgpu_run **at = &p->live; *at; at = &(*at)->live_next)
		if (*at == r) {
			*at = r->live_next;
			break;
		}
	r->state = RUN_ENDED;
	r->end_ns = vgpu_clock_ns(p);
	p->unplaced--;
	run_append(&p->ended, r);
}

struct vgpu_run *pool_pop_ended(struct vgpu_pool *p)
{
	struct vgpu_run *r = p->ended;

	if (r)
		p->ended = r->next;
	return r;
}

void pool_retry(struct vgpu_pool *p)
{
	while (p->pending) {
		struct vgpu_run *r = p->pending;
		int e = sm_launch(p->sm, &r->demand, r->n_blocks, r->priority, r->cooperative,
			(uint64_t)(uintptr_t)r, &r->id);
		if (e == -EAGAIN)
			return;
		p->pending = r->next;
		r->state = RUN_QUEUED;
		if (e) {
			r->error = e;
			r->n_blocks = 0;
			run_end(p, r);
		}
	}
}

bool pool_take(struct vgpu_pool *p, void (*put)(struct vgpu_pool *p, struct vgpu_task *t))
{
	struct sm_block at[64];
	bool any = false;
	unsigned n;

	while ((n = sm_take(p->sm, at, ARRAY_LEN(at))) > 0) {
		any = true;
		for (unsigned i = 0; i < n; i++) {
			struct vgpu_task *t = &p->tasks[at[i].sm * SM_MAX_SLOTS + at[i].slot];
			struct vgpu_run *r = (struct vgpu_run *)(uintptr_t)at[i].user;
			if (t->run != r)
				task_forget_block(t);
			t->run = r;
			r->held++;
			t->sm = at[i].sm;
			t->slot = at[i].slot;
			t->index = at[i].index;
			t->backoff_ns = 0;
			t->fresh = true;
			put(p, t);
		}
	}
	return any;
}

/* Executes one step of the task's block. The block is created here, without the pool's lock. It
 * enters the run's list when the block ends. */
enum vgpu_state task_step(struct vgpu_task *t, uint64_t budget, uint64_t *io_cycles)
{
	struct vgpu_run *r = t->run;
	uint64_t insns = 0;

	if (t->fresh && t->block) {
		vgpu_block_reset(t->block, t->index);
	} else if (t->fresh) {
		int e = vgpu_block_create(&r->launch, t->index, t->sm, t->slot, &t->block);
		if (e) {
			t->block = NULL;
			return VGPU_FAULT;
		}
	}
	t->fresh = false;
	enum vgpu_state s = vgpu_block_step(t->block, budget, &insns, io_cycles);
	__atomic_fetch_add(&r->thread_insns, insns, __ATOMIC_RELAXED);
	return s;
}

/* Adds the task to its run's list of tasks that have a block object, unless it is in the list
 * already. */
static void link_block(struct vgpu_task *t)
{
	if (!t->block || t->linked)
		return;
	t->linked = true;
	t->cached = t->run->cached;
	t->run->cached = t;
}

void pool_end_block(struct vgpu_pool *p, struct vgpu_task *t)
{
	struct vgpu_run *r = t->run;

	link_block(t);
	r->finished++;
	r->held--;
	sm_release(p->sm, t->sm, t->slot);
	if (r->finished == r->n_blocks)
		run_end(p, r);
}

static void pool_stop_run(struct vgpu_pool *p, struct vgpu_run *r)
{
	if (r->cancelled || r->state == RUN_ENDED)
		return;
	r->cancelled = true;
	if (r->state == RUN_PENDING) {
		for (struct vgpu_run **at = &p->pending; *at; at = &(*at)->next)
			if (*at == r) {
				*at = r->next;
				break;
			}
		r->n_blocks = 0;
	} else {
		r->n_blocks -= sm_cancel(p->sm, r->id);
	}
	if (r->finished == r->n_blocks)
		run_end(p, r);
}

void pool_fault(struct vgpu_pool *p, struct vgpu_task *t, int error)
{
	struct vgpu_run *r = t->run;
	const struct vgpu_fault *f = t->block ? vgpu_block_fault(t->block) : NULL;

	if (!r->fault && !r->error) {
		r->error = f ? 0 : error;
		if (f && (r->fault = malloc(sizeof(*f))) != NULL)
			*r->fault = *f;
		else if (f)
			r->error = -ENOMEM;
	}
	/* This block is not counted as finished yet, so pool_stop_run cannot end the run. */
	pool_stop_run(p, r);
	pool_end_block(p, t);
}

void pool_lose(struct vgpu_pool *p)
{
	p->lost = true;
	for (struct vgpu_run *r = p->live, *next; r; r = next) {
		next = r->live_next;
		if (!r->fault && !r->error)
			r->error = -ESTALE;
		pool_stop_run(p, r);
		if (r->state == RUN_ENDED)
			continue;
		/* More blocks may have been placed, but this process will never get them. */
		r->n_blocks = r->finished + r->held;
		if (r->held == 0)
			run_end(p, r);
	}
}

void vgpu_run_finish(struct vgpu_run *r)
{
	free(r->fault);
	r->fault = NULL;
}

uint64_t vgpu_clock_ns(struct vgpu_pool *p)
{
	struct timespec ts;

	if (p->config.serial)
		return p->now_ns;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int vgpu_pool_create(
	const struct sm_config *c, struct sm *s, pthread_mutex_t *big, struct vgpu_pool **ret)
{
	struct vgpu_pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->tasks = calloc((size_t)c->n_sms * SM_MAX_SLOTS, sizeof(*p->tasks));
	p->n_workers = sm_workers(c);
	p->threads = calloc(p->n_workers, sizeof(*p->threads));
	if (!p->tasks || !p->threads) {
		free(p->tasks);
		free(p->threads);
		free(p);
		return -ENOMEM;
	}
	p->sm = s;
	p->config = *c;
	p->big = big;
	pthread_mutex_init(&p->lock, NULL);
	*ret = p;
	return 0;
}

/* Starts the worker threads. This happens at the first launch, because programs that only query
 * attributes need no threads. One thread is enough for progress; each launch tries to start the
 * missing ones. */
static int start_threads(struct vgpu_pool *p)
{
	int r = 0;

	while (p->n_threads < p->n_workers && r == 0) {
		r = vgpu_thread_start(pool_worker, p, &p->threads[p->n_threads]);
		if (r == 0)
			p->n_threads++;
	}
	return p->n_threads ? 0 : r;
}

int vgpu_pool_prepare(struct vgpu_pool *p)
{
	int r = 0;

	if (p->config.serial)
		return 0;
	pthread_mutex_lock(&p->lock);
	r = start_threads(p);
	pthread_mutex_unlock(&p->lock);
	return r;
}

void vgpu_pool_destroy(struct vgpu_pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_mutex_unlock(&p->lock);
	sm_wake(p->sm, 1 << 30);
	for (unsigned i = 0; i < p->n_threads; i++)
		pthread_join(p->threads[i], NULL);
	for (size_t i = 0; i < (size_t)p->config.n_sms * SM_MAX_SLOTS; i++)
		if (p->tasks[i].block)
			vgpu_block_destroy(p->tasks[i].block);
	pthread_mutex_destroy(&p->lock);
	free(p->tasks);
	free(p->threads);
	free(p);
}

void vgpu_pool_submit(struct vgpu_pool *p, struct vgpu_run *r)
{
	pthread_mutex_lock(&p->lock);
	r->state = RUN_PENDING;
	r->finished = r->held = 0;
	r->cached = NULL;
	r->cancelled = false;
	r->live_next = p->live;
	p->live = r;
	p->unplaced++;
	r->start_ns = vgpu_clock_ns(p);
	run_append(&p->pending, r);
	pool_retry(p);
	/* Threads sleep until a block is placed. If the owners of the slots die, nothing is placed,
	 * so nothing wakes the threads. Therefore one thread has to check for dead processes from
	 * now on. */
	if (!p->config.serial && !sm_has_grants(p->sm))
		sm_wake(p->sm, 1);
	pthread_mutex_unlock(&p->lock);
}

void vgpu_pool_cancel(struct vgpu_pool *p, struct vgpu_run *r)
{
	pthread_mutex_lock(&p->lock);
	pool_stop_run(p, r);
	pthread_mutex_unlock(&p->lock);
	sm_wake(p->sm, 1);
}
