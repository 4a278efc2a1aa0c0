/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Connections: accepts them, replies to their messages, and closes them. If heddled refuses a
 * connection, it sends the reason and closes the connection. It does so, for example, in these
 * cases:
 * - The peer sends a malformed or unexpected message, or asks for something that its user may not
 *   do.
 * - The peer leaves a reply unread for too long.
 * - The connection has no tenant, and the peer sends nothing for too long.
 *
 * A tenant ends when its connection closes or its process ends. */
#include "server.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_GROUPS 256

static void conn_free(struct server *s, struct conn *c)
{
	if (c->tenant)
		hd_tenant_remove(s->hd, c->tenant);
	s->pass_now |= c->tenant != NULL;
	wire_page_unmap(c->page);
	loop_unwatch(s, &c->kick);
	loop_unwatch(s, &c->pid);
	epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->socket.fd, NULL);
	porter_close(s, c->socket.fd, c->cred.uid);
	s->n_at_porter -= c->at_porter && !c->porter;
	*(c->prev ? &c->prev->next : &s->conns) = c->next;
	if (c->next)
		c->next->prev = c->prev;
	s->n_conns--;
	strbuf_finish(&c->out);
	free(c);
}

/* True if a connection has been killed since the last conn_reap. */
static bool any_dead;

void conn_kill(struct conn *c)
{
	c->dead = any_dead = true;
}

void conn_reap(struct server *s)
{
	bool any = any_dead;

	any_dead = false;
	for (struct conn *c = s->conns, *next; c && any; c = next) {
		next = c->next;
		if (c->dead)
			conn_free(s, c);
	}
	reservations_reap(s);
	porters_reap(s);
}

static int read_peer_cred(int fd, struct ucred *ret)
{
	socklen_t len = sizeof(*ret);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &len) < 0 ? -errno : 0;
}

/* Logs a refusal. The rate is limited, because a peer can cause any number of refusals and must not
 * fill the disk. */
static void log_refused(struct server *s, const struct conn *c, const char *why)
{
	if (hd_log_may(&s->refusals, loop_now(s), HD_LOG_WARNING, "refused"))
		hd_log("refused pid %d, uid %u: %s", (int)c->cred.pid, (unsigned)c->cred.uid, why);
}

static void refuse_conn(struct server *s, struct conn *c, int error, const char *why)
{
	struct wire_refused m = {.error = -error};

	wire_head_init(&m.head, WIRE_REFUSED, sizeof(m));
	snprintf(m.why, sizeof(m.why), "%s", why);
	s->hd->refused++;
	log_refused(s, c, why);
	wire_send(c->socket.fd, &m, NULL, 0);
	conn_kill(c);
}

/* ---- accepting connections ---- */

static uint32_t count_user_conns(const struct server *s, uid_t uid)
{
	uint32_t n = 0;

	for (const struct conn *c = s->conns; c; c = c->next)
		n += c->cred.uid == uid && !c->dead;
	return n;
}

/* Returns how many bytes in the output buffers of this user's connections are unsent. */
static size_t sum_unsent_bytes(const struct server *s, uid_t uid)
{
	size_t n = 0;

	for (const struct conn *c = s->conns; c; c = c->next)
		n += c->cred.uid == uid ? c->out.len : 0;
	return n;
}

static void set_expiry(struct server *s, struct conn *c)
{
	uint64_t now = loop_now(s);

	c->until_ns = UINT64_MAX;
	if (c->tenant && !c->out.len)
		return;
	if (now < UINT64_MAX - s->config->silence_ns)
		c->until_ns = now + s->config->silence_ns;
	s->expiry_ns = MIN(s->expiry_ns, c->until_ns);
}

