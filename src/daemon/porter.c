/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Starts porters and handles their answers (porter.h). */
#include "porter.h"
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BATCH    32u  /* number of connections from which one porter receives */
#define SENT     253u /* most descriptors in one packet: the system's limit (SCM_MAX_FD) */
#define SKIPPED  64u  /* packets that wait in one socket; the system's limit is far below */
#define UNCLOSED 256u

struct porter {
	struct porter *next;  /* in server.porters; porters_reap frees it after its process ended */
	struct watch channel; /* fd -1: this porter only closes sockets */
	pid_t pid;            /* 0: the porter has ended */
	uid_t uid;
	uint64_t since_ns;
};

/* Sockets that must be closed, but have unreceived descriptors. */
struct unclosed {
	struct {
		int sock;
		uid_t uid;
	} at[UNCLOSED];
	unsigned n;
};

/* From the porter to heddled, with the page's descriptor if result is 0. */
struct answer {
	struct wire_head head;
	int32_t sock;   /* the connection's socket: its descriptor number in heddled */
	int32_t result; /* 0 or a negative errno */
	struct wire_hello hello;
};

/* ---- in the child process ---- */

static int compare_fds(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Closes all descriptors but 0 to 2 and these. None of the others is the last of its file: heddled
 * has it. */
static void close_others(int *fds, unsigned n)
{
	unsigned from = 3;

	qsort(fds, n, sizeof(*fds), compare_fds);
	for (unsigned i = 0; i < n; i++) {
		if ((unsigned)fds[i] > from)
			syscall(SYS_close_range, from, (unsigned)fds[i] - 1, 0);
		from = (unsigned)fds[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}

/* Receives one HELLO. Descriptors are never closed: this process ends soon. */
static int receive_hello(int sock, struct wire_hello *ret, int *ret_page)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(SENT * sizeof(int))];
	} control;
	_Alignas(8) char msg[WIRE_MAX_BYTES];
	struct iovec iov = {.iov_base = msg, .iov_len = sizeof(msg)};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	struct wire_page *page;
	int r;

	if (n < 0)
		return -errno;
	if (n != sizeof(*ret) || wire_check(msg, (size_t)n) < 0)
		return -EBADMSG;
	wire_plain(msg);
	memcpy(ret, msg, sizeof(*ret));
	if (ret->head.type != WIRE_HELLO)
		return -EBADMSG;
	*ret_page = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		if (*ret_page >= 0 || c->cmsg_len != CMSG_LEN(sizeof(int)))
			return -EBADMSG;
		memcpy(ret_page, CMSG_DATA(c), sizeof(int));
	}
	if (*ret_page < 0)
		return -EBADMSG;
	r = wire_page_adopt(*ret_page, &page);
	if (r == 0)
		wire_page_unmap(page);
	return r;
}

/* socks: connections to receive a HELLO from, and after these others that only end with this
 * process. */
static void porter_main(pid_t parent, int channel, const int *socks, unsigned n_hellos, unsigned n)
{
	int kept[BATCH + UNCLOSED + 1];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "heddled-porter");
	if (getppid() != parent)
		_exit(1);
	memcpy(kept, socks, n * sizeof(*socks));
	if (channel >= 0)
		kept[n++] = channel;
	close_others(kept, n);
	for (unsigned i = 0; i < n_hellos; i++) {
		struct answer a = {.sock = socks[i]};
		int page = -1;

		a.result = receive_hello(socks[i], &a.hello, &page);
		wire_head_init(&a.head, 0, sizeof(a));
		if (wire_send(channel, &a, &page, a.result == 0) < 0)
			break;
	}
	_exit(0);
}

/* ---- in heddled's process ---- */

static unsigned count_porters(const struct server *s, uid_t uid, uint64_t since_ns)
{
	unsigned n = 0;

	for (const struct porter *p = s->porters; p; p = p->next)
		n += p->pid && p->uid == uid && p->since_ns <= since_ns;
	return n;
}

bool porters_block(const struct server *s, uid_t uid)
{
	uint64_t now = loop_now(s);

	return now > PORTER_NS && count_porters(s, uid, now - PORTER_NS) >= PORTERS_PER_USER;
}

/* Closes this user's sockets, which a porter has now, too: so this does not block. */
static void forget_unclosed(struct unclosed *u, uid_t uid)
{
	unsigned left = 0;

	for (unsigned i = 0; u && i < u->n; i++) {
		if (u->at[i].uid == uid)
			close(u->at[i].sock);
		else
			u->at[left++] = u->at[i];
	}
	if (u)
		u->n = left;
}

