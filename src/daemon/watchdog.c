/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The watchdog counts its own ticks instead of reading the clock. If the whole process was stopped,
 * for example by a debugger, that time must not count as time in the call. */
#include "watchdog.h"
#include "policies.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define TICKS 10u /* limit of one call, in ticks */

static struct {
	const char *name, *call;
	uint32_t serial;     /* odd during a call */
	uint32_t generation; /* a thread of an earlier generation must end */
} dog;

static void (*report)(const char *name, const char *call);

static void watchdog_end_process(void)
{
	report(__atomic_load_n(&dog.name, __ATOMIC_RELAXED),
		__atomic_load_n(&dog.call, __ATOMIC_RELAXED));
	_exit(1);
}

static void *watchdog_thread(void *arg)
{
	const struct timespec tick = {.tv_nsec = POLICY_CALL_MAX_NS / TICKS};
	uint32_t own = (uint32_t)(uintptr_t)arg, seen = 0, ticks = 0;

	while (__atomic_load_n(&dog.generation, __ATOMIC_ACQUIRE) == own) {
		uint32_t now;

		nanosleep(&tick, NULL);
		now = __atomic_load_n(&dog.serial, __ATOMIC_ACQUIRE);
		ticks = now == seen && now & 1 ? ticks + 1 : 0;
		seen = now;
		if (ticks == TICKS)
			watchdog_end_process();
	}
	return NULL;
}

void watchdog_report(void (*fn)(const char *name, const char *call))
{
	report = fn;
}

int watchdog_start(void)
{
	uintptr_t own = __atomic_add_fetch(&dog.generation, 1, __ATOMIC_RELEASE);
	sigset_t all, was;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	r = pthread_create(&thread, NULL, watchdog_thread, (void *)own);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (r == 0)
		/* Stopping the watchdog does not wait for the thread, which may sleep for one
		 * tick. */
		pthread_detach(thread);
	return -r;
}

void watchdog_stop(void)
{
	__atomic_fetch_add(&dog.generation, 1, __ATOMIC_RELEASE);
}

void watchdog_enter(const char *name, const char *call)
{
	__atomic_store_n(&dog.name, name, __ATOMIC_RELAXED);
	__atomic_store_n(&dog.call, call, __ATOMIC_RELAXED);
	__atomic_fetch_add(&dog.serial, 1, __ATOMIC_RELEASE);
}

void watchdog_leave(void)
{
	__atomic_fetch_add(&dog.serial, 1, __ATOMIC_RELEASE);
}
