/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loads forms on the device at moments when no kernel runs there. Before NVIDIA's driver loads or
 * unloads code in a context, it waits for all running kernels of the context. No launch proceeds
 * meanwhile (doc/notebook.md, "Calls of the driver that wait for a kernel that runs"). The program
 * does not expect that, and one of its kernels may wait for its next launch.
 *
 * So the shim loads code only while no kernel runs, and holds new launches for the milliseconds
 * that loading takes. If some kernel always runs, the shim first holds new launches for a while, so
 * that running work completes. But a kernel that waits for something from its program does not
 * complete. Then the shim releases the launches and tries again later. The pauses between these
 * attempts grow to a minute. */
#include "shim/form/placing.h"

#include "shim/core/ends.h"
#include "shim/core/inside.h"
#include "shim/core/lock.h"
#include "shim/form/turns.h"
#include "shim/order/follow.h"
#include "shim/order/hold.h"
#include "shim/order/launches.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define NAP_NS      1000000u /* pause between two checks whether the device is idle */
#define NAP_MAX_NS  20000000u
#define SHORT_NS    50000u    /* pause between these checks while launches are held */
#define GAP_NS      2000000u  /* if the device seems idle, launches are held for this time */
#define ALONE_NS    5000000u  /* no launch is held for this time before the first attempt */
#define HOLD_NS     10000000u /* duration of the first attempt; doubles with each attempt */
#define HOLD_MAX_NS 500000000u
#define REST        16u /* launches are held for at most 1/REST of the time */
#define REST_MAX_NS 60000000000u
/* after a wait of this length for an idle moment, launches no longer wait for forms */
#define STALLS_NS 2000000000u
#define PAUSE_S   2
/* For this long, other threads that have code to load can use the same idle moment. */
#define BATCH_NS 20000000u

struct placing {
	struct lock lock;
	pthread_cond_t changed;
	bool looks;         /* one thread is looking for an idle moment; guarded by the lock */
	unsigned n_placing; /* number of threads that use the current idle moment */
	uint64_t since_ns;  /* start of the current idle moment */
	/* the number of requests to the synchroniser thread, and of its replies; under the lock */
	unsigned asked, answered;
	bool has_thread;
	unsigned n_pauses; /* guarded by the lock */
};

/* ---- finding an idle moment ---- */

/* Returns true if no stream that the shim can query has work. Does not wait. Work in streams that
 * cannot be queried goes unnoticed. */
static bool seems_idle(struct session *session)
{
	if (hold_any_passing(session))
		return false;
	if (managed_outstanding(session))
		managed_reap(session);
	return !managed_outstanding(session) && !follow_is_busy(session);
}

/* The synchroniser thread: waits for all work in the context, including streams that the shim
 * cannot query. It is a separate thread, because the wait may never end. The wait holds no lock of
 * the driver. */
static void *run_synchroniser(void *user)
{
	struct session *session = user;
	struct shim_inside in;

	lock_take(&session->placing->lock);
	for (;;) {
		while (session->placing->asked == session->placing->answered)
			lock_wait(&session->placing->lock, &session->placing->changed);
		lock_drop(&session->placing->lock);
		if (shim_enter(session, &in) == CUDA_SUCCESS)
			cu.cuCtxSynchronize();
		shim_leave(&in);
		lock_take(&session->placing->lock);
		session->placing->answered = session->placing->asked;
		pthread_cond_broadcast(&session->placing->changed);
	}
	return NULL;
}

/* Asks the synchroniser thread to wait for all work, and returns true if that wait ends within
 * `ns`. If it returns false, do not call it again before the synchroniser has replied. Call it
 * while new launches are held back. */
