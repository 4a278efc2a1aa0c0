/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests threads: each has its own device, last error, pushed configuration and default stream.
 * All threads make their first calls at the same time. */
#include "host.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 8, N = 64, ROUNDS = 8 };

static pthread_barrier_t together;

struct worker {
	pthread_t thread;
	unsigned k;
	const char *what; /* the failed check; NULL: none */
};

static void *work(void *user)
{
	struct worker *w = user;
	unsigned host[N];
	CUdeviceptr p = 0;

	pthread_barrier_wait(&together);
	for (unsigned round = 0; round < ROUNDS && !w->what; round++) {
		if (cudaMalloc(&p, sizeof(host)))
			w->what = "cudaMalloc";
		/* Each thread causes an error of its own. */
		if (w->k % 2 ? cudaSetDevice(50) != cudaErrorInvalidDevice
			     : cudaMalloc(NULL, 1) != cudaErrorInvalidValue)
			w->what = "an error";
		LAUNCH(number, 1, N, 0, CU_STREAM_PER_THREAD, (unsigned *)p, N - w->k);
		if (cudaGetLastError() !=
			(w->k % 2 ? cudaErrorInvalidDevice : cudaErrorInvalidValue))
			w->what = "cudaGetLastError";
		memset(host, 0, sizeof(host));
		if (cudaMemcpy_ptds(host, (void *)p, sizeof(host), RT_DEVICE_TO_HOST))
			w->what = "cudaMemcpy";
		for (unsigned i = 0; i < N - w->k; i++)
			if (host[i] != i)
				w->what = "a number";
		if (cudaFree(p))
			w->what = "cudaFree";
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct worker w[THREADS];

	assert_int_equal(pthread_barrier_init(&together, NULL, THREADS), 0);
	for (unsigned k = 0; k < THREADS; k++) {
		w[k] = (struct worker){.k = k};
		assert_int_equal(pthread_create(&w[k].thread, NULL, work, &w[k]), 0);
	}
	for (unsigned k = 0; k < THREADS; k++)
		pthread_join(w[k].thread, NULL);
	for (unsigned k = 0; k < THREADS; k++)
		if (w[k].what)
			fail_msg("thread %u: %s", k, w[k].what);
	pthread_barrier_destroy(&together);
	/* This thread has caused no error. */
	assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
}

int run_threads(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
