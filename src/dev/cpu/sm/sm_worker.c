/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A worker thread: steps the resident blocks in turn, and sleeps if there are none. Blocks that
 * only wait (in a nanosleep, or polling a value) are stepped less and less often, so that a waiting
 * kernel costs little. */
#include "sm_task.h"

#include <errno.h>

/* Warp instructions per turn: enough to use the caches well, and few enough for blocks that wait
 * for each other. */
#define BUDGET         2000
#define BACKOFF_MIN_NS 20000
#define BACKOFF_MAX_NS 500000
/* longest sleep while blocks wait for a slot; the worker then checks whether the owners of slots
 * have died */
#define LOOK_AGAIN_NS 20000000

static void put_ready(struct vgpu_pool *p, struct vgpu_task *t)
{
	task_push(&p->ready, t);
}

/* Moves idle tasks whose waiting time is over to the ready list. Returns the time when the next
 * idle task is due. */
static uint64_t wake_idle(struct vgpu_pool *p)
{
	struct task_list keep = {0};
	uint64_t next = UINT64_MAX;

	if (!p->idle.n)
		return next;
	uint64_t now = vgpu_clock_ns(p);
	for (struct vgpu_task *t; (t = task_pop(&p->idle)) != NULL;) {
		if (t->due_ns <= now || t->run->cancelled) {
			task_push(&p->ready, t);
		} else {
			next = MIN(next, t->due_ns);
			task_push(&keep, t);
		}
	}
	p->idle = keep;
	return next;
}

static void after_step(struct vgpu_pool *p, struct vgpu_task *t, enum vgpu_state state)
{
	switch (state) {
	case VGPU_DONE:
		pool_end_block(p, t);
		break;
	case VGPU_FAULT:
		pool_fault(p, t, -ENOMEM);
		break;
	case VGPU_IDLE:
		t->backoff_ns =
			t->backoff_ns ? MIN(t->backoff_ns * 2, BACKOFF_MAX_NS) : BACKOFF_MIN_NS;
		t->due_ns = vgpu_clock_ns(p) + t->backoff_ns;
		task_push(&p->idle, t);
		break;
	case VGPU_RUNNING:
		t->backoff_ns = 0;
		task_push(&p->ready, t);
		break;
	}
}

static void tell_ended(struct vgpu_pool *p)
{
	for (;;) {
		pthread_mutex_lock(p->big);
		pthread_mutex_lock(&p->lock);
		struct vgpu_run *r = pool_pop_ended(p);
		pthread_mutex_unlock(&p->lock);
		if (r)
			r->done(r);
		pthread_mutex_unlock(p->big);
		if (!r)
			return;
	}
}

static void rest_worker(struct vgpu_pool *p, uint32_t word, uint64_t due, bool unplaced)
{
	uint64_t timeout = UINT64_MAX;

	if (due != UINT64_MAX) {
		uint64_t now = vgpu_clock_ns(p);
		timeout = due > now ? due - now : 1;
	}
	if (unplaced)
		timeout = MIN(timeout, LOOK_AGAIN_NS);
	sm_sleep(p->sm, word, timeout);
}

void *pool_worker(void *arg)
{
	struct vgpu_pool *p = arg;
	struct vgpu_task *t = NULL;
	enum vgpu_state state = VGPU_RUNNING;

	for (;;) {
		uint32_t word = sm_word(p->sm);
		pthread_mutex_lock(&p->lock);
		if (t)
			after_step(p, t, state);
		if (!p->lost && sm_lost(p->sm))
			pool_lose(p);
		if (p->pending)
			pool_retry(p);
		pool_take(p, put_ready);
		uint64_t due = wake_idle(p);
		bool ended = p->ended != NULL, unplaced = p->unplaced != 0, stop = p->stop;
		t = stop || ended ? NULL : task_pop(&p->ready);
		if (t && t->run->cancelled) {
			pool_end_block(p, t);
			t = NULL;
			ended = true; /* the run may have ended, so check again */
		}
		pthread_mutex_unlock(&p->lock);
		if (stop)
			return NULL;
		if (ended)
			tell_ended(p);
		else if (!t)
			rest_worker(p, word, due, unplaced);
		if (t) {
			/* Other threads may step blocks of the same SM meanwhile. So each step
			 * starts from the SM's latest clock, and the clock only moves forward. */
			uint64_t *at = &p->clock_ns[t->sm], was, clock;

			clock = was = __atomic_load_n(at, __ATOMIC_RELAXED);
			state = task_step(t, BUDGET, &clock);
			while (was < clock && !__atomic_compare_exchange_n(at, &was, clock, true,
						      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
				;
		}
	}
}
