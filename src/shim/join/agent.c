/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The agent: a thread that the shim runs in each tenant's process.
 * - It resumes preempted launches when heddled grants them SMs.
 * - While heddled needs to know, it checks which unmanaged launches are complete.
 * - If heddled is gone, it takes heddled's part: within a second it writes the quotas itself, so
 *   that all launches run, until the program is a tenant again (rejoin.h). */
#include "shim/join/agent.h"

#include "shim/join/rejoin.h"
#include "shim/launch/resume.h"
#include "shim/order/follow.h"
#include "shim/order/launches.h"
#include "shim/plain/opaque.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define IDLE_NS     200000000u
#define FOLLOW_NS   50000u
#define LOOK_ON_NS  3000000u
#define WATCHING_NS 20000000u

/* Returns true if a thread or a launch waits for the daemon's next control word. */
static bool waiting_for_daemon(struct session *session)
{
	return __atomic_load_n(&session->page->hold, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&session->page->opaque_waiting, __ATOMIC_ACQUIRE) ||
	       managed_any_waiting(session);
}

static uint64_t next_look(struct session *session, uint64_t resume, bool pending)
{
	uint64_t ns = IDLE_NS;

	if (pending)
		ns = FOLLOW_NS;
	else if (__atomic_load_n(&session->page->follow, __ATOMIC_ACQUIRE))
		ns = WATCHING_NS;
	if (atomic_load(&session->dead) && managed_outstanding(session))
		ns = MIN(ns, 1000000u);
	return MIN(MIN(ns, resume), rejoin_next(session));
}

/* Spins for at most LOOK_ON_NS until heddled's next message arrives. Does so only if waking a
 * thread is slow on this machine and a launch waits for SMs. A message has arrived when page->seq
 * differs from `seq`. Returns true if a message arrived. */
static bool look_on(struct session *session, uint32_t seq)
{
	uint64_t end;

	if (!__atomic_load_n(&session->page->slow_wake, __ATOMIC_ACQUIRE) ||
		!managed_any_waiting(session))
		return false;
	for (end = shim_now_ns() + LOOK_ON_NS;
		shim_now_ns() < end && !atomic_load(&session->dead);) {
		if (__atomic_load_n(&session->page->seq, __ATOMIC_ACQUIRE) != seq)
			return true;
	}
	return false;
}

static void answer_poke(struct session *session, const struct pollfd *wake)
{
	uint64_t count;

	if (wake->revents & POLLIN && shim_has_fd(session, &session->client.wake) &&
		read(session->client.wake.fd, &count, sizeof(count)) > 0 &&
		__atomic_load_n(&session->page->opaque_waiting, __ATOMIC_ACQUIRE))
		opaque_wake(session); /* the daemon may not have done so */
}

static void *run_agent(void *user)
{
	struct session *session = user;
	uint64_t resume = UINT64_MAX;
	bool pending = false, told = false, goes_on = true;
	struct shim_inside in;

	/* The context stays current in this thread. On an H100 a thread's first cuCtxPushCurrent
	 * waited for a running kernel, while launches waited for the lock that follow_look holds. */
	shim_enter(session, &in);
	rejoin_begin(session);
	while (goes_on) {
		struct pollfd fds[2] = {
			{.fd = shim_has_fd(session, &session->client.wake) ? session->client.wake.fd
									   : -1,
				.events = POLLIN},
			{.fd = rejoin_fd(session), .events = POLLIN}};
		uint32_t seq = __atomic_load_n(&session->page->seq, __ATOMIC_ACQUIRE);
		uint64_t ns = told ? 0 : next_look(session, resume, pending);
		struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

		if (ppoll(fds, 2, &t, NULL) < 0 && errno != EINTR)
			return NULL;
		answer_poke(session, &fds[0]);
		goes_on = rejoin_look(session, fds[1].revents, waiting_for_daemon(session)) ||
			  managed_outstanding(session);
		resume = managed_resume(session);
		pending = follow_from_agent(session);
		told = !pending && look_on(session, seq);
	}
	return NULL;
}

int agent_start(struct session *session)
{
	return shim_thread(session, run_agent);
}
