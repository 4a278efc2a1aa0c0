/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Checks, sends and receives messages. Received bytes are untrusted: wire_check reads nothing
 * beyond them, and a receiver keeps only the descriptors that it asked for. */
#include "wire.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct text {
	uint16_t at, bytes;
};

#define TEXT(type, field)                                                        \
	{                                                                        \
		offsetof(struct type, field), sizeof(((struct type *)0)->field), \
	}

static const struct layout {
	size_t bytes;
	struct text texts[5];
} layouts[] = {
	[WIRE_HELLO] = {sizeof(struct wire_hello),
		{TEXT(wire_hello, device), TEXT(wire_hello, name), TEXT(wire_hello, group),
			TEXT(wire_hello, device_name), TEXT(wire_hello, driver)}},
	[WIRE_WELCOME] = {sizeof(struct wire_welcome), {TEXT(wire_welcome, mps_pipe)}},
	[WIRE_REFUSED] = {sizeof(struct wire_refused), {TEXT(wire_refused, why)}},
	[WIRE_LIST] = {sizeof(struct wire_head)},
	[WIRE_ROW] = {sizeof(struct wire_row),
		{TEXT(wire_row, name), TEXT(wire_row, group), TEXT(wire_row, device),
			TEXT(wire_row, device_name)}},
	[WIRE_STATUS] = {sizeof(struct wire_status),
		{TEXT(wire_status, policy), TEXT(wire_status, version), TEXT(wire_status, socket),
			TEXT(wire_status, mps)}},
	[WIRE_END] = {sizeof(struct wire_head)},
	[WIRE_SET] = {sizeof(struct wire_set)},
	[WIRE_PROFILE] = {sizeof(struct wire_head)},
	[WIRE_KERNEL] = {sizeof(struct wire_kernel),
		{TEXT(wire_kernel, name), TEXT(wire_kernel, device), TEXT(wire_kernel, driver)}},
	[WIRE_SHAPE] = {sizeof(struct wire_shape)},
	[WIRE_WAKE] = {sizeof(struct wire_head)},
};

static bool hello_in_range(const struct wire_hello *h)
{
	return h->priority >= 0 && h->priority < (int)WIRE_PRIORITIES && h->weight >= 1 &&
	       h->weight <= 1000 && h->n_sms >= 1 && h->n_sms <= CTL_MAX_SMS &&
	       h->is_cpu_device <= 1;
}

int wire_check(const void *msg, size_t bytes)
{
	struct wire_head head;
	const struct layout *l;

	if (bytes < sizeof(head))
		return -EBADMSG;
	memcpy(&head, msg, sizeof(head));
	/* Check the version first, because the other fields may have another meaning in another
	 * version. */
	if (head.protocol != WIRE_PROTOCOL)
		return -EPROTO;
	if (head.type == 0 || head.type >= ARRAY_LEN(layouts) || head.bytes != bytes)
		return -EBADMSG;
	l = &layouts[head.type];
	if (bytes != l->bytes)
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_LEN(l->texts) && l->texts[i].bytes; i++) {
		if (!memchr((const char *)msg + l->texts[i].at, 0, l->texts[i].bytes))
			return -EBADMSG;
	}
	if (head.type == WIRE_HELLO) {
		struct wire_hello h;

		memcpy(&h, msg, sizeof(h));
		return hello_in_range(&h) ? 0 : -EBADMSG;
	}
	return 0;
}

void wire_plain(void *msg)
{
	struct wire_head head;
	const struct layout *l;

	memcpy(&head, msg, sizeof(head));
	l = &layouts[head.type];
	if (head.type == WIRE_WELCOME)
		return;
	for (size_t i = 0; i < ARRAY_LEN(l->texts) && l->texts[i].bytes; i++) {
		char *text = (char *)msg + l->texts[i].at;

		text_plain(text, strlen(text), "");
	}
}

void wire_head_init(struct wire_head *h, enum wire_type type, size_t bytes)
{
	*h = (struct wire_head){.type = type, .bytes = (uint32_t)bytes, .protocol = WIRE_PROTOCOL};
}

