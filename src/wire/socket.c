/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds heddled's socket. It may be in a folder of the user, the last choice being a folder under
 * /tmp (wire_socket_path). Another user can have created the folder under /tmp with this name
 * first. So a folder is accepted only if it belongs to this user and no other user can write to
 * it. */
#include "wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME "heddled.sock"

static int check_private_dir(const char *dir)
{
	struct stat st;

	if (lstat(dir, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) ? 0 : -EPERM;
}

static int check_length(int n, size_t max)
{
	return n < 0 || (size_t)n >= max ? -ENAMETOOLONG : 0;
}

static int in_private_dir(char *ret_path, size_t max, const char *dir, bool for_listening)
{
	int r, length = check_length(snprintf(ret_path, max, "%s/" NAME, dir), max);

	if (length < 0)
		return length;
	if (for_listening && mkdir(dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	r = check_private_dir(dir);
	/* If there is no such folder, no daemon runs. Return the path that a daemon would use. */
	if (r < 0 && (for_listening || r != -ENOENT))
		return r;
	return 0;
}

int wire_socket_path(char *ret_path, size_t max, bool for_listening)
{
	const char *env = secure_getenv(WIRE_SOCKET_ENV),
		   *runtime = secure_getenv("XDG_RUNTIME_DIR");
	char dir[96];

	if (env && *env)
		return check_length(snprintf(ret_path, max, "%s", env), max);
	if (for_listening ? access(WIRE_SYSTEM_DIR, W_OK) == 0
			  : access(WIRE_SYSTEM_SOCKET, F_OK) == 0)
		return check_length(snprintf(ret_path, max, WIRE_SYSTEM_SOCKET), max);
	if (runtime && *runtime == '/') {
		if (check_length(snprintf(dir, sizeof(dir), "%s/heddle", runtime), sizeof(dir)) < 0)
			return -ENAMETOOLONG;
		return in_private_dir(ret_path, max, dir, for_listening);
	}
	snprintf(dir, sizeof(dir), "/tmp/heddle-%lu", (unsigned long)geteuid());
	return in_private_dir(ret_path, max, dir, for_listening);
}

int wire_connect(const char *path, int timeout_ms)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct timeval tv = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
	uint64_t since = 0;
	int fd, r;

	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, path, strlen(path));
	fd = socket(
		AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (timeout_ms < 0 ? SOCK_NONBLOCK : 0), 0);
	if (fd < 0)
		return -errno;
	/* The send timeout also limits connect. */
	if (timeout_ms > 0 && (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0 ||
				      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) < 0))
		goto fail;
	/* Retry, because a signal may interrupt the wait for space in the daemon's queue. */
	do {
		if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0)
			return fd;
	} while (errno == EINTR && wire_may_go_on(fd, SO_SNDTIMEO, &since));
fail:
	r = -errno;
	close(fd);
	return r;
}
