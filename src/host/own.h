/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle's descriptors in a foreign program's table. The program may close any number and reuse it
 * for a file of its own, which heddle must never read, write or close. So each use first checks the
 * descriptor's file. (Between check and use another thread may still close it: no system call does
 * both.) fstat sees all event counters as one file, so these are used only if the socket beside
 * them is still the same, too. */
#ifndef HEDDLE_DEV_OWN_H
#define HEDDLE_DEV_OWN_H

#include <stdbool.h>
#include <sys/types.h>

struct own_fd {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

/* *ret owns fd from then on, moved to a higher number if possible, since programs count on low
 * ones; close-on-exec. */
void own_take(struct own_fd *ret, int fd);
bool own_is(const struct own_fd *o); /* still the taken file */
void own_close(struct own_fd *o);    /* if it is */

#endif
