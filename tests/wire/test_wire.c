/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Tests that sent messages arrive, errors are distinguished, and descriptors do not leak. */
#include "unit.h"

#include "wire/wire.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static unsigned open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void pair(int sock[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock), 0);
}

static struct wire_hello good_hello(void)
{
	struct wire_hello h = {.priority = 2, .weight = 1, .n_sms = 4};

	wire_head_init(&h.head, WIRE_HELLO, sizeof(h));
	strcpy(h.device, "GPU-0");
	strcpy(h.name, "prog");
	return h;
}

static void round_trip(void **state)
{
	_Alignas(8) char msg[WIRE_MAX_BYTES];
	struct wire_hello h = good_hello();
	int sock[2], fds[3], got[3];
	unsigned n = 0, before = open_fds();

	pair(sock);
	for (int i = 0; i < 3; i++)
		fds[i] = open("/dev/null", O_RDONLY);
	assert_int_equal(wire_send(sock[0], &h, fds, 3), 0);
	assert_int_equal(wire_recv(sock[1], msg, sizeof(msg), got, 3, &n), sizeof(h));
	assert_int_equal(n, 3);
	assert_memory_equal(msg, &h, sizeof(h));
	assert_int_equal(wire_check(msg, sizeof(h)), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(fcntl(got[i], F_GETFD) & FD_CLOEXEC);
		close(got[i]);
		close(fds[i]);
	}
	close(sock[0]);
	assert_int_equal(wire_recv(sock[1], msg, sizeof(msg), NULL, 0, NULL), 0);
	close(sock[1]);
	assert_int_equal(open_fds(), before);
}

/* Sends any number of bytes, and n copies of one descriptor. */
static void send_many(int sock, const void *msg, size_t bytes, int fd, unsigned n)
{
	char room[CMSG_SPACE(sizeof(int) * 200)] = {0};
	struct iovec iov = {(void *)msg, bytes};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = room,
		.msg_controllen = CMSG_SPACE(sizeof(int) * n)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	*c = (struct cmsghdr){CMSG_LEN(sizeof(int) * n), SOL_SOCKET, SCM_RIGHTS};
	for (unsigned i = 0; i < n; i++)
		memcpy(CMSG_DATA(c) + i * sizeof(int), &fd, sizeof(int));
	assert_int_equal(sendmsg(sock, &m, 0), bytes);
}

/* A message comes with more descriptors than the receiver requested, than any message has, or than
 * fit into the receiver's buffer. The surplus must be closed. */
static void descriptor_floods(void **state)
{
	unsigned before = open_fds(), counts[] = {1, 8, 32, 200};
	struct wire_hello h = good_hello();
	char msg[WIRE_MAX_BYTES];

	for (size_t k = 0; k < ARRAY_LEN(counts); k++) {
		int sock[2], got[1];
		unsigned n = 9;

		pair(sock);
		send_many(sock[0], &h, sizeof(h), sock[0], counts[k]);
		assert_int_equal(wire_recv(sock[1], msg, sizeof(msg), k ? NULL : got, k == 0, &n),
			sizeof(h));
		assert_int_equal(n, k == 0);
		if (k == 0)
			close(got[0]);
		close(sock[0]);
		close(sock[1]);
		assert_int_equal(open_fds(), before);
	}
}

/* An empty packet comes with descriptors, from a peer that then closes although it has unread data.
 * None of the descriptors may stay open. */
static void reset_with_descriptors(void **state)
{
	unsigned before = open_fds();
	char msg[WIRE_MAX_BYTES];
	int sock[2];

	pair(sock);
	assert_int_equal(send(sock[1], "?", 1, 0), 1);
	send_many(sock[0], msg, 0, sock[1], 2);
	close(sock[0]);
	assert_int_equal(wire_recv(sock[1], msg, sizeof(msg), NULL, 0, NULL), -ECONNRESET);
	close(sock[1]);
	assert_int_equal(open_fds(), before);
}

