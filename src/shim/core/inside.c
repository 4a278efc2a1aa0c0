/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Counts the threads of the shim that are in the driver. At the end of the program the driver shuts
 * down, so the exit handler of this file waits until there are none. */
#include "shim/core/inside.h"
#include "shim/core/lock.h"

#include <stdlib.h>
#include <time.h>

/* The longest time, in seconds, that the program's end waits for threads that compile. The wait is
 * bounded because a program can end itself in a callback of the driver. The thread that ends the
 * program then holds a lock of the driver. If a compiling thread waits for that lock, it never
 * finishes. */
#define LONGEST_S 30

static struct lock lock = LOCK_INIT(inside);
static pthread_cond_t none_inside = PTHREAD_COND_INITIALIZER;
static unsigned n_inside; /* guarded by the lock */
struct inside {
	unsigned n, n_pauses;
};
static bool ends;

/* Call under the lock. */
static void await_none(const unsigned *n)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LONGEST_S;
	while (*n && lock_wait_until(&lock, &none_inside, &until) == 0)
		;
}

static void at_exit(void)
{
	lock_take(&lock);
	ends = true;
	await_none(&n_inside);
	lock_drop(&lock);
}

void inside_pause(struct session *session, const struct session_ends *ends)
{
	lock_take(&lock);
	session->inside->n_pauses++;
	await_none(&session->inside->n);
	lock_drop(&lock);
}

void inside_resume(struct session *session, const struct session_ends *ends)
{
	lock_take(&lock);
	session->inside->n_pauses--;
	lock_drop(&lock);
}

bool inside_begin(struct session *session)
{
	bool may;

	lock_take(&lock);
	may = !ends && !session->inside->n_pauses;
	n_inside += may;
	session->inside->n += may;
	lock_drop(&lock);
	return may;
}

void inside_end(struct session *session)
{
	lock_take(&lock);
	n_inside--;
	session->inside->n--;
	pthread_cond_broadcast(&none_inside);
	lock_drop(&lock);
}

void inside_at_exit(void)
{
	atexit(at_exit);
}

bool inside_open(struct session *session)
{
	session->inside = calloc(1, sizeof(*session->inside));
	return session->inside;
}

void inside_after_fork(void)
{
	lock_init(&lock, LOCK_inside);
	pthread_cond_init(&none_inside, NULL);
	n_inside = 0;
}
