/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Decides which side writes the shared page (wire/page.h). While a daemon runs, the daemon writes
 * the quotas and settings in it. Without a daemon, the agent thread writes them. Once the agent has
 * sent HELLO to the next daemon, that daemon writes them, whether it has replied or not.
 *
 * Without a daemon, the agent repairs two kinds of values: those that a daemon left half-written
 * when it died, and those that a stalled daemon writes late. The next daemon then writes all values
 * anew. Between HELLO and its reply the shim holds no launch back (session->dead). If the new daemon
 * has already preempted a launch by then, the shim still launches workers for that launch, and
 * these exit at once. */
#include "shim/join/rejoin.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "shim/join/hello.h"
#include "shim/launch/resume.h"
#include "shim/plain/opaque.h"

#define FIRST_NS 5000000u     /* delay before the first attempt to find another daemon */
#define MOST_NS  200000000u   /* the delay doubles after each attempt, up to this */
#define NEVER_NS 60000000000u /* after a refusal, no more attempts */
/* a daemon that has run for this long does not crash because of this tenant */
#define STEADY_NS 1000000000u
#define WARN_NS   500000000u

struct rejoin {
	enum { JOINED, ALONE, JOINING, LOST } state;
	struct host_fd sock;                         /* used in JOINING */
	uint64_t since_ns, lost_ns, try_ns, wait_ns; /* since_ns: start of JOINED */
	const char *why;
	bool warned;
};

static void change_to_joined(struct session *session)
{
	session->rejoin->state = JOINED;
	session->client.silence = (struct silence){0};
	session->rejoin->since_ns = shim_now_ns();
	session->rejoin->lost_ns = 0;
}

void rejoin_begin(struct session *session)
{
	*session->rejoin = (struct rejoin){0};
	session->rejoin->sock.fd = -1;
	change_to_joined(session);
}

static void store(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Resets everything in the page by which a daemon may have restricted the tenant (quotas, holds,
 * bounds), because without a daemon the tenant runs without restrictions. */
static void release_tenant(struct session *session)
{
	struct wire_page *p = session->page;
	bool held = page_load(&p->hold);

	store(&p->watch, 0);
	store(&p->follow, 0);
	store(&p->gates, 0);
	store(&p->bound_us, 0);
	store(&p->hold, 0);
	store(&p->allowed, page_load(&p->opaque_submitted) + WIRE_FAR_AHEAD);
	managed_take_over(session);
	if (held)
		opaque_wake(session);
}

static void retry_in(struct session *session, uint64_t ns)
{
	uint64_t now = shim_now_ns();

	session->rejoin->state = ALONE;
	host_fd_close(&session->rejoin->sock);
	session->rejoin->try_ns = now + ns;
	atomic_store(&session->alone, true);
	release_tenant(session);
}

static void retry_later(struct session *session)
{
	session->rejoin->wait_ns = MIN(2 * session->rejoin->wait_ns, MOST_NS);
	retry_in(session, session->rejoin->wait_ns);
}

static void lose_daemon(struct session *session, const char *why)
{
	uint64_t now = shim_now_ns();

	atomic_store(&session->dead, true);
	store(&session->page->ends, 1);
	hello_ends(session);
	if (!session->rejoin->wait_ns || now - session->rejoin->since_ns > STEADY_NS)
		session->rejoin->wait_ns = FIRST_NS;
	else
		session->rejoin->wait_ns = MIN(2 * session->rejoin->wait_ns, MOST_NS);
	session->rejoin->lost_ns = now;
	session->rejoin->why = why;
	retry_in(session, session->rejoin->wait_ns);
	opaque_wake(session);
}

static void lose_for_good(struct session *session, const char *why)
{
	if (session->rejoin->state == JOINED)
		lose_daemon(session, why);
	else
		retry_in(session, 0);
	session->rejoin->state = LOST;
	atomic_store(&session->mode, SHIM_NATIVE);
	shim_warn(why);
}

/* Reads the messages of heddled, which are all WIRE_WAKE. *ret_woken: there was one. Returns true if
 * the connection is over. */
static bool is_over(struct session *session, short revents, bool *ret_woken)
{
	*ret_woken = false;
	if (revents & (POLLHUP | POLLERR | POLLNVAL))
		return true;
	if (!(revents & POLLIN))
		return false;
	return host_client_is_over(&session->client, ret_woken);
}

static bool is_silent(struct session *session, bool waited_for)
{
	return host_client_is_silent(&session->client, shim_now_ns(), waited_for);
}

static void look_joined(struct session *session, short revents, bool waited_for)
{
	bool woken;

	if (is_over(session, revents, &woken) || is_silent(session, waited_for))
		lose_daemon(session, "heddled is gone");
	else if (woken && __atomic_load_n(&session->page->opaque_waiting, __ATOMIC_ACQUIRE))
		opaque_wake(session); /* the daemon may not have done so */
}

static void look_alone(struct session *session)
{
	int r;

	/* The stalled daemon may have sent another control word since the last call. */
	release_tenant(session);
	if (shim_now_ns() < session->rejoin->try_ns)
		return;
	r = hello_again(session, &session->rejoin->sock);
	if (r == 0) {
		session->rejoin->state = JOINING;
		session->client.silence = (struct silence){0};
	} else if (r == -EBADF) {
		lose_for_good(session, "the program has closed its connection to heddled");
	} else {
		retry_later(session);
	}
}

static void look_joining(struct session *session, short revents)
{
	int r = revents ? hello_answered(session, &session->rejoin->sock) : -EAGAIN;

	if (r == 0) {
		change_to_joined(session);
		store(&session->page->ends, 0);
		atomic_store(&session->dead, false);
		shim_kick(session);
	} else if (r == -EACCES || r == -EPROTO) {
		retry_in(session, NEVER_NS);
	} else if (r != -EAGAIN || is_silent(session, managed_any_stopped(session))) {
		retry_later(session);
	}
}

int rejoin_fd(struct session *session)
{
	if (session->rejoin->state == JOINED)
		return shim_has_fd(session, &session->client.sock) ? session->client.sock.fd : -1;
	return session->rejoin->state == JOINING && host_fd_is(&session->rejoin->sock)
		       ? session->rejoin->sock.fd
		       : -1;
}

uint64_t rejoin_next(struct session *session)
{
	uint64_t now = shim_now_ns(), at = UINT64_MAX;

	if (session->rejoin->state == ALONE)
		at = session->rejoin->try_ns;
	if (session->rejoin->lost_ns && !session->rejoin->warned)
		at = MIN(at, session->rejoin->lost_ns + WARN_NS);
	return at == UINT64_MAX ? at : at - MIN(at, now);
}

bool rejoin_look(struct session *session, short revents, bool waited_for)
{
	if (session->rejoin->state == LOST) {
		release_tenant(session);
		return false;
	}
	if (!shim_has_fd(session, &session->client.wake))
		lose_for_good(session, "the program has closed its connection to heddled");
	else if (session->rejoin->state == JOINED)
		look_joined(session, revents, waited_for);
	else if (session->rejoin->state == ALONE)
		look_alone(session);
	else
		look_joining(session, revents);
	if (session->rejoin->state != LOST && session->rejoin->lost_ns &&
		!session->rejoin->warned && shim_now_ns() - session->rejoin->lost_ns > WARN_NS) {
		session->rejoin->warned = true;
		shim_warn(session->rejoin->why);
	}
	return session->rejoin->state != LOST;
}

bool rejoin_open(struct session *session)
{
	session->rejoin = calloc(1, sizeof(*session->rejoin));
	return session->rejoin;
}
