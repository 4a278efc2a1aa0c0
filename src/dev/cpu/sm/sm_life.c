/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See sm_life.h. */
#include "sm_life.h"

#include <errno.h>

#include "dev/cpu/thread.h"

static void wait_for(sem_t *s)
{
	while (sem_wait(s) != 0 && errno == EINTR)
		;
}

static void *hold_life(void *arg)
{
	struct sm_keeper *k = arg;
	int r = pthread_mutex_lock(k->life);

	if (r == EOWNERDEAD)
		r = pthread_mutex_consistent(k->life);
	k->error = -r;
	sem_post(&k->held);
	if (r)
		return NULL;
	wait_for(&k->leave);
	pthread_mutex_unlock(k->life);
	return NULL;
}

int sm_life_begin(struct sm_keeper *k, pthread_mutex_t *life)
{
	k->life = life;
	sem_init(&k->held, 0, 0);
	sem_init(&k->leave, 0, 0);
	int r = vgpu_thread_start(hold_life, k, &k->thread);
	if (r == 0) {
		wait_for(&k->held);
		r = k->error;
		if (r)
			pthread_join(k->thread, NULL);
	}
	if (r) {
		sem_destroy(&k->held);
		sem_destroy(&k->leave);
	}
	return r;
}

void sm_life_end(struct sm_keeper *k)
{
	sem_post(&k->leave);
	pthread_join(k->thread, NULL);
	sem_destroy(&k->held);
	sem_destroy(&k->leave);
}

bool sm_life_lasts(pthread_mutex_t *life)
{
	int r = pthread_mutex_trylock(life);

	if (r == EBUSY)
		return true;
	if (r == EOWNERDEAD)
		r = pthread_mutex_consistent(life);
	if (r == 0)
		pthread_mutex_unlock(life);
	return false;
}
