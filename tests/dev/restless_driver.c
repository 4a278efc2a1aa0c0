/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A driver that starts a thread in cuInit. The thread runs until the process ends, as NVIDIA's
 * driver threads do. */
#include "dev/cu.h"

#include <pthread.h>
#include <time.h>

#define API __attribute__((visibility("default")))

static volatile unsigned turns;

static void *work(void *arg)
{
	for (;;) {
		struct timespec pause = {0, 100000};

		turns++;
		nanosleep(&pause, NULL);
	}
	return arg;
}

API CUresult cuInit(unsigned int flags);
CUresult cuInit(unsigned int flags)
{
	pthread_t thread;

	(void)flags;
	return pthread_create(&thread, NULL, work, NULL) == 0 ? CUDA_SUCCESS
							      : CUDA_ERROR_OUT_OF_MEMORY;
}

API CUresult cuDriverGetVersion(int *version);
CUresult cuDriverGetVersion(int *version)
{
	*version = (int)turns; /* counts the thread's iterations */
	return CUDA_SUCCESS;
}
