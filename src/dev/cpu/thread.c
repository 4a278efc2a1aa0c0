/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See thread.h. A thread inherits the mask of the one that makes it, so that is changed meanwhile;
 * a thread that blocked its signals itself could take one before it comes to that. */
#include "thread.h"

#include <signal.h>

#include "base/base.h"

/* The kernel ends a program that blocks what a fault of its own raises: its handlers for them (of
 * sanitizers, of managed languages) have to stay reachable from host functions. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

int vgpu_thread_start(void *(*fn)(void *), void *arg, pthread_t *ret)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t id;

	sigfillset(&all);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		sigdelset(&all, faults[i]);
	int r = pthread_attr_init(&attr);
	if (r)
		return -r;
	if (!ret)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&id, &attr, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (r)
		return -r;
	if (ret)
		*ret = id;
	return 0;
}
