/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Limits how many threads make forms at the same time, with a semaphore. */
#include "shim/form/turns.h"

#include "shim/core/lock.h"
#include "shim/form/kernel.h"

#include <sched.h>
#include <semaphore.h>

#define AT_WORK_MAX 4 /* maximum number of threads that make forms */

static sem_t turns;          /* its value is the number of threads that may still begin */
static unsigned await_round; /* launches wait until this number changes; guarded by kernel_lock */

/* Returns the number of threads that can work at once: half of the processors that the program may
 * use, so that the threads do not slow the program; at least 1 and at most AT_WORK_MAX. */
static unsigned most_at_work(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) / 2 : 1;

	return (unsigned)MAX(MIN(n, AT_WORK_MAX), 1);
}

void turns_init(void)
{
	sem_init(&turns, 0, most_at_work());
}

void turn_begin(void)
{
	while (sem_wait(&turns) < 0)
		;
}

void turn_end(void)
{
	sem_post(&turns);
}

void turns_await_none(void)
{
	lock_take(&kernel_lock);
	await_round++;
	pthread_cond_broadcast(&kernel_done);
	lock_drop(&kernel_lock);
}

unsigned turns_round(void)
{
	return await_round;
}