uint64_t conn_expire(struct server *s, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;

	if (now_ns < s->expiry_ns)
		return s->expiry_ns;
	for (struct conn *c = s->conns; c; c = c->next) {
		if (c->dead)
			continue;
		if (now_ns >= c->until_ns)
			refuse_conn(s, c, -ETIMEDOUT,
				c->out.len ? "the answer was not read within silence_ms"
					   : "no message within silence_ms");
		else
			next = MIN(next, c->until_ns);
	}
	s->expiry_ns = next;
	conn_reap(s);
	return next;
}

static const char *check_conn_limits(const struct server *s, const struct conn *c)
{
	uint32_t limit = hd_user_connections(s->config, s->max_conns);

	if (s->n_conns > s->max_conns)
		return "too many connections";
	if (s->n_conns > limit && count_user_conns(s, c->cred.uid) > limit)
		return "too many connections of this user: user_connections (heddled(8)) is the "
		       "limit";
	if (porters_block(s, c->cred.uid))
		return "heddled still waits for files to close that programs of this user sent: "
		       "end these programs";
	return NULL;
}

void conn_add(struct server *s, int fd)
{
	struct conn *c = calloc(1, sizeof(*c));
	const char *why;

	if (!c || read_peer_cred(fd, &c->cred) < 0 || wire_peek_init(fd) < 0) {
		porter_close(s, fd, c ? c->cred.uid : 0);
		free(c);
		return;
	}
	c->kick.fd = c->pid.fd = -1;
	c->socket.conn = c->kick.conn = c->pid.conn = c;
	c->next = s->conns;
	if (c->next)
		c->next->prev = c;
	s->conns = c;
	s->n_conns++;
	set_expiry(s, c);
	if (loop_watch(s, &c->socket, WATCH_CONN, fd, EPOLLIN) < 0)
		conn_kill(c);
	why = check_conn_limits(s, c);
	if (why)
		refuse_conn(s, c, -EDQUOT, why);
}

void conn_accept(struct server *s)
{
	int fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0) {
		s->short_of_fds = false;
		conn_add(s, fd);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
		/* The listener stays readable, so without a pause the loop would not sleep. */
		loop_pause_listener(s);
	}
}

/* ---- sending ---- */

void conn_writable(struct server *s, struct conn *c)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &c->socket};
	size_t from = c->out_at;

	while (c->out_at < c->out.len) {
		struct wire_head head;
		int r = wire_send(c->socket.fd, c->out.at + c->out_at, NULL, 0);

		if (r == -EAGAIN) {
			ev.events |= EPOLLOUT;
			break;
		}
		if (r < 0) {
			conn_kill(c);
			return;
		}
		memcpy(&head, c->out.at + c->out_at, sizeof(head));
		c->out_at += head.bytes;
	}
	if (c->out_at == c->out.len) {
		strbuf_finish(&c->out);
		from = c->out_at = 0;
		set_expiry(s, c);
	}
	if (c->out_at != from)
		set_expiry(s, c);
	if (!c->at_porter)
		epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->socket.fd, &ev);
}

/* ---- tenants ---- */

static size_t peer_groups(int fd, gid_t *ret, size_t max)
{
	socklen_t len = (socklen_t)(max * sizeof(gid_t));

	return getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, ret, &len) < 0 ? 0 : len / sizeof(gid_t);
}

/* The tenant's eventfd is its own: heddled keeps no descriptor of it. */
static int send_welcome(struct server *s, struct conn *c, int page_fd)
{
	const struct hd_config *cf = s->config;
	struct wire_welcome m = {
		.tenant = c->tenant->id,
		.page_bytes = c->page->bytes,
		.priority = c->tenant->priority,
		.weight = c->tenant->weight,
		.mps = cf->mps,
		.min_managed_ns = (uint32_t)MIN(cf->min_managed_ns, UINT32_MAX),
		.latency_ns = (uint32_t)cf->latency_ns,
	};
	int fds[3] = {page_fd, c->kick.fd, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)}, r;

	if (fds[2] < 0)
		return -errno;
	wire_head_init(&m.head, WIRE_WELCOME, sizeof(m));
	snprintf(m.mps_pipe, sizeof(m.mps_pipe), "%s", cf->mps ? cf->mps_pipe : "");
	r = wire_send(c->socket.fd, &m, fds, 3);
	close(fds[2]);
	c->welcomed = r == 0;
	if (c->welcomed && c->wake_due)
		conn_wake(s, c->tenant, false);
	return r;
}

