/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See unseen.h. */
#include "host/unseen.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif

struct work {
	void (*fn)(void *);
	void *arg;
};

static void *run_unseen(void *arg)
{
	const struct work *w = arg;

#ifdef SYS_close_range
	/* This thread gets a descriptor table of its own, without the program's descriptors from 3
	 * on. So this thread keeps no pipe of the program open that the program closes
	 * meanwhile. */
	syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_UNSHARE);
#endif
	w->fn(w->arg);
	return NULL;
}

void host_run_unseen(void (*fn)(void *arg), void *arg)
{
	struct work w = {fn, arg};
	sigset_t all, old;
	pthread_t t;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&t, NULL, run_unseen, &w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r == 0)
		pthread_join(t, NULL);
	else
		fn(arg);
}