static bool is_idle_until(struct session *session, uint64_t ns)
{
	struct timespec until;
	bool is;

	clock_gettime(CLOCK_REALTIME, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	lock_take(&session->placing->lock);
	session->placing->has_thread =
		session->placing->has_thread || shim_thread(session, run_synchroniser) == 0;
	if (session->placing->has_thread && session->placing->asked == session->placing->answered &&
		!session->placing->n_pauses) {
		session->placing->asked++;
		pthread_cond_broadcast(&session->placing->changed);
		while (session->placing->asked != session->placing->answered &&
			lock_wait_until(&session->placing->lock, &session->placing->changed,
				&until) != ETIMEDOUT)
			;
		is = session->placing->asked == session->placing->answered;
	} else {
		is = false;
	}
	lock_drop(&session->placing->lock);
	return is;
}

static bool is_asking(struct session *session)
{
	bool is;

	lock_take(&session->placing->lock);
	is = session->placing->asked != session->placing->answered;
	lock_drop(&session->placing->lock);
	return is;
}

static bool program_ends(struct session *session)
{
	bool goes_on = inside_begin(session);

	if (goes_on)
		inside_end(session);
	return !goes_on || !session->ctx;
}

static void nap_ns(uint32_t ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* Holds new launches. Returns true, still holding them, if the device is idle; else releases
 * them. */
static bool hold_launches(struct session *session, uint64_t ns)
{
	uint64_t until = shim_now_ns() + ns, now;

	hold_begin(session);
	while ((now = shim_now_ns()) < until) {
		if (is_asking(session))
			break;
		if (seems_idle(session) && is_idle_until(session, until - now))
			return true;
		nap_ns(SHORT_NS);
	}
	hold_end(session);
	return false;
}

/* Waits for an idle moment. Returns false if the program or its context ends. */
static bool await_moment(struct session *session)
{
	uint64_t ns = HOLD_NS, rest = REST * ns, began = shim_now_ns(), now = began;
	uint64_t next = now + ALONE_NS;

	while (!program_ends(session)) {
		bool may = !is_asking(session),
		     is_due = may && now >= next && !managed_any_preempted(session);

		if ((is_due || (may && seems_idle(session))) &&
			hold_launches(session, is_due ? ns : GAP_NS))
			return true;
		if (is_due) {
			next = shim_now_ns() + rest;
			ns = MIN(2 * ns, HOLD_MAX_NS);
			rest = MIN(2 * rest, REST_MAX_NS);
		}
		/* Querying many streams takes time, so the pause is a multiple of the time that the
		 * query took. */
		nap_ns(MAX(NAP_NS, (uint32_t)MIN(REST * (shim_now_ns() - now), NAP_MAX_NS)));
		now = shim_now_ns();
		if (now - began > STALLS_NS)
			turns_await_none();
	}
	return false;
}

/* Waits until the device is idle. If several threads wait, one of them looks for an idle moment,
 * and all use that moment. Call under the lock. */
static bool have_moment(struct session *session)
{
	bool ok = true;

	while ((session->placing->looks || session->placing->n_placing) &&
		(!session->placing->n_placing ||
			shim_now_ns() - session->placing->since_ns > BATCH_NS))
		lock_wait(&session->placing->lock, &session->placing->changed);
	if (!session->placing->n_placing) {
		session->placing->looks = true;
		lock_drop(&session->placing->lock);
		ok = await_moment(session);
		lock_take(&session->placing->lock);
		session->placing->looks = false;
		session->placing->since_ns = shim_now_ns();
		pthread_cond_broadcast(&session->placing->changed);
	}
	session->placing->n_placing += ok;
	return ok;
}

static void end_placing(struct session *session)
{
	lock_take(&session->placing->lock);
	if (!--session->placing->n_placing)
		hold_end(session);
	lock_drop(&session->placing->lock);
	turn_begin();
}

bool placing_begin(struct session *session, struct shim_inside *in)
{
	bool ok;

	turn_end(); /* finding an idle moment may take long */
	lock_take(&session->placing->lock);
	ok = have_moment(session);
	lock_drop(&session->placing->lock);
	if (!ok) {
		turn_begin();
		return false;
	}
	if (inside_begin(session)) {
		if (shim_enter(session, in) == CUDA_SUCCESS)
			return true;
		shim_leave(in);
		inside_end(session);
	}
	end_placing(session);
	return false;
}

void placing_end(struct session *session, struct shim_inside *in)
{
	shim_leave(in);
	inside_end(session);
	end_placing(session);
}

/* Waits until the synchroniser thread is done with the context. The wait is bounded, because
 * without heddle the end of a context does not wait for all of its work. */
void placing_pause(struct session *session, const struct session_ends *ends)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PAUSE_S;
	lock_take(&session->placing->lock);
	session->placing->n_pauses++;
	while (session->placing->asked != session->placing->answered &&
		lock_wait_until(&session->placing->lock, &session->placing->changed, &until) !=
			ETIMEDOUT)
		;
	lock_drop(&session->placing->lock);
}

void placing_resume(struct session *session, const struct session_ends *ends)
{
	lock_take(&session->placing->lock);
	session->placing->n_pauses--;
	lock_drop(&session->placing->lock);
}

bool placing_open(struct session *session)
{
	session->placing = calloc(1, sizeof(*session->placing));
	if (session->placing) {
		lock_init(&session->placing->lock, LOCK_placing);
		pthread_cond_init(&session->placing->changed, NULL);
	}
	return session->placing;
}
