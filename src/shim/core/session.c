/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The sessions: which one a call belongs to, the descriptors that lead to heddled and to the agent,
 * and the shim's own driver calls and threads. */
#include "shim/core/session.h"
#include "shim/core/lock.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct session sessions[SHIM_SESSIONS];
_Atomic unsigned shim_n_devices;
static const struct session_calls *calls;

/* ---- finding a session ---- */

static bool open_session(unsigned index, bool passes_on)
{
	struct session *s = &sessions[index];

	s->index = index;
	lock_init(&s->fd_lock, LOCK_descriptors);
	host_client_init(&s->client);
	atomic_store(&s->mode, passes_on || index == SHIM_DEVICES ? SHIM_NATIVE : SHIM_UNKNOWN);
	return calls->open(s);
}

void sessions_begin(const struct session_calls *above)
{
	calls = above;
	if (!open_session(0, false))
		shim_give_up();
}

static unsigned n_open = 1; /* guarded by the lock */
static struct lock count_lock = LOCK_INIT(devices);

static unsigned sessions_for(unsigned n_devices)
{
	return n_devices > SHIM_DEVICES ? SHIM_SESSIONS : MAX(n_devices, 1);
}

void shim_count_devices(void)
{
	int n;

	if (shim_n_devices || !cu.cuDeviceGetCount || cu.cuDeviceGetCount(&n) != CUDA_SUCCESS)
		return;
	lock_take(&count_lock);
	while (n_open < sessions_for((unsigned)MAX(n, 0)) && open_session(n_open, false))
		n_open++;
	/* The number is stored last, because from then on other threads use the sessions. */
	if (n_open >= sessions_for((unsigned)MAX(n, 0)))
		atomic_store(&shim_n_devices, (unsigned)MAX(n, 0));
	lock_drop(&count_lock);
}

void sessions_after_fork(bool passes_on)
{
	lock_init(&count_lock, LOCK_devices);
	for (unsigned i = 0; i < n_open; i++) {
		/* The parent's parts stay allocated: another of its threads may have been changing
		 * them. */
		sessions[i] = (struct session){0};
		if (!open_session(i, passes_on))
			shim_give_up();
	}
}

struct session *session_of_device(CUdevice dev)
{
	return shim_n_devices > 1 ? &sessions[dev >= 0 ? MIN((unsigned)dev, SHIM_DEVICES) : 0]
				  : &sessions[0];
}

struct session *session_of_context(void)
{
	CUcontext now = NULL;
	CUdevice dev;

	if (!shim_n_devices)
		shim_count_devices();
	if (shim_n_devices <= 1 || !cu.cuCtxGetCurrent ||
		cu.cuCtxGetCurrent(&now) != CUDA_SUCCESS || !now)
		return &sessions[0];
	for (unsigned i = 0; i < shim_sessions(); i++) {
		if (sessions[i].ctx == now)
			return &sessions[i];
	}
	return cu.cuCtxGetDevice(&dev) == CUDA_SUCCESS ? session_of_device(dev) : &sessions[0];
}

void session_start(struct session *session, bool is_launch)
{
	calls->start(session, is_launch);
}

/* ---- descriptors of the connection ---- */

/* Call under the lock. */
static bool has_fd(struct session *session, const struct host_fd *o)
{
	session->fds_lost =
		session->fds_lost || !host_fd_is(&session->client.sock) || !host_fd_is(o);
	return !session->fds_lost;
}

static bool ring(struct session *session, const struct host_fd *o)
{
	bool has;

	lock_take(&session->fd_lock);
	has = has_fd(session, o) && host_client_ring(&session->client, o);
	lock_drop(&session->fd_lock);
	return has;
}

void shim_kick(struct session *session)
{
	__atomic_store_n(&session->page->kick_ns, shim_now_ns(), __ATOMIC_RELAXED);
	/* It fails if the program has closed the descriptors; the agent notices that itself. */
	ring(session, &session->client.kick);
}

bool shim_has_fd(struct session *session, const struct host_fd *o)
{
	bool has;

	lock_take(&session->fd_lock);
	has = has_fd(session, o);
	lock_drop(&session->fd_lock);
	return has;
}

void shim_poke(struct session *session)
{
	/* If this fails, the agent still checks at intervals. */
	ring(session, &session->client.wake);
}

bool session_socket(struct session *session, struct host_fd *ret)
{
	lock_take(&session->fd_lock);
	*ret = session->client.sock;
	lock_drop(&session->fd_lock);
	return host_fd_is(ret);
}

bool session_open_gate(struct session *session, unsigned joins)
{
	bool same;

	lock_take(&session->fd_lock);
	same = atomic_load(&session->joins) == joins;
	if (same)
		__atomic_store_n(&session->page->allowed,
			page_load(&session->page->opaque_submitted) + WIRE_FAR_AHEAD,
			__ATOMIC_RELEASE);
	lock_drop(&session->fd_lock);
	return same;
}

/* ---- threads and driver calls of the shim ---- */

int shim_thread(struct session *session, void *(*fn)(void *session))
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t t;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&t, &attr, fn, session);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

CUresult shim_enter(struct session *session, struct shim_inside *in)
{
	CUcontext ctx = session->ctx, now = NULL;
	CUresult r = CUDA_SUCCESS;

	*in = (struct shim_inside){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
	if (cu.cuThreadExchangeStreamCaptureMode)
		in->exchanged = cu.cuThreadExchangeStreamCaptureMode(&in->mode) == CUDA_SUCCESS;
	if (ctx && cu.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now != ctx) {
		r = cu.cuCtxPushCurrent(ctx);
		in->pushed = r == CUDA_SUCCESS;
	}
	return r;
}

void shim_leave(struct shim_inside *in)
{
	CUcontext popped;

	if (in->pushed)
		cu.cuCtxPopCurrent(&popped);
	if (in->exchanged)
		cu.cuThreadExchangeStreamCaptureMode(&in->mode);
}
