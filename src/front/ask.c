/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Sends questions to heddled and receives its answers. */
#include "front/ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "front/cli.h"
#include "wire/unreached.h"

#define TIMEOUT_MS 5000

int ask_path(const char *socket, char *ret, size_t max)
{
	if (!socket)
		return wire_socket_path(ret, max, false);
	return snprintf(ret, max, "%s", socket) < (int)max ? 0 : -ENAMETOOLONG;
}

static int send_question(const char *socket, const void *question)
{
	char path[108];
	int fd = ask_path(socket, path, sizeof(path)), r;

	if (fd < 0)
		/* callers take -EPERM for an answer from heddled */
		return fd == -EPERM ? -EACCES : fd;
	fd = wire_connect(path, TIMEOUT_MS);
	if (fd < 0)
		return fd;
	r = wire_send(fd, question, NULL, 0);
	if (r < 0 && r != -EPIPE) { /* after -EPIPE, heddled's answer can still be read */
		close(fd);
		return r;
	}
	return fd;
}

/* heddled's reason for the last -EACCES of receive_answer; else empty. One command asks one daemon,
 * from one thread. */
static char refusal[sizeof(((struct wire_refused *)0)->why)];

/* Receives one message from heddled and checks it. Returns the message's type, or a negative errno:
 * -EDQUOT if this user has reached a limit that heddled sets for each user. */
static int receive_answer(int fd, void *msg)
{
	struct wire_refused refused;
	struct wire_head head;
	int n = wire_recv(fd, msg, WIRE_MAX_BYTES, NULL, 0, NULL), r;

	if (n <= 0)
		return n == 0 ? -ECONNRESET : n == -EAGAIN ? -ETIMEDOUT : n;
	r = wire_check(msg, (size_t)n);
	if (r < 0)
		return r;
	wire_plain(msg);
	memcpy(&head, msg, sizeof(head));
	if (head.type != WIRE_REFUSED)
		return (int)head.type;
	memcpy(&refused, msg, sizeof(refused));
	switch (refused.error) {
	case EDQUOT:
	case ESRCH:
	case EPERM:
		return -refused.error;
	default:
		snprintf(refusal, sizeof(refusal), "%s", refused.why);
		return -EACCES;
	}
}

int ask_status(const char *socket, struct wire_status *ret)
{
	_Alignas(8) char msg[WIRE_MAX_BYTES];
	struct wire_status q = {0};
	int fd, r;

	wire_head_init(&q.head, WIRE_STATUS, sizeof(q));
	fd = send_question(socket, &q);
	if (fd < 0)
		return fd;
	r = receive_answer(fd, msg);
	close(fd);
	if (r < 0)
		return r;
	if (r != WIRE_STATUS)
		return -EBADMSG;
	memcpy(ret, msg, sizeof(*ret));
	return 0;
}

int ask_list(const char *socket, void (*fn)(void *user, const struct wire_row *row), void *user)
{
	_Alignas(8) char msg[WIRE_MAX_BYTES];
	struct wire_head q;
	int fd, r;

	wire_head_init(&q, WIRE_LIST, sizeof(q));
	fd = send_question(socket, &q);
	if (fd < 0)
		return fd;
	while ((r = receive_answer(fd, msg)) == WIRE_ROW)
		fn(user, (const struct wire_row *)(void *)msg);
	close(fd);
	if (r < 0)
		return r;
	return r == WIRE_END ? 0 : -EBADMSG;
}

int ask_profile(const char *socket, ask_profile_fn *fn, void *user)
{
	_Alignas(8) char msg[WIRE_MAX_BYTES];
	uint32_t left = 0; /* shapes of the current kernel that have not arrived yet */
	struct wire_head q;
	int fd, r;

	wire_head_init(&q, WIRE_PROFILE, sizeof(q));
	fd = send_question(socket, &q);
	if (fd < 0)
		return fd;
	while ((r = receive_answer(fd, msg)) == WIRE_KERNEL || (r == WIRE_SHAPE && left)) {
		if (r == WIRE_KERNEL) {
			const struct wire_kernel *k = (const struct wire_kernel *)(void *)msg;

			left = k->n_shapes;
			fn(user, k, NULL);
		} else {
			left--;
			fn(user, NULL, (const struct wire_shape *)(void *)msg);
		}
	}
	close(fd);
	if (r < 0)
		return r;
	return r == WIRE_END ? 0 : -EBADMSG;
}

int ask_set(const char *socket, uint32_t tenant, int priority, uint32_t weight)
{
	struct wire_set q = {.tenant = tenant, .priority = priority, .weight = weight};
	_Alignas(8) char msg[WIRE_MAX_BYTES];
	int fd, r;

	wire_head_init(&q.head, WIRE_SET, sizeof(q));
	fd = send_question(socket, &q);
	if (fd < 0)
		return fd;
	r = receive_answer(fd, msg);
	close(fd);
	return r < 0 ? r : r == WIRE_END ? 0 : -EBADMSG;
}

void ask_explain(const char *socket, int error, struct wire_unreached *ret)
{
	char path[108] = "";
	int r = ask_path(socket, path, sizeof(path));

	if (error == -EDQUOT) {
		*ret = (struct wire_unreached){.todo = "what one user may have: heddled(8), "
						       "user_connections"};
		snprintf(ret->what, sizeof(ret->what),
			"the heddled at %s has as many connections of this user, or answers that "
			"none of them takes, as one may have",
			path);
	} else if (error == -EACCES && *refusal) {
		*ret = (struct wire_unreached){.todo = "heddled's log has it, too"};
		snprintf(ret->what, sizeof(ret->what), "the heddled at %s refused the question: %s",
			path, refusal);
	} else {
		wire_unreached(path, r < 0, error, ret);
	}
}

int ask_failed(const struct cli *c, const char *socket, int error)
{
	struct wire_unreached u;

	if (error == -ENOMEM)
		return cli_error(c, NULL, "%s", strerror(ENOMEM));
	ask_explain(socket, error, &u);
	return cli_error(c, u.todo, "%s", u.what);
}

bool ask_is_priority(const char *word)
{
	size_t n = strlen(word);

	return ask_priority(word) >= 0 || (n > 0 && n < 4 && strspn(word, "0123456789") == n);
}

int ask_priority(const char *word)
{
	char buf[16];

	for (int i = 0; i <= WIRE_HIGHEST; i++) {
		if (strcmp(ask_priority_name(i, buf, sizeof(buf)), word) == 0)
			return i;
	}
	return -1;
}

const char *ask_priority_name(int priority, char *buf, size_t size)
{
	static const char *const names[] = {"low", "normal", "high"};

	if (priority >= 0 && priority < 3)
		return names[priority];
	snprintf(buf, size, "%d", priority);
	return buf;
}
