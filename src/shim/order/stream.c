/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The registry of streams: one record for each stream that the program uses. */
#include "shim/order/stream.h"

#include "shim/core/ends.h"
#include "shim/core/lock.h"
#include "shim/order/launches.h"

#include <stdatomic.h>
#include <stdlib.h>

/* The calling thread's default stream on each device; NULL if it is not used yet. This is a
 * pointer, because space for thread-local variables is scarce in a library that is loaded late. */
static __thread struct stream **own;

static struct stream *new_stream(CUstream handle)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->handle = handle;
	if (handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD &&
		cu.cuCtxGetCurrent(&s->ctx) != CUDA_SUCCESS)
		s->ctx = NULL;
	lock_init(&s->lock, LOCK_stream);
	return s;
}

void stream_ended(struct session *session, struct stream *s, bool lingers)
{
	if (atomic_load(&s->used) && lingers)
		atomic_fetch_add(&session->streams->n_lingering, 1);
	else if (atomic_load(&s->used))
		atomic_fetch_sub(&session->streams->n_used, 1);
	launches_stream_destroyed(session, s);
}

/* Runs when a thread ends. Calls no driver function, because the driver may already have freed its
 * data for the thread. */
static void thread_ends(void *streams)
{
	struct stream **at = streams;

	own = NULL;
	for (unsigned i = 0; i < SHIM_SESSIONS; i++) {
		if (at[i]) {
			managed_reap(&sessions[i]);
			stream_ended(&sessions[i], at[i], managed_outstanding(&sessions[i]));
		}
	}
	free(at);
}

static pthread_key_t own_key;
static bool has_own_key;

static void make_own_key(void)
{
	has_own_key = pthread_key_create(&own_key, thread_ends) == 0;
}

static struct stream *own_stream(struct session *session)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_own_key);
	if (!own) {
		own = calloc(SHIM_SESSIONS, sizeof(struct stream *));
		/* Makes thread_ends run at its end. Otherwise its streams would stay counted. */
		if (own && has_own_key)
			pthread_setspecific(own_key, own);
	}
	if (!own)
		return NULL;
	if (!own[session->index])
		own[session->index] = new_stream(CU_STREAM_PER_THREAD);
	return own[session->index];
}

struct stream *stream_of(struct session *session, CUstream handle)
{
	struct stream *s;

	if (handle == CU_STREAM_PER_THREAD)
		return own_stream(session);
	s = map_get(&session->streams->map, handle);
	if (s)
		return s;
	s = new_stream(handle);
	if (s && !map_put(&session->streams->map, handle, s)) {
		free(s);
		return NULL;
	}
	return map_get(&session->streams->map, handle);
}

void stream_created(struct session *session, CUstream handle, int priority)
{
	struct stream *s = new_stream(handle);

	if (!s)
		return;
	s->priority = priority;
	map_put(&session->streams->map, handle, s);
}

struct stream *stream_remove(struct session *session, CUstream handle)
{
	struct stream *s = map_get(&session->streams->map, handle);

	if (s)
		map_put(&session->streams->map, handle, NULL);
	return s;
}

void stream_put_back(struct session *session, struct stream *s)
{
	map_put(&session->streams->map, s->handle, s);
}

struct ended {
	CUcontext ctx;
	VEC(struct stream *) streams;
};

static void note_ended(void *user, const void *key, void *value)
{
	struct ended *e = user;
	struct stream *s = value;

	if (s->ctx == e->ctx)
		VEC_PUSH(&e->streams, s);
}

void streams_forget(struct session *session, const struct session_ends *ends)
{
	struct ended e = {.ctx = ends->ctx};

	map_each(&session->streams->map, note_ended, &e);
	for (size_t i = 0; i < e.streams.len; i++) {
		map_put(&session->streams->map, e.streams.at[i]->handle, NULL);
		stream_ended(session, e.streams.at[i], false);
	}
	VEC_FREE(&e.streams);
}

struct session *stream_session(struct session *session, CUstream handle)
{
	unsigned n = shim_sessions();

	if (n == 1 || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
		return session;
	for (unsigned i = 0; i < n; i++) {
		if (map_get(&sessions[i].streams->map, handle))
			return &sessions[i];
	}
	return session;
}

bool stream_capturing(struct session *session, CUstream handle)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult r;

	if (!atomic_load_explicit(&session->captures, memory_order_acquire))
		return false;
	r = cu.cuStreamIsCapturing(handle, &status);
	/* The query fails if another stream is capturing. Then the legacy stream must not be used,
	 * so report it as capturing. */
	return r != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool streams_open(struct session *session)
{
	struct streams *part = calloc(1, sizeof(*part));

	if (part) {
		map_init(&part->map);
		lock_init(&part->lingering_lock, LOCK_lingering);
	}
	session->streams = part;
	return part;
}
