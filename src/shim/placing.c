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
#include "shim/placing.h"
#include "shim/compile.h"
#include "shim/follow.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#define NAP_NS      1000000u /* between two checks of what runs, */
#define NAP_MAX_NS  20000000u
#define SHORT_NS    50000u    /* and between checks while launches are held */
#define GAP_NS      2000000u  /* how long launches are held if nothing seems to run */
#define ALONE_NS    5000000u  /* how long no launch is held before the first attempt */
#define HOLD_NS     10000000u /* length of the first attempt; doubles each time */
#define HOLD_MAX_NS 500000000u
#define REST        16u /* launches are held for one part in REST of the time at most */
#define REST_MAX_NS 60000000000u
#define STALLS_NS   2000000000u /* launches wait no longer for forms that wait for a moment */
#define PAUSE_S     2
/* For this long, other threads that have code to load can use the same idle moment. */
#define BATCH_NS 20000000u

static struct placing {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool looks;         /* under the lock: one thread looks for an idle moment */
	unsigned n_placing; /* threads that use the moment */
	uint64_t since_ns;  /* start of the moment */
	/* the number of requests to the synchroniser thread, and of its replies; under the lock */
	unsigned asked, answered;
	bool has_thread;
	unsigned n_pauses;          /* under the lock */
	_Atomic unsigned n_passing; /* launches between the shim and their count */
	_Atomic bool closed;        /* no launch passes */
} each[SHIM_SESSIONS] = {[0 ... SHIM_SESSIONS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER,
				 .changed = PTHREAD_COND_INITIALIZER}};

static struct placing *here(void)
{
	return &each[shim_at()];
}

/* ---- launches ---- */

void placing_await(void)
{
	if (__builtin_expect(!atomic_load(&here()->closed), 1))
		return;
	pthread_mutex_lock(&here()->lock);
	while (atomic_load(&here()->closed))
		pthread_cond_wait(&here()->changed, &here()->lock);
	pthread_mutex_unlock(&here()->lock);
}

void placing_pass(void)
{
	for (;;) {
		atomic_fetch_add(&here()->n_passing, 1);
		if (__builtin_expect(!atomic_load(&here()->closed), 1))
			return;
		atomic_fetch_sub(&here()->n_passing, 1);
		placing_await();
	}
}

void placing_passed(void)
{
	atomic_fetch_sub(&here()->n_passing, 1);
}

/* Holds back all new launches: setting `closed` holds the unmanaged launches, and the fence holds
 * the managed ones. A managed launch counts as outstanding before it tests for a fence. So a launch
 * that does not see the fence is among those that the caller waits for. */
static void close_launches(void)
{
	atomic_store(&here()->closed, true);
	fence_stand();
}

/* Under the lock. */
static void open_launches(void)
{
	fence_end();
	atomic_store(&here()->closed, false);
	pthread_cond_broadcast(&here()->changed);
}

/* Defines a wrapper of a driver function that makes a stream wait for a value in memory, for
 * another program's semaphore, or for code of this program. Such a call can stop its stream until
 * the program does something more, and a driver call that loads code would wait for that stream. So
 * while the shim holds launches back to load code, it holds these calls as well. The variants of
 * these functions from before CUDA 11.7 need no wrapper, because stock drivers disable them. */
