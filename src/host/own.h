/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Descriptors of ours in somebody else's table. The program may close any number and give it to a
 * file of its own: that is never read, written or closed by us. What a number leads to is looked at
 * each time before it is used. (Between the look and the use another thread may still close it: no
 * call of the system does both.) Event counters are all one file to fstat; those are used only
 * while the socket beside them is the same one, too. */
#ifndef HEDDLE_DEV_OWN_H
#define HEDDLE_DEV_OWN_H

#include <stdbool.h>
#include <sys/types.h>

struct own_fd {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

/* fd is *ret's from then on, under a higher number where there is one, out of the way of programs
 * that count on low ones; close-on-exec. */
void own_take(struct own_fd *ret, int fd);
bool own_is(const struct own_fd *o); /* still what was taken */
void own_close(struct own_fd *o);    /* if it is */

#endif
