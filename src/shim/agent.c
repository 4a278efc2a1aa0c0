/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The agent: a thread that the shim runs in each tenant's process.
 * - It resumes preempted launches when heddled grants them SMs.
 * - While heddled needs to know, it checks which unmanaged launches are complete.
 * - If heddled is gone, it takes heddled's part: within a second it writes the quotas itself, so
 *   that all launches run, until the program is a tenant again (rejoin.h). */
#include "shim/follow.h"
#include "shim/rejoin.h"

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

void agent_poke(void)
{
	shim_ring(&shim->wake); /* else it looks every while */
}

/* Somebody waits for the daemon's next word. */
static bool waiting_for_daemon(void)
{
	return __atomic_load_n(&shim->page->hold, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&shim->page->opaque_waiting, __ATOMIC_ACQUIRE) ||
	       managed_any_waiting();
}

static uint64_t next_look(uint64_t resume, bool pending)
{
	uint64_t ns = IDLE_NS;

	if (pending)
		ns = FOLLOW_NS;
	else if (__atomic_load_n(&shim->page->follow, __ATOMIC_ACQUIRE))
		ns = WATCHING_NS;
	if (atomic_load(&shim->dead) && managed_outstanding())
		ns = MIN(ns, 1000000u);
	return MIN(MIN(ns, resume), rejoin_next());
}

/* Spins for at most LOOK_ON_NS until heddled's next message arrives. Does so only if waking a
 * thread is slow on this machine and a launch waits for SMs. A message has arrived when page->seq
 * differs from `seq`. Returns true if a message arrived. */
static bool look_on(uint32_t seq)
{
	uint64_t end;

	if (!__atomic_load_n(&shim->page->slow_wake, __ATOMIC_ACQUIRE) || !managed_any_waiting())
		return false;
	for (end = shim_now_ns() + LOOK_ON_NS; shim_now_ns() < end && !atomic_load(&shim->dead);) {
		if (__atomic_load_n(&shim->page->seq, __ATOMIC_ACQUIRE) != seq)
			return true;
	}
	return false;
}

static void answer_poke(const struct pollfd *wake)
{
	uint64_t count;

	if (wake->revents & POLLIN && shim_has_fd(&shim->wake) &&
		read(shim->wake.fd, &count, sizeof(count)) > 0 &&
		__atomic_load_n(&shim->page->opaque_waiting, __ATOMIC_ACQUIRE))
		opaque_wake(); /* the daemon may not have */
}

static void *run_agent(void *unused)
{
	uint64_t resume = UINT64_MAX;
	bool pending = false, told = false, goes_on = true;
	struct shim_inside in;

	/* The context stays current in this thread. On an H100 a thread's first cuCtxPushCurrent
	 * waited for a running kernel, while launches waited for the lock that follow_look holds. */
	shim_enter(&in);
	rejoin_begin();
	while (goes_on) {
		struct pollfd fds[2] = {
			{.fd = shim_has_fd(&shim->wake) ? shim->wake.fd : -1, .events = POLLIN},
			{.fd = rejoin_fd(), .events = POLLIN}};
		uint32_t seq = __atomic_load_n(&shim->page->seq, __ATOMIC_ACQUIRE);
		uint64_t ns = told ? 0 : next_look(resume, pending);
		struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

		if (ppoll(fds, 2, &t, NULL) < 0 && errno != EINTR)
			return NULL;
		answer_poke(&fds[0]);
		goes_on =
			rejoin_look(fds[1].revents, waiting_for_daemon()) || managed_outstanding();
		resume = managed_resume();
		pending = follow_from_agent();
		told = !pending && look_on(seq);
	}
	return NULL;
}

int agent_start(void)
{
	return shim_thread(run_agent);
}
