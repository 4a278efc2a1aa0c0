/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Shows other processes that this process is alive. A thread of the process holds a robust mutex in
 * the shared segment as long as the process uses the device. Linux releases the mutex when that
 * thread ends for any reason. This needs neither a file descriptor nor /proc, works in every PID
 * namespace, is not inherited by a child, and works in programs that close descriptors of
 * others. */
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

/* Starts a thread that locks the mutex. Call it only if sm_life_lasts returned false. Returns 0 or
 * a negative errno. */
int sm_life_begin(struct sm_keeper *k, pthread_mutex_t *life);
/* Releases the mutex. The thread has ended when this function returns. */
void sm_life_end(struct sm_keeper *k);
/* Returns true if another process holds the mutex. Do not call it for the mutex that this process
 * holds. */
bool sm_life_lasts(pthread_mutex_t *life);

#endif
