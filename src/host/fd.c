/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* See fd.h. */
#include "host/fd.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ABOVE  1024 /* select cannot use descriptors from 1024 on */
#define BELOW  16   /* distance to the limit of descriptors, if that is lower */
#define ENOUGH 64

/* Returns the lowest descriptor number to use; 0: any number is fine. */
static int high_number(void)
{
	struct rlimit most;

	if (getrlimit(RLIMIT_NOFILE, &most) < 0 || most.rlim_cur < ENOUGH)
		return 0;
	return most.rlim_cur > ABOVE + ENOUGH ? ABOVE : (int)most.rlim_cur - BELOW;
}

void host_fd_take(struct host_fd *ret, int fd)
{
	int up = fcntl(fd, F_DUPFD_CLOEXEC, high_number());
	struct stat st;

	if (up >= 0)
		close(fd);
	*ret = (struct host_fd){.fd = up >= 0 ? up : fd};
	if (fstat(ret->fd, &st) == 0) {
		ret->dev = st.st_dev;
		ret->ino = st.st_ino;
	}
}

bool host_fd_is(const struct host_fd *o)
{
	struct stat st;

	return o->fd >= 0 && fstat(o->fd, &st) == 0 && st.st_dev == o->dev && st.st_ino == o->ino;
}

void host_fd_close(struct host_fd *o)
{
	if (host_fd_is(o))
		close(o->fd);
	o->fd = -1;
}
