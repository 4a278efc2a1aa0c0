/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Proof of life: a robust mutex in the shared segment, which a thread of the process holds for as
 * long as the process uses the device. The kernel lets go of it when that thread ends for whatever
 * reason. So it asks neither for a descriptor nor for /proc, means the same in every pid namespace,
 * is not inherited by a child, and is not lost by a program that closes what it did not open. */
#ifndef HEDDLE_VGPU_SM_LIFE_H
#define HEDDLE_VGPU_SM_LIFE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

struct sm_keeper {
	pthread_t thread;
	pthread_mutex_t *life;
	sem_t held, leave;
	int error;
};

/* Takes it, in a new thread; 0 or a negative errno. Only where sm_life_lasts is false. */
int sm_life_begin(struct sm_keeper *k, pthread_mutex_t *life);
/* Lets go of it; the thread is gone when this returns. */
void sm_life_end(struct sm_keeper *k);
/* Somebody holds it. Not for what this process itself holds. */
bool sm_life_lasts(pthread_mutex_t *life);

#endif
