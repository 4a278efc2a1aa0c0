/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Threads of the virtual GPU. The program does not know about them, so they must not receive the
 * program's signals. */
#ifndef HEDDLE_VGPU_THREAD_H
#define HEDDLE_VGPU_THREAD_H

#include <pthread.h>

/* Starts a thread with all signals blocked, except those that its own faults raise. If ret is NULL,
 * the thread is detached. Returns 0 or a negative errno (-EAGAIN if the system refuses to create a
 * thread). */
int vgpu_thread_start(void *(*fn)(void *), void *arg, pthread_t *ret);

#endif