static void oversized(void **state)
{
	char big[WIRE_MAX_BYTES + 100] = {0}, msg[WIRE_MAX_BYTES];
	struct wire_head *h = (struct wire_head *)(void *)big;
	int sock[2];

	pair(sock);
	wire_head_init(h, WIRE_LIST, sizeof(big));
	assert_int_equal(wire_send(sock[0], big, NULL, 0), -EINVAL);
	assert_int_equal(send(sock[0], big, sizeof(big), 0), sizeof(big));
	assert_int_equal(wire_recv(sock[1], msg, sizeof(msg), NULL, 0, NULL), -EMSGSIZE);
	/* The next packet is received intact. */
	wire_head_init(h, WIRE_LIST, sizeof(*h));
	assert_int_equal(wire_send(sock[0], h, NULL, 0), 0);
	assert_int_equal(wire_recv(sock[1], msg, sizeof(msg), NULL, 0, NULL), sizeof(*h));
	close(sock[1]);
	assert_int_equal(wire_send(sock[0], h, NULL, 0), -EPIPE);
	close(sock[0]);
}

static void on_alarm(int sig)
{
}

/* The peer never answers, and signals interrupt the call more often than its timeout. The call must
 * time out nevertheless. */
static void interrupted(void **state)
{
	struct sigaction act = {.sa_handler = on_alarm}, old;
	struct itimerval often = {{0, 20000}, {0, 20000}}, never = {0};
	struct timeval limit = {0, 200000};
	char msg[WIRE_MAX_BYTES];
	int sock[2];

	pair(sock);
	assert_int_equal(setsockopt(sock[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
	assert_int_equal(sigaction(SIGALRM, &act, &old), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	assert_int_equal(wire_recv(sock[0], msg, sizeof(msg), NULL, 0, NULL), -EAGAIN);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &old, NULL), 0);
	close(sock[0]);
	close(sock[1]);
}

static void malformed(void **state)
{
	struct wire_hello h = good_hello(), bad;
	struct wire_head head;

	assert_int_equal(wire_check(&h, sizeof(h)), 0);
	for (size_t n = 0; n < sizeof(h); n++)
		assert_int_equal(wire_check(&h, n), -EBADMSG);
	bad = h;
	bad.head.protocol++;
	assert_int_equal(wire_check(&bad, sizeof(bad)), -EPROTO);
	bad.head.bytes = 1; /* another version may have any size */
	assert_int_equal(wire_check(&bad, sizeof(bad.head)), -EPROTO);
	bad = h;
	bad.head.type = 0;
	assert_int_equal(wire_check(&bad, sizeof(bad)), -EBADMSG);
	bad.head.type = WIRE_END + 1;
	assert_int_equal(wire_check(&bad, sizeof(bad)), -EBADMSG);
	bad.head.type = WIRE_ROW; /* a known type with another size */
	assert_int_equal(wire_check(&bad, sizeof(bad)), -EBADMSG);
	bad = h;
	memset(bad.name, 'x', sizeof(bad.name)); /* no NUL */
	assert_int_equal(wire_check(&bad, sizeof(bad)), -EBADMSG);
	memset(bad.group, 0, sizeof(bad.group)); /* a NUL in the next field must not count */
	assert_int_equal(wire_check(&bad, sizeof(bad)), -EBADMSG);
	bad = h;
	bad.n_sms = CTL_MAX_SMS + 1;
	assert_int_equal(wire_check(&bad, sizeof(bad)), -EBADMSG);
	bad.n_sms = 0;
	assert_int_equal(wire_check(&bad, sizeof(bad)), -EBADMSG);
	bad = h;
	bad.priority = -1;
	assert_int_equal(wire_check(&bad, sizeof(bad)), -EBADMSG);
	bad.priority = 1000;
	assert_int_equal(wire_check(&bad, sizeof(bad)), -EBADMSG);
	bad = h;
	bad.weight = 0;
	assert_int_equal(wire_check(&bad, sizeof(bad)), -EBADMSG);
	wire_head_init(&head, WIRE_LIST, sizeof(head));
	assert_int_equal(wire_check(&head, sizeof(head)), 0);
	head.bytes++;
	assert_int_equal(wire_check(&head, sizeof(head)), -EBADMSG);
}

static void pages(void **state)
{
	struct wire_page *p, *q, *keep;
	int fd, other;

	assert_int_equal(wire_page_create(7, &p, &fd), 0);
	assert_int_equal(p->tenant, 7);
	assert_int_equal(p->n_slots, WIRE_SLOTS);
	assert_int_equal(wire_page_map(fd, &q), 0);
	p->slots[3].granted = 5;
	assert_int_equal(q->slots[3].granted, 5);
	/* Neither process can shrink it while the other has it mapped. */
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	p->magic++;
	keep = q;
	assert_int_equal(wire_page_map(fd, &q), -EPROTO);
	assert_ptr_equal(keep, q);
	p->magic--;
	p->version++;
	assert_int_equal(wire_page_map(fd, &q), -EPROTO);
	/* A file that can still shrink is not a valid page, whatever it contains. */
	other = memfd_create("x", MFD_CLOEXEC);
	assert_int_equal(ftruncate(other, (off_t)p->bytes), 0);
	assert_int_equal(wire_page_map(other, &q), -EPROTO);
	close(other);
	close(fd);
	wire_page_unmap(keep);
	wire_page_unmap(p);
}

static void socket_paths(void **state)
{
	char path[108], dir[] = "/tmp/heddle-test-XXXXXX", text[64];

	assert_non_null(mkdtemp(dir));
	unsetenv("HEDDLE_SOCKET");
	setenv("HEDDLE_SOCKET", "/a/b", 1);
	assert_int_equal(wire_socket_path(path, sizeof(path), false), 0);
	assert_string_equal(path, "/a/b");
	assert_int_equal(wire_socket_path(path, 4, false), -ENAMETOOLONG);
	unsetenv("HEDDLE_SOCKET");
	if (access("/run/heddle", F_OK) == 0)
		skip();
	setenv("XDG_RUNTIME_DIR", dir, 1);
	assert_int_equal(wire_socket_path(path, sizeof(path), true), 0);
	snprintf(text, sizeof(text), "%s/heddle/heddled.sock", dir);
	assert_string_equal(path, text);
	assert_int_equal(wire_socket_path(path, sizeof(path), false), 0);
	/* A folder that others may write to is not trusted. */
	snprintf(text, sizeof(text), "%s/heddle", dir);
	assert_int_equal(chmod(text, 0777), 0);
	assert_int_equal(wire_socket_path(path, sizeof(path), false), -EPERM);
	assert_int_equal(rmdir(text), 0);
	assert_int_equal(symlink("/tmp", text), 0);
	assert_int_equal(wire_socket_path(path, sizeof(path), true), -EPERM);
	unlink(text);
	rmdir(dir);
	assert_int_equal(wire_connect("/nonexistent/socket", 100), -ENOENT);
}

/* The peer closes the connection without reading the request. If it has sent an answer before, the
 * answer arrives, and then the connection's end. Otherwise the reset is reported. */
static void last_words(void **state)
{
	struct wire_refused m = {.error = 7}, got;
	struct wire_head q;
	int s[2];

	wire_head_init(&m.head, WIRE_REFUSED, sizeof(m));
	wire_head_init(&q, WIRE_LIST, sizeof(q));
	for (int answered = 0; answered < 2; answered++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
		assert_int_equal(wire_send(s[0], &q, NULL, 0), 0);
		if (answered)
			assert_int_equal(wire_send(s[1], &m, NULL, 0), 0);
		close(s[1]); /* closes with the request unread */
		if (answered) {
			assert_int_equal(
				wire_recv(s[0], &got, sizeof(got), NULL, 0, NULL), sizeof(got));
			assert_int_equal(got.error, 7);
			assert_int_equal(wire_recv(s[0], &got, sizeof(got), NULL, 0, NULL), 0);
		} else {
			assert_int_equal(
				wire_recv(s[0], &got, sizeof(got), NULL, 0, NULL), -ECONNRESET);
		}
		close(s[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(descriptor_floods),
		cmocka_unit_test(reset_with_descriptors),
		cmocka_unit_test(oversized),
		cmocka_unit_test(interrupted),
		cmocka_unit_test(last_words),
		cmocka_unit_test(malformed),
		cmocka_unit_test(pages),
		cmocka_unit_test(socket_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
