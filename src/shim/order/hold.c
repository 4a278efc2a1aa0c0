/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Holds back launches, and calls that can stop a stream, while the shim loads code. */
#include "shim/order/hold.h"

#include "shim/core/lock.h"
#include "shim/order/fence.h"
#include "shim/order/stream.h"

#include <stdatomic.h>
#include <stdlib.h>

struct hold {
	struct lock lock;
	pthread_cond_t changed;
	_Atomic unsigned n_passing; /* number of launches between hold_pass and hold_passed */
	_Atomic bool closed;        /* no launch can pass */
};

void hold_await(struct session *session)
{
	if (__builtin_expect(!atomic_load(&session->hold->closed), 1))
		return;
	lock_take(&session->hold->lock);
	while (atomic_load(&session->hold->closed))
		lock_wait(&session->hold->lock, &session->hold->changed);
	lock_drop(&session->hold->lock);
}

void hold_pass(struct session *session)
{
	for (;;) {
		atomic_fetch_add(&session->hold->n_passing, 1);
		if (__builtin_expect(!atomic_load(&session->hold->closed), 1))
			return;
		atomic_fetch_sub(&session->hold->n_passing, 1);
		hold_await(session);
	}
}

void hold_passed(struct session *session)
{
	atomic_fetch_sub(&session->hold->n_passing, 1);
}

void hold_begin(struct session *session)
{
	atomic_store(&session->hold->closed, true);
	fence_stand(session);
}

void hold_end(struct session *session)
{
	fence_end(session);
	lock_take(&session->hold->lock);
	atomic_store(&session->hold->closed, false);
	pthread_cond_broadcast(&session->hold->changed);
	lock_drop(&session->hold->lock);
}

/* Defines a wrapper of a driver function that makes a stream wait for a value in memory, for
 * another program's semaphore, or for code of this program. Such a call can stop its stream until
 * the program does something more, and a driver call that loads code would wait for that stream. So
 * while the shim holds launches back to load code, it holds these calls as well. The variants of
 * these functions from before CUDA 11.7 need no wrapper, because stock drivers disable them. */
#define HELD(symbol, params, args)                         \
	SHIM_API CUresult symbol params;                   \
	CUresult symbol params                             \
	{                                                  \
		typedef CUresult(*real_fn) params;         \
		CUresult r;                                \
		SHIM_REAL(held, real_fn, symbol);          \
		session = stream_session(session, stream); \
		hold_pass(session);                        \
		r = held args;                             \
		hold_passed(session);                      \
		return r;                                  \
	}
#define HELD_TWICE(symbol, params, args) \
	HELD(symbol, params, args)       \
	HELD(symbol##_ptsz, params, args)
#define WAIT_VALUE(symbol, type)                                                              \
	HELD_TWICE(symbol, (CUstream stream, CUdeviceptr at, type value, unsigned int flags), \
		(stream, at, value, flags))
WAIT_VALUE(cuStreamWaitValue32_v2, uint32_t)
WAIT_VALUE(cuStreamWaitValue64_v2, uint64_t)
HELD_TWICE(cuStreamBatchMemOp_v2, (CUstream stream, unsigned int n, void *ops, unsigned int flags),
	(stream, n, ops, flags))
HELD_TWICE(cuWaitExternalSemaphoresAsync,
	(const CUexternalSemaphore *semaphores, const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params,
		unsigned int n, CUstream stream),
	(semaphores, params, n, stream))
HELD_TWICE(cuStreamAddCallback,
	(CUstream stream, CUstreamCallback fn, void *user, unsigned int flags),
	(stream, fn, user, flags))
HELD_TWICE(cuLaunchHostFunc_v2, (CUstream stream, CUhostFn fn, void *user, unsigned int mode),
	(stream, fn, user, mode))

bool hold_any_passing(struct session *session)
{
	return atomic_load(&session->hold->n_passing);
}

bool hold_open(struct session *session)
{
	session->hold = calloc(1, sizeof(*session->hold));
	if (session->hold) {
		lock_init(&session->hold->lock, LOCK_hold);
		pthread_cond_init(&session->hold->changed, NULL);
	}
	return session->hold;
}