bool wire_may_go_on(int sock, int option, uint64_t *io_since_ms)
{
	struct timeval tv = {0};
	socklen_t len = sizeof(tv);
	struct timespec now;
	uint64_t ms, limit;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	if (!*io_since_ms)
		*io_since_ms = ms;
	if (getsockopt(sock, SOL_SOCKET, option, &tv, &len) < 0)
		return false;
	limit = (uint64_t)tv.tv_sec * 1000 + (uint64_t)tv.tv_usec / 1000;
	if (!limit || ms - *io_since_ms < limit)
		return true;
	errno = EAGAIN;
	return false;
}

int wire_send(int sock, const void *msg, const int *fds, unsigned n_fds)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * WIRE_MAX_FDS)];
	} control = {0};
	struct wire_head head;
	struct iovec iov;
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	uint64_t since = 0;
	ssize_t n;

	memcpy(&head, msg, sizeof(head));
	if (n_fds > WIRE_MAX_FDS || head.bytes < sizeof(head) || head.bytes > WIRE_MAX_BYTES)
		return -EINVAL;
	iov = (struct iovec){.iov_base = (void *)msg, .iov_len = head.bytes};
	if (fds && n_fds) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * n_fds);
	}
	do
		n = sendmsg(sock, &m, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR && wire_may_go_on(sock, SO_SNDTIMEO, &since));
	if (n < 0)
		return -errno;
	return (size_t)n == head.bytes ? 0 : -EMSGSIZE;
}

/* Returns up to max descriptors and closes the others. */
static unsigned take_fds(struct msghdr *m, int *ret_fds, unsigned max)
{
	unsigned kept = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (ret_fds && kept < max)
				ret_fds[kept++] = fd;
			else
				close(fd);
		}
	}
	return kept;
}

static ssize_t receive_packet(int sock, struct msghdr *m, uint64_t *io_since)
{
	ssize_t n;

	do
		n = recvmsg(sock, m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR && wire_may_go_on(sock, SO_RCVTIMEO, io_since));
	return n;
}

int wire_recv(int sock, void *msg, size_t max, int *ret_fds, unsigned max_fds, unsigned *ret_n_fds)
{
	/* Space for more descriptors than any message may have, so that surplus descriptors arrive
	 * and can be closed. The system drops descriptors that exceed even this. */
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int) * 4 * WIRE_MAX_FDS)];
	} control;
	struct iovec iov = {.iov_base = msg, .iov_len = max};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	uint64_t since = 0;
	unsigned n_fds;
	ssize_t n = receive_packet(sock, &m, &since);

	/* If the peer closes the connection without reading everything, the system reports a reset
	 * once, before the peer's reply. So receive again. */
	if (n < 0 && errno == ECONNRESET) {
		n = receive_packet(sock, &m, &since);
		if (n == 0) {
			take_fds(&m, NULL, 0); /* the packet is empty, but may carry descriptors */
			return -ECONNRESET;
		}
	}
	if (n < 0)
		return -errno;
	if (m.msg_flags & MSG_TRUNC) {
		take_fds(&m, NULL, 0);
		return -EMSGSIZE;
	}
	n_fds = take_fds(&m, ret_fds, max_fds);
	if (ret_n_fds)
		*ret_n_fds = n_fds;
	return (int)n;
}

/* With SO_PASSCRED every packet has a control message, also an empty packet. So a packet without one
 * is the end of the connection. */
int wire_peek_init(int sock)
{
	int on = 1;

	return setsockopt(sock, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ? -errno : 0;
}

int wire_peek(int sock, void *msg, size_t max, bool *ret_has_fds)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct ucred))]; /* no space for descriptors */
	} control;
	struct iovec iov = {.iov_base = msg, .iov_len = max};
	struct msghdr m;
	ssize_t n;
	int tries = 2; /* the system reports a reset only once, so the second try can succeed */

	do {
		m = (struct msghdr){.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof(control)};
		n = recvmsg(sock, &m, MSG_PEEK | MSG_DONTWAIT);
	} while (n < 0 && (errno == EINTR || (errno == ECONNRESET && --tries)));
	if (n < 0)
		return -errno;
	*ret_has_fds = m.msg_flags & MSG_CTRUNC;
	if (n == 0 && m.msg_controllen == 0 && !*ret_has_fds)
		return -EPIPE;
	return m.msg_flags & MSG_TRUNC ? -EMSGSIZE : (int)n;
}

void wire_skip(int sock)
{
	char byte;

	while (recv(sock, &byte, 0, MSG_DONTWAIT) < 0 && errno == EINTR)
		;
}
