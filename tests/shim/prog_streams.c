/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Scenarios with several streams: ordered by events, default streams, per-thread streams, more
 * streams than channels, streams that are destroyed early, and captures. */
#include "prog.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 40

/* A ring of streams, each waiting for the previous one's event. */
void events(void)
{
	CUdeviceptr d[4];
	CUstream s[4];
	CUevent e[4];

	for (int i = 0; i < 4; i++) {
		d[i] = buffer(n, (unsigned)i);
		DO(cuStreamCreate(&s[i], i % 2 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
		DO(cuEventCreate(&e[i], CU_EVENT_DISABLE_TIMING));
	}
	for (unsigned i = 0; i < rounds * 4; i++) {
		unsigned me = i % 4, before = (i + 3) % 4;

		if (i)
			DO(cuStreamWaitEvent(s[me], e[before], 0));
		do_mix(mix, d[before], d[me], s[me]);
		DO(cuEventRecord(e[me], s[me]));
	}
	DO(cuEventSynchronize(e[(rounds * 4 - 1) % 4]));
	for (int i = 0; i < 4; i++)
		digest("events", d[i], n);
	DO(cuCtxSynchronize());
}

/* Uses the legacy default stream between blocking streams, with the per-thread stream beside
 * them. */
void defaults(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2), c = buffer(n, 3), d = buffer(n, 4);
	CUstream s, t;

	DO(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	DO(cuStreamCreate(&t, CU_STREAM_DEFAULT));
	for (unsigned i = 0; i < rounds; i++) {
		do_mix(mix, a, b, s);
		do_mix(mix, b, c, NULL); /* runs after the work of s */
		do_mix(mix, c, a, t);    /* runs after the work of the default stream */
		do_mix(mix, a, b, CU_STREAM_LEGACY);
		do_mix(mix, b, a, s);
		do_mix(mix, d, d, CU_STREAM_PER_THREAD);
		DO(cuMemsetD32Async(c, i, n / 2, CU_STREAM_LEGACY));
	}
	/* the digest's copy waits for all streams but the per-thread one */
	digest("defaults", a, n);
	digest("defaults", b, n);
	digest("defaults", c, n);
	DO(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	digest("own", d, n);
}

static void many(unsigned flags)
{
	const char *wanted = getenv("PROG_STREAMS");
	int streams = wanted ? atoi(wanted) : STREAMS;
	CUdeviceptr d[STREAMS], o[STREAMS];
	CUstream s[STREAMS];
	CUevent e;

	for (int i = 0; i < streams; i++) {
		d[i] = buffer(n, (unsigned)i);
		o[i] = buffer(n, 0);
		DO(cuStreamCreate(&s[i], flags));
	}
	DO(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
	for (unsigned r = 0; r < rounds; r++) {
		for (int i = 0; i < streams; i++) {
			do_mix(mix, d[i], o[i], s[i]);
			do_mix(mix, o[i], d[i], s[i]);
		}
		/* All streams wait for the first. */
		DO(cuEventRecord(e, s[0]));
		for (int i = 1; i < streams; i++)
			DO(cuStreamWaitEvent(s[i], e, 0));
	}
	DO(cuCtxSynchronize());
	for (int i = 0; i < streams; i++)
		digest("many", d[i], n);
	for (int i = 0; i < streams; i++)
		DO(cuStreamDestroy(s[i]));
}

void many_streams(void)
{
	many(CU_STREAM_NON_BLOCKING);
}

void many_blocking(void)
{
	many(CU_STREAM_DEFAULT);
}

/* Streams, one after another, that are destroyed as soon as they have work. */
void brief(void)
{
	CUdeviceptr d[STREAMS], o[STREAMS];

	for (int i = 0; i < STREAMS; i++) {
		d[i] = buffer(n, (unsigned)i);
		o[i] = buffer(n, 0);
	}
	for (int i = 0; i < STREAMS; i++) {
		CUstream s;

		DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
		do_mix(mix, d[i], o[i], s);
		DO(cuStreamDestroy(s));
	}
	DO(cuCtxSynchronize());
	for (int i = 0; i < STREAMS; i++)
		digest("brief", o[i], n);
}

static void *of_thread(void *buffers)
{
	CUdeviceptr *d = buffers;

	DO(cuCtxSetCurrent(ctx));
	do_mix(mix, d[0], d[1], CU_STREAM_PER_THREAD);
	do_mix(mix, d[1], d[0], CU_STREAM_PER_THREAD);
	DO(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	return NULL;
}

/* Threads, one after another, that each use their per-thread default stream. */
void threads(void)
{
	CUdeviceptr d[2] = {buffer(n, 1), buffer(n, 2)};
	pthread_t t;

	for (int i = 0; i < STREAMS; i++) {
		if (pthread_create(&t, NULL, of_thread, d) || pthread_join(t, NULL))
			exit(1);
	}
	digest("threads", d[0], n);
}

/* Captured launches must not be managed; launches beside the capture may be. */
void capture(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2), c = buffer(n, 3);
	CUgraphExec exec;
	CUgraph graph;
	CUstream s, t;

	DO(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	DO(cuStreamCreate(&t, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < rounds; i++) {
		do_mix(mix, c, c, t);
		DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
		do_mix(mix, a, b, s);
		do_mix(mix, c, c, t);
		do_mix(mix, b, a, s);
		DO(cuStreamEndCapture(s, &graph));
		DO(cuGraphInstantiate(&exec, graph, 0));
		DO(cuGraphLaunch(exec, s));
		do_mix(mix, a, b, s);
		DO(cuGraphLaunch(exec, s));
		DO(cuStreamSynchronize(s));
		DO(cuGraphExecDestroy(exec));
		DO(cuGraphDestroy(graph));
	}
	DO(cuCtxSynchronize());
	digest("capture", a, n);
	digest("beside", c, n);
}

/* Runs in another thread and blocks that thread's own default stream. The legacy default stream
 * would wait for it. */
static void *hold_own_stream(void *flag)
{
	DO(cuCtxSetCurrent(ctx));
	DO(cuStreamWaitValue32(
		CU_STREAM_PER_THREAD, (CUdeviceptr)(uintptr_t)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
	return NULL;
}

/* Uses cuGetProcAddress to find entry points for per-thread default streams, as programs do that
 * are compiled for these. Work in such a stream must not wait for other threads. */
void own(void)
{
	CUdeviceptr a = buffer(n, 1), b = buffer(n, 2);
	unsigned n_less = n - 5;
	void *p[] = {&a, &b, &n_less, &loops}, *q[] = {&b, &a, &n_less, &loops}, *fn = NULL;
	CUdriverProcAddressQueryResult found;
	unsigned seen[256], *flag;
	pthread_t other;
	CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
		unsigned, CUstream, void **, void **);

	DO(cuGetProcAddress("cuLaunchKernel", &fn, 7000,
		CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &found));
	memcpy(&launch, &fn, sizeof(fn));
	DO(cuMemHostAlloc((void **)&flag, 4, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	*flag = 0;
	/* A kernel's first launch loads it, which waits for every stream of the context. */
	DO(launch(mix, blocks, 1, 1, THREADS, 1, 1, 0, NULL, p, NULL));
	DO(cuCtxSynchronize());
	if (pthread_create(&other, NULL, hold_own_stream, flag) || pthread_join(other, NULL))
		exit(1);
	for (unsigned i = 0; i < rounds; i++) {
		DO(launch(mix, blocks, 1, 1, THREADS, 1, 1, 0, NULL, p, NULL));
		DO(launch(mix, blocks, 1, 1, THREADS, 1, 1, 0, CU_STREAM_PER_THREAD, q, NULL));
	}
	DO(cuMemcpyDtoHAsync(seen, a, sizeof(seen), CU_STREAM_PER_THREAD));
	DO(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	printf("%08x %08x\n", seen[0], seen[255]);
	__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	DO(cuCtxSynchronize());
	digest("own", a, n);
	digest("own", b, n);
}
