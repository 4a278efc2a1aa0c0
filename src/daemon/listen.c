/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Opens the listening socket: one that the service manager passed, or heddled's own. In the second
 * case heddled locks a file beside the socket for as long as heddled lives. So if another heddled
 * finds a socket and can take the lock, the daemon of that socket is dead. */
#include "base/number.h"
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTEN_FDS_START 3

void notify(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len == 0 || len >= sizeof(a.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(a.sun_path, path, len);
	if (path[0] == '@')
		a.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&a,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

/* Returns the socket that the service manager has opened, or -1. */
static int find_activated_fd(void)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	int type = 0, listening = 0;
	socklen_t len = sizeof(type);
	uint64_t me = (uint64_t)getpid(), n;

	if (!pid || !fds || number_parse(pid, me, me, &n) < 0 ||
		number_parse(fds, 1, INT32_MAX, &n) < 0)
		return -1;
	if (getsockopt(LISTEN_FDS_START, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
		getsockopt(LISTEN_FDS_START, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 ||
		type != SOCK_SEQPACKET || !listening)
		return -1;
	fcntl(LISTEN_FDS_START, F_SETFD, FD_CLOEXEC);
	fcntl(LISTEN_FDS_START, F_SETFL, O_NONBLOCK);
	return LISTEN_FDS_START;
}

static int take_lock(struct server *s, pid_t *ret_pid)
{
	char path[sizeof(s->config->socket) + 8], text[32] = "";
	struct stat st;
	int fd, r;

	snprintf(path, sizeof(path), "%s.lock", s->config->socket);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EBADFD : -errno;
	/* In a folder where others may create files, a lock file of another user is not the lock of
	 * a daemon of this user. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
		close(fd);
		return -EBADFD;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
		if (read(fd, text, sizeof(text) - 1) > 0)
			*ret_pid = (pid_t)number_digits(text, SIZE_MAX, 10).value;
		close(fd);
		return r;
	}
	snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || write(fd, text, strlen(text)) < 0)
		hd_log("%s: %s", path, strerror(errno));
	s->lock = fd;
	return 0;
}

/* Lets the members of c->group connect, if the configuration names a group that exists and the
 * socket can be given to it. Otherwise only the owner can connect. */
int listen_give_rights(const struct hd_config *c)
{
	const struct group *g = c->group[0] ? getgrnam(c->group) : NULL;

	if (g && chown(c->socket, (uid_t)-1, g->gr_gid) == 0)
		return chmod(c->socket, 0660) < 0 ? -errno : 0;
	if (g)
		hd_log("%s: cannot give it to group %s: only this user can connect", c->socket,
			c->group);
	return chmod(c->socket, 0600) < 0 ? -errno : 0;
}

/* Removes a socket of this user at this path. It belongs to a dead daemon, because the caller holds
 * the lock. Leaves any other file, and returns -ENOTSOCK for it. */
static int remove_dead_socket(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return -ENOTSOCK;
	return unlink(path) < 0 ? -errno : 0;
}

static void remember_socket(struct server *s)
{
	struct stat st;

	if (lstat(s->config->socket, &st) < 0)
		return;
	s->socket_dev = st.st_dev;
	s->socket_ino = st.st_ino;
}

static bool is_socket_unchanged(const struct server *s)
{
	struct stat st;

	return s->socket_ino && lstat(s->config->socket, &st) == 0 && st.st_dev == s->socket_dev &&
	       st.st_ino == s->socket_ino;
}

int listen_open(struct server *s, pid_t *ret_pid)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd = find_activated_fd(), r;
	mode_t mask;

	s->lock = -1;
	if (fd >= 0) {
		s->activated = true;
		return loop_watch(s, &s->listener, WATCH_LISTENER, fd, EPOLLIN);
	}
	if (strlen(s->config->socket) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	r = take_lock(s, ret_pid);
	if (r < 0)
		return r;
	memcpy(a.sun_path, s->config->socket, strlen(s->config->socket));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	r = remove_dead_socket(s->config->socket);
	if (r == 0) {
		mask = umask(0177);
		r = bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
		umask(mask);
	}
	if (r == 0)
		remember_socket(s);
	if (r == 0)
		r = listen_give_rights(s->config);
	if (r == 0 && listen(fd, 128) < 0)
		r = -errno;
	if (r < 0) {
		if (is_socket_unchanged(s))
			unlink(s->config->socket);
		close(fd);
		return r;
	}
	return loop_watch(s, &s->listener, WATCH_LISTENER, fd, EPOLLIN);
}

void listen_close(struct server *s)
{
	loop_unwatch(s, &s->listener);
	if (!s->activated && is_socket_unchanged(s))
		unlink(s->config->socket);
	if (s->lock >= 0)
		/* The lock file stays. The next daemon may have opened it already, and would then
		 * hold the lock of a file that no longer exists. */
		close(s->lock);
}
