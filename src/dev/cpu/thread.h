/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Threads of the virtual GPU. They live in programs that know nothing of them, so they take no
 * signal that a program means for itself. */
#ifndef HEDDLE_VGPU_THREAD_H
#define HEDDLE_VGPU_THREAD_H

#include <pthread.h>

/* Starts a thread in which every signal is blocked, but those that a fault in it raises. ret NULL:
 * nobody will join it. 0 or a negative errno (-EAGAIN: the system has none to give). */
int vgpu_thread_start(void *(*fn)(void *), void *arg, pthread_t *ret);

#endif
