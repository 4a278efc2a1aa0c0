/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle's descriptors inside another program's process. The program may close any descriptor and
 * reuse its number for a file of its own, which heddle must never read, write or close. So each use
 * first checks that the descriptor still refers to heddle's file. Between check and use another
 * thread may still close it, because no system call does both. fstat cannot tell two eventfds
 * apart, so heddle uses its eventfds only if the socket that belongs to them is unchanged as
 * well. */
#ifndef HEDDLE_HOST_FD_H
#define HEDDLE_HOST_FD_H

#include <stdbool.h>
#include <sys/types.h>

struct host_fd {
	int fd; /* -1: no descriptor */
	dev_t dev;
	ino_t ino;
};

/* Gives the ownership of fd to *ret. Sets close-on-exec, and moves fd to a higher number if
 * possible, because programs expect low numbers to be free. */
void host_fd_take(struct host_fd *ret, int fd);
bool host_fd_is(const struct host_fd *o); /* true if fd is still the file that was taken */
void host_fd_close(struct host_fd *o);    /* closes fd only if it is still that file */

#endif
