/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

#include "shim/join/hello.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sends the page's descriptor to `heddle run -v`, which reads the page's figures after the program
 * has ended. A failure does no harm. */
static void report_page(struct session *session, const struct wire_hello *hello, int page_fd)
{
	int sock = *session->joining->report_to
			   ? wire_connect(session->joining->report_to, REPORT_MS)
			   : -1;

	if (sock < 0)
		return;
	wire_send(sock, hello, &page_fd, 1);
	close(sock);
}

/* Takes ownership of the socket and of all descriptors in `fds` except the page's. The caller holds
 * fd_lock if other threads already run. */
static void take_fds(struct session *session, int sock, const int fds[3])
{
	own_take(&session->sock, sock);
	own_take(&session->kick, fds[1]);
	own_take(&session->wake, fds[2]);
}

int hello_first(const char *path, const struct wire_hello *h, int timeout_ms, struct greeting *ret)
{
	int r, sock = wire_connect(path, timeout_ms);

	if (sock == -EACCES) /* by the system, not by heddled */
		return -EPERM;
	if (sock < 0)
		return sock;
	own_take(&ret->sock, sock);
	r = wire_send(ret->sock.fd, h, NULL, 0);
	if (r >= 0 || r == -EPIPE) /* that: refused already */
		r = host_await_answer(ret->sock.fd, &ret->m, ret->fds);
	if (r < 0)
		own_close(&ret->sock);
	return r;
}

void hello_drop(struct greeting *g)
{
	for (unsigned i = 0; i < 3; i++)
		close(g->fds[i]);
	own_close(&g->sock);
}

int hello_welcome(struct session *session, struct greeting *g)
{
	int r = own_is(&g->sock) ? 0 : -EBADF; /* the program may have closed it */
	struct wire_page *page = NULL;

	if (r == 0 && wire_page_map(g->fds[0], &page) < 0)
		r = -EPROTO;
	if (r < 0) {
		hello_drop(g);
		return r;
	}
	__atomic_store_n(&session->page, page, __ATOMIC_RELEASE);
	report_page(session, &session->joining->hello, g->fds[0]);
	session->welcome = g->m.welcome;
	take_fds(session, g->sock.fd, g->fds);
	own_take(&session->page_fd, g->fds[0]);
	return 0;
}

int hello_again(struct session *session, struct own_fd *ret)
{
	struct wire_hello h = session->joining->hello;
	int sock, r;

	if (!own_is(&session->page_fd))
		return -EBADF;
	sock = wire_connect(session->joining->where, -1);
	if (sock < 0)
		return sock;
	own_take(ret, sock);
	/* As it was granted, or was set since. */
	h.priority = (int)MIN(page_load(&session->page->priority), WIRE_PRIORITIES - 1);
	h.weight = MIN(MAX(page_load(&session->page->weight), 1), 1000);
	pthread_mutex_lock(&session->fd_lock);
	atomic_fetch_add(&session->joins, 1);
	atomic_store(&session->alone, false);
	pthread_mutex_unlock(&session->fd_lock);
	r = wire_send(ret->fd, &h, &session->page_fd.fd, 1);
	if (r < 0 && r != -EPIPE)
		own_close(ret);
	return r == -EPIPE ? 0 : r;
}

/* Other threads look at some of it. */
static void store_welcome(struct session *session, const struct wire_welcome *m)
{
	__atomic_store_n(&session->welcome.min_managed_ns, m->min_managed_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&session->welcome.latency_ns, m->latency_ns, __ATOMIC_RELAXED);
}

int hello_answered(struct session *session, struct own_fd *sock)
{
	struct own_fd old[3] = {session->sock, session->kick, session->wake};
	uint64_t ours = 0, theirs = 0;
	union host_answer m;
	int fds[3], r;

	if (!own_is(sock))
		return -EBADF;
	r = host_await_answer(sock->fd, &m, fds);
	if (r < 0)
		return r;
	/* The page in the daemon's reply is not the page that this tenant brought. So the new
	 * daemon has not adopted the tenant, and does not know it. */
	if (!own_is(&session->page_fd) || wire_page_number(fds[0], &theirs) < 0 ||
		wire_page_number(session->page_fd.fd, &ours) < 0 || ours != theirs) {
		for (unsigned i = 0; i < 3; i++)
			close(fds[i]);
		return -EPROTO;
	}
	close(fds[0]);
	pthread_mutex_lock(&session->fd_lock);
	take_fds(session, sock->fd, fds);
	pthread_mutex_unlock(&session->fd_lock);
	sock->fd = -1;
	for (unsigned i = 0; i < 3; i++)
		own_close(&old[i]);
	store_welcome(session, &m.welcome);
	return 0;
}

void hello_ends(struct session *session)
{
	if (own_is(&session->sock)) /* a child may have it open, too */
		shutdown(session->sock.fd, SHUT_RDWR);
}
