/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The shim's thread in a tenant: resumes preempted launches when they are granted, follows
 * unmanaged work while the daemon watches, and takes over within a second when the daemon is gone:
 * every quota up, what stopped is launched again, and from then on the program runs natively. So it
 * does when the program has closed what connects it to the daemon. */
#include "shim/follow.h"
#include "shim/silence.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define IDLE_NS     200000000u
#define FOLLOW_NS   50000u
#define LOOK_ON_NS  3000000u
#define WATCHING_NS 20000000u

void agent_poke(void)
{
	uint64_t one = 1;

	if (!shim_has_fd(&shim.wake))
		return; /* it looks every while */
	if (write(shim.wake.fd, &one, sizeof(one)) < 0)
		return; /* full is as good as rung */
}

/* Somebody waits for the daemon's next word. */
static bool waiting_for_daemon(void)
{
	return __atomic_load_n(&shim.page->hold, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&shim.page->opaque_waiting, __ATOMIC_ACQUIRE) ||
	       managed_any_waiting();
}

static bool daemon_gone(const struct pollfd *sock)
{
	static struct silence silence;
	char byte;
	ssize_t n;

	if (sock->revents & (POLLHUP | POLLERR | POLLNVAL))
		return true;
	if (sock->revents & POLLIN) {
		n = recv(shim.sock.fd, &byte, 1, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return true;
	}
	return silence_too_long(&silence, __atomic_load_n(&shim.page->alive_ms, __ATOMIC_ACQUIRE),
		(uint32_t)(shim_now_ns() / 1000000), waiting_for_daemon());
}

static void take_over(const char *why)
{
	atomic_store(&shim.dead, true);
	atomic_store(&shim.mode, SHIM_NATIVE);
	managed_take_over();
	opaque_wake();
	shim_warn(why);
}

static uint64_t next_look(uint64_t resume, bool pending)
{
	uint64_t ns = IDLE_NS;

	if (pending)
		ns = FOLLOW_NS;
	else if (__atomic_load_n(&shim.page->follow, __ATOMIC_ACQUIRE))
		ns = WATCHING_NS;
	if (atomic_load(&shim.dead))
		ns = MIN(ns, 1000000u);
	return MIN(ns, resume);
}

/* Waits for the daemon's next word (page->seq to leave `seq`) without sleeping. True: it came. */
static bool look_on(uint32_t seq)
{
	uint64_t end;

	if (!__atomic_load_n(&shim.page->slow_wake, __ATOMIC_ACQUIRE) || !managed_any_waiting())
		return false;
	for (end = shim_now_ns() + LOOK_ON_NS; shim_now_ns() < end && !atomic_load(&shim.dead);) {
		if (__atomic_load_n(&shim.page->seq, __ATOMIC_ACQUIRE) != seq)
			return true;
	}
	return false;
}

static void *thread(void *unused)
{
	uint64_t resume = UINT64_MAX;
	bool pending = false, told = false;

	for (;;) {
		struct pollfd fds[2] = {{.fd = shim.wake.fd, .events = POLLIN},
			{.fd = shim.sock.fd, .events = POLLIN}};
		uint32_t seq = __atomic_load_n(&shim.page->seq, __ATOMIC_ACQUIRE);
		uint64_t ns = told ? 0 : next_look(resume, pending), count;
		struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
		bool dead = atomic_load(&shim.dead);
		nfds_t n = dead ? 1 : 2;

		if (!shim_has_fd(&shim.wake))
			n = 0;
		if (ppoll(fds, n, &t, NULL) < 0 && errno != EINTR)
			return NULL;
		if (!shim_has_fd(&shim.wake)) { /* may have been closed meanwhile */
			if (!dead)
				take_over("the program has closed its connection to heddled");
		} else {
			if (fds[0].revents & POLLIN &&
				read(shim.wake.fd, &count, sizeof(count)) > 0 &&
				__atomic_load_n(&shim.page->opaque_waiting, __ATOMIC_ACQUIRE))
				opaque_wake(); /* the daemon may not have */
			if (!dead && daemon_gone(&fds[1]))
				take_over("heddled is gone");
		}
		resume = managed_resume();
		pending = follow_from_agent();
		told = !pending && look_on(seq);
		if (atomic_load(&shim.dead) && !managed_outstanding())
			return NULL;
	}
}

int agent_start(void)
{
	return shim_thread(thread);
}
