/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Threads of the virtual GPU. The program does not know of them, so they must not take the
 * program's signals. */
#ifndef HEDDLE_VGPU_THREAD_H
#define HEDDLE_VGPU_THREAD_H

#include <pthread.h>

/* Starts a thread with all signals blocked, except those of its own faults. ret NULL: the thread is
 * detached. 0 or a negative errno (-EAGAIN: the system refuses a thread). */
int vgpu_thread_start(void *(*fn)(void *), void *arg, pthread_t *ret);

#endif
