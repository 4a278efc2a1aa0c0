/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Stores the results of the conversation with heddled (host/client.h) in the session. */
#include "shim/join/hello.h"
#include "shim/core/lock.h"

#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sends the page's descriptor to `heddle run -v`, which reads the page's figures after the program
 * has ended. A failure does no harm. */
static void report_page(struct session *session)
{
	const char *to = session->joining->report_to;
	int sock = *to ? wire_connect(to, REPORT_MS) : -1;

	if (sock < 0)
		return;
	wire_send(sock, &session->client.hello, &session->client.page_fd.fd, 1);
	close(sock);
}

int hello_welcome(struct session *session, struct host_greeting *g)
{
	int r = host_client_accept(&session->client, g);

	if (r < 0)
		return r;
	__atomic_store_n(&session->page, session->client.page, __ATOMIC_RELEASE);
	report_page(session);
	return 0;
}

int hello_again(struct session *session, struct host_fd *ret)
{
	int r = host_client_reconnect(&session->client, ret);

	if (r < 0)
		return r;
	lock_take(&session->fd_lock);
	atomic_fetch_add(&session->joins, 1);
	atomic_store(&session->alone, false);
	lock_drop(&session->fd_lock);
	r = host_client_bring_page(&session->client, ret);
	if (r < 0)
		host_fd_close(ret);
	return r;
}

/* Stores the reply. Other threads read some of its fields. */
static void store_welcome(struct session *session, const struct wire_welcome *m)
{
	struct wire_welcome *to = &session->client.welcome;

	__atomic_store_n(&to->min_managed_ns, m->min_managed_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&to->latency_ns, m->latency_ns, __ATOMIC_RELAXED);
}

int hello_answered(struct session *session, struct host_fd *sock)
{
	struct host_greeting g;
	struct host_fd old[3];
	int r = host_client_answered(&session->client, sock, &g);

	if (r < 0)
		return r;
	lock_take(&session->fd_lock);
	host_client_replace(&session->client, &g, old);
	lock_drop(&session->fd_lock);
	sock->fd = -1;
	for (unsigned i = 0; i < 3; i++)
		host_fd_close(&old[i]);
	store_welcome(session, &g.m.welcome);
	return 0;
}

void hello_ends(struct session *session)
{
	if (host_fd_is(&session->client.sock)) /* a child process may also have this socket open */
		shutdown(session->client.sock.fd, SHUT_RDWR);
}
