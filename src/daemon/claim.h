/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A GPU has one heddled: two would each decide as if the other's programs were not there. Whoever
 * serves a GPU listens on an abstract socket of its name, of which the system says whose it is; no
 * file is left behind, and none can be made by somebody else. The system's heddled (root's, or that
 * of the owner of /run/heddle) goes before users' own, which give way to it, and nobody else's
 * socket keeps it from anything. */
#ifndef HEDDLE_DAEMON_CLAIM_H
#define HEDDLE_DAEMON_CLAIM_H

#include <sys/socket.h>

/* gpu: as in HELLO; what is no UUID of one is nobody's. 0: the caller's to serve, and to close
 * *ret_fd, on which others ask (accept, close), or -1: there is none. -EBUSY: the heddled of
 * *ret_holder serves it. Else negative errno. */
int claim_take(const char *gpu, int *ret_fd, struct ucred *ret_holder);

#endif
