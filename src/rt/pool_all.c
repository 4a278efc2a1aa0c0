/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* All pools of the process, of all handles. They share the GPU. While a pool is on the GPU, the
 * driver may have to wait for that pool before it frees memory, loads a module or starts another
 * launch. This file also detects the child of a fork. The child cannot use the pools, because their
 * threads do not exist in the child and the pinned memory may belong to the parent. */
#include "rt/pool_all.h"

#include <errno.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* taken before the lock of any pool */
static struct heddle_tasks *all;
static _Atomic unsigned held, process;

static void begin_child(void)
{
	atomic_fetch_add(&process, 1);
	/* In the child, the thread that held the lock does not exist. */
	pthread_mutex_init(&lock, NULL);
	all = NULL;
	atomic_store(&held, 0);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, begin_child);
}

/* Returns a number that is different in a child of fork. */
static unsigned this_process(void)
{
	return atomic_load_explicit(&process, memory_order_relaxed);
}

int pool_check(const struct heddle_tasks *t)
{
	if (!t)
		return pool_fail(-EINVAL, "NULL is no pool");
	if (t->process != this_process())
		return pool_fail(-EINVAL, "this process is a child of the one that made the pool: "
					  "it has to open a handle "
					  "and a pool of its own");
	return 0;
}

void pools_enlist(struct heddle_tasks *t)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	t->process = this_process();
	pthread_mutex_lock(&lock);
	t->next_of_all = all;
	all = t;
	pthread_mutex_unlock(&lock);
}

void pools_delist(struct heddle_tasks *t)
{
	pthread_mutex_lock(&lock);
	for (struct heddle_tasks **at = &all; *at; at = &(*at)->next_of_all)
		if (*at == t) {
			*at = t->next_of_all;
			break;
		}
	pthread_mutex_unlock(&lock);
}

bool pools_are_held(void)
{
	return atomic_load(&held);
}

static void let_go(void)
{
	if (atomic_fetch_sub(&held, 1) == 1)
		for (struct heddle_tasks *t = all; t; t = t->next_of_all) {
			pthread_mutex_lock(&t->lock);
			pool_resume(t);
			pthread_mutex_unlock(&t->lock);
		}
}

/* Returns true if another pool waits for space on the GPU. Returns false if another thread holds
 * the list of pools; then the caller asks again later. */
bool pools_one_waits(const struct heddle_tasks *but)
{
	bool any = false;

	if (pthread_mutex_trylock(&lock) != 0)
		return false;
	for (const struct heddle_tasks *t = all; t; t = t->next_of_all)
		any |= t != but && atomic_load(&t->waits);
	pthread_mutex_unlock(&lock);
	return any;
}

/* Parks all pools. A pool that is created meanwhile sees that pools are held. */
int pools_hold(void)
{
	int r = 0;

	pthread_mutex_lock(&lock);
	atomic_fetch_add(&held, 1);
	for (struct heddle_tasks *t = all; t && r != -ETIMEDOUT; t = t->next_of_all) {
		pthread_mutex_lock(&t->lock);
		/* Another error means that the pool failed, which other calls report. */
		r = pool_park_within(t, ENDING_NS);
		pthread_mutex_unlock(&t->lock);
	}
	if (r == -ETIMEDOUT)
		let_go();
	pthread_mutex_unlock(&lock);
	return r == -ETIMEDOUT ? r : 0;
}

int rt_pools_hold(struct heddle *h)
{
	if (pools_hold() == 0)
		return 0;
	return rt_fail(h, -ETIMEDOUT, "try again once it has",
		"a task of a pool has not ended within %u s, and until then the device loads and "
		"frees "
		"nothing",
		(unsigned)(ENDING_NS / 1000000000u));
}

void rt_pools_release(void)
{
	pthread_mutex_lock(&lock);
	let_go();
	pthread_mutex_unlock(&lock);
}
