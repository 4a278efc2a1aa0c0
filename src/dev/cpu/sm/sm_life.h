/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Proof of life: a robust mutex in the shared segment, held by a thread of the process as long as
 * the process uses the device. The kernel releases the mutex when that thread ends for whatever
 * reason. So it needs neither a descriptor nor /proc, works in every pid namespace, is not
 * inherited by a child, and survives a program that closes foreign descriptors. */
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

/* Takes the mutex in a new thread; 0 or a negative errno. Only if sm_life_lasts is false. */
int sm_life_begin(struct sm_keeper *k, pthread_mutex_t *life);
/* Releases the mutex; the thread has ended when this returns. */
void sm_life_end(struct sm_keeper *k);
/* Does a process hold the mutex? Not valid for one that this process holds. */
bool sm_life_lasts(pthread_mutex_t *life);

#endif