/* The connections that one porter serves. Returns their number. */
static unsigned choose_waiting(const struct server *s, uid_t uid, struct conn *ret[BATCH])
{
	unsigned n = 0;

	if (count_porters(s, uid, UINT64_MAX) >= PORTERS_PER_USER)
		return 0;
	for (struct conn *c = s->conns; c && n < BATCH; c = c->next) {
		if (c->at_porter && !c->porter && !c->dead && c->cred.uid == uid)
			ret[n++] = c;
	}
	return n;
}

static int fork_porter(
	const int *socks, unsigned n_hellos, unsigned n, int *ret_channel, pid_t *ret)
{
	int ends[2] = {-1, -1}, r = 0;
	pid_t self = getpid();

	if (n_hellos && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	*ret = fork();
	if (*ret == 0)
		porter_main(self, ends[1], socks, n_hellos, n);
	if (*ret < 0)
		r = -errno;
	for (unsigned i = 0; i < 2; i++) {
		if (ends[i] >= 0 && (r < 0 || i == 1))
			close(ends[i]);
	}
	if (r == 0 && ends[0] >= 0)
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*ret_channel = ends[0];
	return r;
}

/* One process for all: connections that wait for this user, and his sockets to close. Returns 0 or a
 * negative errno. */
static int start_porter(struct server *s, uid_t uid)
{
	struct unclosed *u = s->unclosed;
	struct conn *served[BATCH];
	int socks[BATCH + UNCLOSED], channel = -1, r;
	unsigned n_hellos = choose_waiting(s, uid, served), n;
	struct porter *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	for (n = 0; n < n_hellos; n++)
		socks[n] = served[n]->socket.fd;
	for (unsigned i = 0; u && i < u->n; i++) {
		if (u->at[i].uid == uid)
			socks[n++] = u->at[i].sock;
	}
	r = n ? fork_porter(socks, n_hellos, n, &channel, &p->pid) : 0;
	if (r < 0 || !n) {
		free(p);
		return r;
	}
	*p = (struct porter){.next = s->porters,
		.channel.fd = -1,
		.pid = p->pid,
		.uid = uid,
		.since_ns = loop_now(s)};
	s->porters = p;
	if (channel >= 0)
		loop_watch(s, &p->channel, WATCH_PORTER, channel, EPOLLIN);
	for (unsigned i = 0; i < n_hellos; i++) {
		served[i]->porter = p;
		s->n_at_porter--;
	}
	forget_unclosed(u, uid);
	return 0;
}

/* Takes all packets without descriptors out of a socket. Returns true if it is empty for good. */
static bool empty_socket(int sock)
{
	char msg[16];
	bool has_fds = false;

	/* From here on, the client can send nothing more. */
	if (shutdown(sock, SHUT_RD) < 0 && errno != ENOTCONN)
		return false;
	for (unsigned i = 0; i < SKIPPED; i++) {
		int n = wire_peek(sock, msg, sizeof(msg), &has_fds);

		if (n == -EPIPE || n == -ENOTCONN)
			return true;
		if (n == -ECONNRESET)
			continue;
		if ((n < 0 && n != -EMSGSIZE) || has_fds)
			return false;
		wire_skip(sock);
	}
	return false;
}

void porter_close(struct server *s, int sock, uid_t uid)
{
	int r = -ENOMEM;

	if (empty_socket(sock)) {
		close(sock);
		return;
	}
	if (!s->unclosed)
		s->unclosed = calloc(1, sizeof(*s->unclosed));
	if (s->unclosed && s->unclosed->n == UNCLOSED)
		r = start_porter(s, s->unclosed->at[0].uid);
	if (!s->unclosed || s->unclosed->n == UNCLOSED) {
		hd_log("no process can be started to close what uid %u sent: %s", (unsigned)uid,
			strerror(-r));
		close(sock);
		return;
	}
	s->unclosed->at[s->unclosed->n].sock = sock;
	s->unclosed->at[s->unclosed->n++].uid = uid;
}

void porter_receive(struct server *s, struct conn *c)
{
	struct epoll_event ev = {.events = 0, .data.ptr = &c->socket};

	c->at_porter = true;
	c->porter = NULL;
	s->n_at_porter++;
	c->porter_ns = loop_now(s) + PORTER_NS;
	epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->socket.fd, &ev);
}

