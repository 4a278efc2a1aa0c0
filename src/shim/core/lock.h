/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Locks with an order (locks.def). In builds with a sanitizer, a thread that takes a lock out of order
 * says so and aborts; in others these are pthread's mutexes. */
#ifndef HEDDLE_SHIM_LOCK_H
#define HEDDLE_SHIM_LOCK_H

#include <pthread.h>

enum lock_name {
#define LOCK(name, what) LOCK_##name,
#include "shim/core/locks.def"
#undef LOCK
	LOCKS
};

struct lock {
	pthread_mutex_t mutex;
	enum lock_name name;
};

#define LOCK_INIT(name)                                \
	{                                              \
		PTHREAD_MUTEX_INITIALIZER, LOCK_##name \
	}

void lock_init(struct lock *l, enum lock_name name);
void lock_finish(struct lock *l);
void lock_take(struct lock *l);
void lock_drop(struct lock *l);
void lock_wait(struct lock *l, pthread_cond_t *c);
/* Like pthread_cond_timedwait. Returns 0 or ETIMEDOUT. */
int lock_wait_until(struct lock *l, pthread_cond_t *c, const struct timespec *until);

#endif
