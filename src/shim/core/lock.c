/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Locks, and the check of their order in builds with a sanitizer: each thread notes which locks it
 * holds. */
#include "shim/core/lock.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECKED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHECKED
#endif
#endif

#ifdef CHECKED
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define LOCK(name, what) #name,
#include "shim/core/locks.def"
#undef LOCK
};
static __thread unsigned char held[LOCKS]; /* by lock: 1 if this thread holds it, else 0 */

static void note_taken(enum lock_name name)
{
	for (unsigned later = name; later < LOCKS; later++) {
		if (!held[later])
			continue;
		fprintf(stderr,
			"heddle: lock \"%s\" is taken by a thread that holds lock \"%s\": "
			"locks.def has "
			"them in the other order\n",
			names[name], names[later]);
		abort();
	}
	held[name] = 1;
}

static void note_dropped(enum lock_name name)
{
	held[name] = 0;
}
#else
static inline void note_taken(enum lock_name name)
{
	(void)name;
}

static inline void note_dropped(enum lock_name name)
{
	(void)name;
}
#endif

void lock_init(struct lock *l, enum lock_name name)
{
	pthread_mutex_init(&l->mutex, NULL);
	l->name = name;
}

void lock_finish(struct lock *l)
{
	pthread_mutex_destroy(&l->mutex);
}

void lock_take(struct lock *l)
{
	note_taken(l->name);
	pthread_mutex_lock(&l->mutex);
}

void lock_drop(struct lock *l)
{
	pthread_mutex_unlock(&l->mutex);
	note_dropped(l->name);
}

void lock_wait(struct lock *l, pthread_cond_t *c)
{
	pthread_cond_wait(c, &l->mutex);
}

int lock_wait_until(struct lock *l, pthread_cond_t *c, const struct timespec *until)
{
	return pthread_cond_timedwait(c, &l->mutex, until);
}