/* Watches the eventfd by which the tenant wakes heddled. The watch is edge-triggered and heddled
 * never reads the eventfd, so a wake-up costs heddled no extra system call. */
static int watch_tenant(struct server *s, struct conn *c)
{
	int kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), pid, r;

	if (kick < 0)
		return -errno;
	r = loop_watch(s, &c->kick, WATCH_KICK, kick, EPOLLIN | EPOLLET);
	if (r < 0)
		return r;
	/* Watches the process itself, because a child that inherited the socket would keep it open.
	 * A process of another pid namespace has pid 0 here; heddled then learns of its end only
	 * from the socket. */
	pid = c->cred.pid > 0 ? (int)syscall(SYS_pidfd_open, c->cred.pid, 0) : -1;
	if (pid >= 0)
		return loop_watch(s, &c->pid, WATCH_PID, pid, EPOLLIN);
	return c->cred.pid > 0 && errno == ESRCH ? -ESRCH : 0;
}

/* Reduces the priority and weight to the most that the peer may have. */
static void reduce_to_rights(
	struct server *s, struct conn *c, int *io_priority, uint32_t *io_weight)
{
	gid_t groups[MAX_GROUPS];
	size_t n = peer_groups(c->socket.fd, groups, MAX_GROUPS);

	hd_rights(s->config, &c->cred, groups, n, io_priority, io_weight);
}

/* Ends an earlier connection of the same process for the same page. A page has one tenant, and this
 * daemon may not yet have seen that the earlier connection ended. Returns -EBUSY if the page
 * belongs to a connection of another process, or to one that was accepted after c. (Such
 * connections are before c in the list s->conns.) */
static int end_earlier_conn(struct server *s, struct conn *c)
{
	bool later = true;

	for (struct conn *o = s->conns; o; o = o->next) {
		later &= o != c;
		if (o == c || !o->tenant || o->page_number != c->page_number)
			continue;
		if (later || o->cred.pid != c->cred.pid || o->cred.uid != c->cred.uid)
			return -EBUSY;
		hd_tenant_remove(s->hd, o->tenant);
		o->tenant = NULL;
		conn_kill(o);
	}
	return 0;
}

/* Takes over the page that the tenant brought (*io_fd), or else creates one. */
static int get_page(struct server *s, struct conn *c, int *io_fd)
{
	bool again = *io_fd >= 0;
	int r;

	r = again ? wire_page_adopt(*io_fd, &c->page) : wire_page_create(0, &c->page, io_fd);
	if (r == 0)
		r = wire_page_number(*io_fd, &c->page_number);
	if (r == 0 && again)
		r = end_earlier_conn(s, c);
	if (r == 0 && again)
		hd_page_renew(c->page);
	return r;
}

