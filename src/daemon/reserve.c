/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See reserve.h. */
#include "reserve.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SYSTEM_DIR "/run/heddle"

/* Returns true if the name is "GPU-" and a UUID. */
static bool is_gpu(const char *name)
{
	static const char form[] = "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t i;

	for (i = 0; form[i]; i++) {
		bool hex = name[i] && strchr("0123456789abcdef", name[i]);

		if (form[i] == 'x' ? !hex : name[i] != form[i])
			return false;
	}
	return !name[i];
}

/* Returns true for root and for the owner of SYSTEM_DIR, which only root can create. */
static bool is_system(uid_t uid)
{
	struct stat st;

	return uid == 0 || (lstat(SYSTEM_DIR, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid);
}

/* Writes the socket name of the reservation. A user's name contains the uid, so reservations of
 * different users do not conflict. */
static socklen_t fill_socket_name(struct sockaddr_un *ret, bool system, const char *gpu)
{
	size_t max = sizeof(ret->sun_path) - 1;
	int n;

	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (system)
		n = snprintf(ret->sun_path + 1, max, "heddle/system/%s", gpu);
	else
		n = snprintf(ret->sun_path + 1, max, "heddle/user/%u/%s", (unsigned)geteuid(), gpu);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int new_socket(void)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Finds the process that listens on the reservation's socket. Returns false if there is none or it
 * cannot be identified. */
static bool find_holder(bool system, const char *gpu, struct ucred *ret)
{
	struct sockaddr_un a;
	socklen_t size = fill_socket_name(&a, system, gpu), len = sizeof(*ret);
	int fd = new_socket();
	/* The listener may be a process of any user. After shutdown it cannot send: to close a socket
	 * that has descriptors in it can block. */
	bool is = fd >= 0 && shutdown(fd, SHUT_RD) == 0 &&
		  connect(fd, (const struct sockaddr *)&a, size) == 0 &&
		  getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &len) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

static int listen_for_gpu(bool system, const char *gpu, int *ret_fd)
{
	struct sockaddr_un a;
	socklen_t size = fill_socket_name(&a, system, gpu);
	int fd = new_socket(), r = 0;

	if (fd < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)&a, size) < 0 || listen(fd, 64) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

/* Returns true if this user has the right to reserve the GPU under this socket name. Any user can
 * bind any abstract socket name, so a bound name alone proves nothing. */
static bool is_entitled(bool system, uid_t uid)
{
	return system ? is_system(uid) : uid == geteuid() || uid == 0;
}

int gpu_reserve(const char *gpu, int *ret_fd, struct ucred *ret_holder)
{
	bool system = is_system(geteuid());
	struct ucred holder;
	int r;

	*ret_fd = -1;
	if (!is_gpu(gpu))
		return 0;
	if (!system && find_holder(true, gpu, &holder) && is_system(holder.uid)) {
		*ret_holder = holder;
		return -EBUSY;
	}
	r = listen_for_gpu(system, gpu, ret_fd);
	if (r != -EADDRINUSE)
		return r;
	/* A socket reserves nothing if no process listens on it, or if its user has no right to the
	 * reservation. */
	if (!find_holder(system, gpu, &holder) || !is_entitled(system, holder.uid))
		return 0;
	*ret_holder = holder;
	return -EBUSY;
}