/* The porter of this connection, or the wait for one, is over. */
static void bring(struct server *s, struct conn *c, const struct wire_hello *h, int page_fd, int r)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &c->socket};

	s->n_at_porter -= !c->porter;
	c->at_porter = false;
	c->porter = NULL;
	epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->socket.fd, &ev);
	conn_brought(s, c, h, page_fd, r);
}

static void read_answers(struct server *s, struct porter *p)
{
	struct answer a;
	int n = 0;

	while (p->channel.fd >= 0) {
		struct conn *c = s->conns;
		unsigned n_fds = 0;
		int fd = -1;

		n = wire_recv(p->channel.fd, &a, sizeof(a), &fd, 1, &n_fds);
		if (n <= 0)
			break;
		while (c && (c->porter != p || c->socket.fd != a.sock || c->dead))
			c = c->next;
		if (c && n == sizeof(a) && (a.result < 0 || n_fds))
			bring(s, c, &a.hello, fd, a.result);
		if (n_fds)
			close(fd); /* safe to close: the porter has checked that it is a page */
	}
	if (p->channel.fd >= 0 && n != -EAGAIN)
		loop_unwatch(s, &p->channel);
}

/* Fails all connections that still wait for an answer of this porter. */
static void give_up(struct server *s, struct porter *p, int error)
{
	for (struct conn *c = s->conns; c; c = c->next) {
		if (c->porter == p && !c->dead)
			bring(s, c, NULL, -1, error);
	}
}

void porter_answered(struct server *s, const struct watch *w)
{
	struct porter *p = CONTAINER_OF(w, struct porter, channel);

	read_answers(s, p);
	if (p->channel.fd < 0)
		give_up(s, p, -EBADMSG);
}

void porter_ended(struct server *s, pid_t pid)
{
	for (struct porter *p = s->porters; p; p = p->next) {
		if (p->pid != pid)
			continue;
		read_answers(s, p);
		give_up(s, p, -EBADMSG);
		p->pid = 0;
	}
}

void porters_reap(struct server *s)
{
	for (struct porter **at = &s->porters, *p = *at; p; p = *at) {
		if (p->pid) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		loop_unwatch(s, &p->channel);
		free(p);
	}
}

/* The connections that wait for a porter, by user. Returns the earliest time at which one has waited
 * for too long. */
static uint64_t serve_waiting(struct server *s)
{
	uint64_t next = UINT64_MAX;

	for (struct conn *c = s->conns; c && s->n_at_porter; c = c->next) {
		if (!c->at_porter || c->porter || c->dead)
			continue;
		if (count_porters(s, c->cred.uid, UINT64_MAX) < PORTERS_PER_USER)
			start_porter(s, c->cred.uid);
		if (c->porter)
			continue;
		if (loop_now(s) >= c->porter_ns)
			bring(s, c, NULL, -1, -EBUSY);
		else
			next = MIN(next, c->porter_ns);
	}
	return next;
}

/* Starts porters for sockets to close, if their users may have more: or if the room for such sockets
 * is half used, because a porter that only closes does not block. Returns true if some are left. */
static bool close_rest(struct server *s)
{
	struct unclosed *u = s->unclosed;

	for (unsigned i = 0; u && i < u->n;) {
		uid_t uid = u->at[i].uid;

		if (count_porters(s, uid, UINT64_MAX) >= PORTERS_PER_USER && u->n < UNCLOSED / 2)
			i++;
		else if (start_porter(s, uid) < 0)
			return true;
		else
			i = 0;
	}
	return u && u->n;
}

uint64_t porters_look(struct server *s)
{
	uint64_t next = serve_waiting(s), now = loop_now(s);

	if (close_rest(s))
		next = MIN(next, now + PORTER_NS / 20);
	for (struct porter *p = s->porters; p; p = p->next) {
		if (!p->pid)
			continue;
		if (now - p->since_ns < PORTER_NS) {
			next = MIN(next, p->since_ns + PORTER_NS);
		} else if (p->channel.fd >= 0) {
			kill(p->pid, SIGKILL);
			read_answers(s, p);
			give_up(s, p, -ETIMEDOUT);
			loop_unwatch(s, &p->channel);
		}
	}
	return next;
}

void porters_finish(struct server *s)
{
	while (s->unclosed && s->unclosed->n && start_porter(s, s->unclosed->at[0].uid) == 0)
		;
	for (struct porter *p = s->porters; p; p = p->next)
		p->pid = 0;
	porters_reap(s);
	free(s->unclosed);
	s->unclosed = NULL;
}