/* page_fd: the page that a porter received with the message, or -1. The caller closes it. */
static void handle_hello(struct server *s, struct conn *c, const struct wire_hello *h, int page_fd)
{
	int priority = h->priority, given_fd = page_fd, r;
	uint32_t weight = h->weight;
	char why[128] = "another connection has this page";

	reduce_to_rights(s, c, &priority, &weight);
	r = reservations_add(s, h, why, sizeof(why));
	if (r == 0)
		r = get_page(s, c, &page_fd);
	if (r == 0)
		r = watch_tenant(s, c);
	if (r == 0)
		r = hd_tenant_add(s->hd, &c->cred, h, priority, weight, c->page, c, &c->tenant);
	if (r == 0)
		r = send_welcome(s, c, page_fd);
	if (page_fd >= 0 && page_fd != given_fd)
		close(page_fd);
	set_expiry(s, c);
	if (r == -EUSERS)
		refuse_conn(s, c, r, "too many tenants: max_tenants (heddled(8)) is the limit");
	else if (r == -ENOSPC)
		refuse_conn(s, c, r, "too many tenants or devices");
	else if (r == -EDQUOT)
		refuse_conn(s, c, r,
			"too many tenants or devices of this user: user_tenants and user_devices "
			"(heddled(8)) "
			"are the limits");
	else if (r == -EPROTO)
		refuse_conn(s, c, r, "the file with the message is no page of a tenant");
	else if (r == -EBUSY)
		refuse_conn(s, c, r, why);
	else if (r < 0)
		refuse_conn(s, c, r, strerror(-r));
	else if (c->tenant->is_logged && (priority != h->priority || weight != h->weight))
		hd_log("pid %d, uid %u asked for priority %s, weight %u: granted %s, %u",
			(int)c->cred.pid, (unsigned)c->cred.uid,
			hd_priority_name(h->priority, (char[16]){0}), h->weight,
			hd_priority_name(priority, (char[16]){0}), weight);
}

