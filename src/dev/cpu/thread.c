/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Creates threads in which signals are blocked; see thread.h. A new thread inherits the signal mask
 * of its creator, so the creator blocks the signals while it creates the thread. If the new thread
 * blocked the signals itself, a signal could arrive in the thread before that. */
#include "thread.h"

#include <signal.h>

#include "base/base.h"

/* These signals report faults and stay unblocked. Linux kills a program if a fault raises a signal
 * that is blocked. Sanitizers and managed languages handle such signals, also while the thread
 * executes a host function of the program. */
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