#define HELD(symbol, params, args)                 \
	SHIM_API CUresult symbol params;           \
	CUresult symbol params                     \
	{                                          \
		typedef CUresult(*real_fn) params; \
		CUresult r;                        \
		SHIM_REAL(held, real_fn, symbol);  \
		stream_route(stream);              \
		placing_pass();                    \
		r = held args;                     \
		placing_passed();                  \
		return r;                          \
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

/* ---- who places ---- */

/* Returns true if no stream that the shim can query has work. Does not wait. Work in streams that
 * cannot be queried goes unnoticed. */
static bool seems_idle(void)
{
	if (atomic_load(&here()->n_passing))
		return false;
	if (managed_outstanding())
		managed_reap();
	return !managed_outstanding() && !follow_is_busy();
}

/* The synchroniser thread: waits for all work in the context, including streams that the shim
 * cannot query. It is a separate thread, because the wait may never end. The wait holds no lock of
 * the driver. */
static void *run_synchroniser(void *unused)
{
	struct shim_inside in;

	pthread_mutex_lock(&here()->lock);
	for (;;) {
		while (here()->asked == here()->answered)
			pthread_cond_wait(&here()->changed, &here()->lock);
		pthread_mutex_unlock(&here()->lock);
		if (shim_enter(&in) == CUDA_SUCCESS)
			cu.cuCtxSynchronize();
		shim_leave(&in);
		pthread_mutex_lock(&here()->lock);
		here()->answered = here()->asked;
		pthread_cond_broadcast(&here()->changed);
	}
	return NULL;
}

/* Asks the synchroniser thread to wait for all work, and returns true if that wait ends within
 * `ns`. If it returns false, do not call it again before the synchroniser has replied. Call it
 * while new launches are held back. */
static bool is_idle_until(uint64_t ns)
{
	struct timespec until;
	bool is;

	clock_gettime(CLOCK_REALTIME, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	pthread_mutex_lock(&here()->lock);
	here()->has_thread = here()->has_thread || shim_thread(run_synchroniser) == 0;
	if (here()->has_thread && here()->asked == here()->answered && !here()->n_pauses) {
		here()->asked++;
		pthread_cond_broadcast(&here()->changed);
		while (here()->asked != here()->answered &&
			pthread_cond_timedwait(&here()->changed, &here()->lock, &until) !=
				ETIMEDOUT)
			;
		is = here()->asked == here()->answered;
	} else {
		is = false;
	}
	pthread_mutex_unlock(&here()->lock);
	return is;
}

static bool is_asking(void)
{
	bool is;

	pthread_mutex_lock(&here()->lock);
	is = here()->asked != here()->answered;
	pthread_mutex_unlock(&here()->lock);
	return is;
}

static bool program_ends(void)
{
	bool goes_on = compile_goes_inside();

	if (goes_on)
		compile_goes_outside();
	return !goes_on || !shim->ctx;
}

static void nap_ns(uint32_t ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* Holds launches; true: nothing runs, and they are held on. */
static bool hold_launches(uint64_t ns)
{
	uint64_t until = shim_now_ns() + ns, now;

	close_launches();
	while ((now = shim_now_ns()) < until) {
		if (is_asking())
			break;
		if (seems_idle() && is_idle_until(until - now))
			return true;
		nap_ns(SHORT_NS);
	}
	pthread_mutex_lock(&here()->lock);
	open_launches();
	pthread_mutex_unlock(&here()->lock);
	return false;
}

/* False: the program ends, or its context has. */
static bool await_moment(void)
{
	uint64_t ns = HOLD_NS, rest = REST * ns, began = shim_now_ns(), now = began;
	uint64_t next = now + ALONE_NS;

	while (!program_ends()) {
		bool may = !is_asking(), is_due = may && now >= next && !managed_any_preempted();

		if ((is_due || (may && seems_idle())) && hold_launches(is_due ? ns : GAP_NS))
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
			kernel_await_none();
	}
	return false;
}

/* Waits until the device is idle. If several threads wait, one of them looks for an idle moment,
 * and all use that moment. Call under the lock. */
static bool have_moment(void)
{
	bool ok = true;

	while ((here()->looks || here()->n_placing) &&
		(!here()->n_placing || shim_now_ns() - here()->since_ns > BATCH_NS))
		pthread_cond_wait(&here()->changed, &here()->lock);
	if (!here()->n_placing) {
		here()->looks = true;
		pthread_mutex_unlock(&here()->lock);
		ok = await_moment();
		pthread_mutex_lock(&here()->lock);
		here()->looks = false;
		here()->since_ns = shim_now_ns();
		pthread_cond_broadcast(&here()->changed);
	}
	here()->n_placing += ok;
	return ok;
}

static void end_placing(void)
{
	pthread_mutex_lock(&here()->lock);
	if (!--here()->n_placing)
		open_launches();
	pthread_mutex_unlock(&here()->lock);
	kernel_turn_begin();
}

bool placing_begin(struct shim_inside *in)
{
	bool ok;

	kernel_turn_end(); /* it may take long */
	pthread_mutex_lock(&here()->lock);
	ok = have_moment();
	pthread_mutex_unlock(&here()->lock);
	if (!ok) {
		kernel_turn_begin();
		return false;
	}
	if (compile_goes_inside()) {
		if (shim_enter(in) == CUDA_SUCCESS)
			return true;
		shim_leave(in);
		compile_goes_outside();
	}
	end_placing();
	return false;
}

void placing_end(struct shim_inside *in)
{
	shim_leave(in);
	compile_goes_outside();
	end_placing();
}

/* Waits until the synchroniser thread is done with the context. The wait is bounded, because
 * without heddle the end of a context does not wait for all of its work. */
void placing_pause(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PAUSE_S;
	pthread_mutex_lock(&here()->lock);
	here()->n_pauses++;
	while (here()->asked != here()->answered &&
		pthread_cond_timedwait(&here()->changed, &here()->lock, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&here()->lock);
}

void placing_resume(void)
{
	pthread_mutex_lock(&here()->lock);
	here()->n_pauses--;
	pthread_mutex_unlock(&here()->lock);
}

void placing_after_fork(void)
{
	pthread_mutex_init(&here()->lock, NULL);
	pthread_cond_init(&here()->changed, NULL);
	here()->looks = false;
	here()->n_placing = here()->asked = here()->answered = here()->n_pauses = 0;
	here()->has_thread = false;
	atomic_store(&here()->n_passing, 0);
	atomic_store(&here()->closed, false);
}