void conn_wake(void *server, struct hd_tenant *t, bool hold)
{
	struct conn *c = t->user;
	struct wire_head m;

	(void)server;
	syscall(SYS_futex, &t->page->seq, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	if (hold)
		syscall(SYS_futex, &t->page->hold, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	c->wake_due = !c->welcomed;
	if (!c->welcomed)
		return;
	/* This does not block: the open file is heddled's alone, and is non-blocking. If the socket
	 * is full, the tenant has a message to wake it already. */
	wire_head_init(&m, WIRE_WAKE, sizeof(m));
	wire_send(c->socket.fd, &m, NULL, 0);
}

/* ---- receiving ---- */

static void refuse_bad_message(struct server *s, struct conn *c, int r)
{
	s->hd->bad_messages++;
	if (r == -EPROTO) {
		char why[128];

		snprintf(why, sizeof(why),
			"another protocol version: this heddled speaks version %u", WIRE_PROTOCOL);
		refuse_conn(s, c, -EPROTO, why);
	} else {
		refuse_conn(s, c, -EBADMSG, "malformed message");
	}
}

/* Replies with the list of tenants, or with the list of kernel records. */
static void answer_list(struct server *s, struct conn *c, enum wire_type what)
{
	if (sum_unsent_bytes(s, c->cred.uid) > SERVER_UNSENT) {
		refuse_conn(s, c, -EDQUOT,
			"this user has left too many answers unread: read them first");
		return;
	}
	if (what == WIRE_PROFILE)
		hd_profile(s->hd, c->cred.uid ? c->cred.uid : DURATION_ANY, &c->out);
	else
		hd_list(s->hd, &c->out);
	if (c->out.failed) {
		refuse_conn(s, c, -ENOMEM, strerror(ENOMEM));
		return;
	}
	set_expiry(s, c);
	conn_writable(s, c);
}

/* Changes a tenant's priority and weight. The user who asks must be root, heddled's user or the
 * tenant's user, and must have the right to the new values (rights.c). */
static void handle_set(struct server *s, struct conn *c, const struct wire_set *m)
{
	struct hd_tenant *t = hd_tenant_find(s->hd, m->tenant);
	int priority = m->priority == WIRE_AS_IT_IS && t ? t->priority : m->priority;
	uint32_t weight = m->weight || !t ? m->weight : t->weight;
	int granted = priority;
	uint32_t granted_weight = weight;
	struct wire_head end;

	reduce_to_rights(s, c, &granted, &granted_weight);
	if (!t) {
		refuse_conn(s, c, -ESRCH, "no such tenant");
	} else if (c->cred.uid != 0 && c->cred.uid != geteuid() && c->cred.uid != t->cred.uid) {
		refuse_conn(s, c, -EPERM, "this tenant belongs to another user");
	} else if (priority < 0 || priority > WIRE_HIGHEST || weight > WIRE_WEIGHT_MAX ||
		   granted != priority || granted_weight != weight) {
		refuse_conn(s, c, -EPERM,
			"this user may not set this priority or weight (heddled(8), "
			"privileged_group)");
	} else {
		hd_tenant_set(s->hd, t, priority, weight);
		s->pass_now = true;
		wire_head_init(&end, WIRE_END, sizeof(end));
		strbuf_add(&c->out, (const char *)&end, sizeof(end));
		conn_writable(s, c);
	}
}

static void handle_message(struct server *s, struct conn *c, void *msg)
{
	struct wire_status status;
	struct wire_head head;

	wire_plain(msg);
	memcpy(&head, msg, sizeof(head));
	switch (head.type) {
	case WIRE_HELLO:
		if (c->tenant)
			break;
		handle_hello(s, c, msg, -1);
		return;
	case WIRE_LIST:
	case WIRE_PROFILE:
		if (c->out.len)
			break; /* the client must read the previous answer first */
		answer_list(s, c, head.type);
		return;
	case WIRE_SET:
		if (c->out.len || c->tenant)
			break;
		handle_set(s, c, msg);
		return;
	default:
		break;
	}
	/* A status message without contents requests the status. */
	if (head.type == WIRE_STATUS && c->out.len == 0) {
		hd_status(s->hd, &status);
		status.may_priority = WIRE_HIGHEST;
		status.may_weight = 1000;
		reduce_to_rights(s, c, &status.may_priority, &status.may_weight);
		strbuf_add(&c->out, (const char *)&status, sizeof(status));
		conn_writable(s, c);
		return;
	}
	s->hd->bad_messages++;
	refuse_conn(s, c, -EBADMSG, "message out of order");
}

void conn_brought(struct server *s, struct conn *c, const struct wire_hello *h, int page_fd, int r)
{
	/* A tenant of an earlier heddled may return with launches that are running. */
	s->pass_now = true;
	if (r == 0) {
		handle_hello(s, c, h, page_fd);
		return;
	}
	s->hd->bad_messages++;
	if (r == -EBUSY || r == -ETIMEDOUT)
		refuse_conn(s, c, r,
			"heddled still waits for files to close that programs of this user sent");
	else
		refuse_conn(s, c, -EPROTO, "the file with the message is no page of a tenant");
}

/* Handles a message that came with descriptors. Only a HELLO may have some. */
static void handle_with_fds(struct server *s, struct conn *c, const void *msg, int n)
{
	struct wire_head head;

	if (n > 0 && wire_check(msg, (size_t)n) == 0 && !c->tenant) {
		memcpy(&head, msg, sizeof(head));
		if (head.type == WIRE_HELLO) {
			porter_receive(s, c);
			return;
		}
	}
	s->hd->bad_messages++;
	refuse_conn(s, c, -EBADMSG, "a message with a file that does not belong to it");
}

void conn_readable(struct server *s, struct conn *c)
{
	_Alignas(8) char msg[WIRE_MAX_BYTES];

	/* Handles only a few messages at a time, so that no connection delays the others. */
	for (unsigned i = 0; i < 8 && !c->dead && !c->at_porter; i++) {
		bool has_fds = false;
		int n = wire_peek(c->socket.fd, msg, sizeof(msg), &has_fds), r;

		if (n == -EAGAIN)
			return;
		if (has_fds) {
			handle_with_fds(s, c, msg, n);
			return;
		}
		if (n >= 0 || n == -EMSGSIZE)
			wire_skip(c->socket.fd);
		r = n > 0 ? wire_check(msg, (size_t)n) : 0;
		if (n == -EMSGSIZE)
			refuse_bad_message(s, c, -EBADMSG);
		else if (n <= 0)
			conn_kill(c);
		else if (r < 0)
			refuse_bad_message(s, c, r);
		else
			handle_message(s, c, msg);
	}
}
