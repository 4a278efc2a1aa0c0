/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides which side writes the shared page (wire/page.h). While a daemon runs, the daemon writes
 * the quotas and settings in it. Without a daemon, the agent thread writes them. Once the agent has
 * sent HELLO to the next daemon, that daemon writes them, whether it has replied or not.
 *
 * Without a daemon, the agent repairs two kinds of values: those that a daemon left half-written
 * when it died, and those that a stalled daemon writes late. The next daemon then writes all values
 * anew. Between HELLO and its reply the shim holds no launch back (shim->dead). If the new daemon
 * has already preempted a launch by then, the shim still launches workers for that launch, and
 * these exit at once. */
#include "shim/rejoin.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include "host/silence.h"
#include "shim/hello.h"
#include "shim/managed.h"

#define FIRST_NS  5000000u     /* delay of the first attempt to find another daemon; */
#define MOST_NS   200000000u   /* doubles each time up to this; */
#define NEVER_NS  60000000000u /* after a refusal */
#define STEADY_NS 1000000000u  /* a daemon that runs this long does not die of this tenant */
#define WARN_NS   500000000u

static struct rejoin {
	enum { JOINED, ALONE, JOINING, LOST } state;
	struct own_fd sock; /* of JOINING */
	struct silence silence;
	uint64_t since_ns, lost_ns, try_ns, wait_ns; /* since: of JOINED */
	const char *why;
	bool warned;
} each[SHIM_SESSIONS];

static struct rejoin *re(void)
{
	return &each[shim_at()];
}

static void change_to_joined(void)
{
	re()->state = JOINED;
	re()->silence = (struct silence){0};
	re()->since_ns = shim_now_ns();
	re()->lost_ns = 0;
}

void rejoin_begin(void)
{
	*re() = (struct rejoin){0};
	re()->sock.fd = -1;
	change_to_joined();
}

static void store(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Resets everything in the page by which a daemon may have restricted the tenant (quotas, holds,
 * bounds), because without a daemon the tenant runs without restrictions. */
static void release_tenant(void)
{
	struct wire_page *p = shim->page;
	bool held = page_load(&p->hold);

	store(&p->watch, 0);
	store(&p->follow, 0);
	store(&p->gates, 0);
	store(&p->bound_us, 0);
	store(&p->hold, 0);
	store(&p->allowed, page_load(&p->opaque_submitted) + WIRE_FAR_AHEAD);
	managed_take_over();
	if (held)
		opaque_wake();
}

static void retry_in(uint64_t ns)
{
	uint64_t now = shim_now_ns();

	re()->state = ALONE;
	own_close(&re()->sock);
	re()->try_ns = now + ns;
	atomic_store(&shim->alone, true);
	release_tenant();
}

static void retry_later(void)
{
	re()->wait_ns = MIN(2 * re()->wait_ns, MOST_NS);
	retry_in(re()->wait_ns);
}

static void lose_daemon(const char *why)
{
	uint64_t now = shim_now_ns();

	atomic_store(&shim->dead, true);
	store(&shim->page->ends, 1);
	hello_ends();
	if (!re()->wait_ns || now - re()->since_ns > STEADY_NS)
		re()->wait_ns = FIRST_NS;
	else
		re()->wait_ns = MIN(2 * re()->wait_ns, MOST_NS);
	re()->lost_ns = now;
	re()->why = why;
	retry_in(re()->wait_ns);
	opaque_wake();
}

static void lose_for_good(const char *why)
{
	if (re()->state == JOINED)
		lose_daemon(why);
	else
		retry_in(0);
	re()->state = LOST;
	atomic_store(&shim->mode, SHIM_NATIVE);
	shim_warn(why);
}

/* Reads the messages of heddled, which are all WIRE_WAKE. *ret_woken: there was one. Returns true if
 * the connection is over. */
static bool is_over(short revents, bool *ret_woken)
{
	char byte;
	ssize_t n;

	*ret_woken = false;
	if (revents & (POLLHUP | POLLERR | POLLNVAL))
		return true;
	if (!(revents & POLLIN))
		return false;
	/* Since the call to poll, the program may have closed the socket's descriptor, and the same
	 * number may now belong to another file of the program. So peek first: this consumes
	 * nothing from such a file. */
	do {
		n = recv(shim->sock.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
		if (!shim_has_fd(&shim->sock))
			return true;
		if (n > 0)
			n = recv(shim->sock.fd, &byte, 1, MSG_DONTWAIT);
		*ret_woken |= n > 0;
	} while (n > 0);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static bool is_silent(bool waited_for)
{
	return silence_too_long(&re()->silence, page_load(&shim->page->alive_ms),
		(uint32_t)(shim_now_ns() / 1000000), waited_for);
}

static void look_joined(short revents, bool waited_for)
{
	bool woken;

	if (is_over(revents, &woken) || is_silent(waited_for))
		lose_daemon("heddled is gone");
	else if (woken && __atomic_load_n(&shim->page->opaque_waiting, __ATOMIC_ACQUIRE))
		opaque_wake(); /* the daemon may not have */
}

static void look_alone(void)
{
	int r;

	release_tenant(); /* a word of a stalled daemon may have arrived late */
	if (shim_now_ns() < re()->try_ns)
		return;
	r = hello_again(&re()->sock);
	if (r == 0) {
		re()->state = JOINING;
		re()->silence = (struct silence){0};
	} else if (r == -EBADF) {
		lose_for_good("the program has closed its connection to heddled");
	} else {
		retry_later();
	}
}

static void look_joining(short revents)
{
	int r = revents ? hello_answered(&re()->sock) : -EAGAIN;

	if (r == 0) {
		change_to_joined();
		store(&shim->page->ends, 0);
		atomic_store(&shim->dead, false);
		shim_kick();
	} else if (r == -EACCES || r == -EPROTO) {
		retry_in(NEVER_NS);
	} else if (r != -EAGAIN || is_silent(managed_any_stopped())) {
		retry_later();
	}
}

int rejoin_fd(void)
{
	if (re()->state == JOINED)
		return shim_has_fd(&shim->sock) ? shim->sock.fd : -1;
	return re()->state == JOINING && own_is(&re()->sock) ? re()->sock.fd : -1;
}

uint64_t rejoin_next(void)
{
	uint64_t now = shim_now_ns(), at = UINT64_MAX;

	if (re()->state == ALONE)
		at = re()->try_ns;
	if (re()->lost_ns && !re()->warned)
		at = MIN(at, re()->lost_ns + WARN_NS);
	return at == UINT64_MAX ? at : at - MIN(at, now);
}

bool rejoin_look(short revents, bool waited_for)
{
	if (re()->state == LOST) {
		release_tenant();
		return false;
	}
	if (!shim_has_fd(&shim->wake))
		lose_for_good("the program has closed its connection to heddled");
	else if (re()->state == JOINED)
		look_joined(revents, waited_for);
	else if (re()->state == ALONE)
		look_alone();
	else
		look_joining(revents);
	if (re()->state != LOST && re()->lost_ns && !re()->warned &&
		shim_now_ns() - re()->lost_ns > WARN_NS) {
		re()->warned = true;
		shim_warn(re()->why);
	}
	return re()->state != LOST;
}
