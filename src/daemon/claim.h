/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Two heddleds on one GPU would each decide as if the other's programs did not exist. A heddled
 * that serves a GPU therefore listens on an abstract socket named after it. The kernel tells the
 * uid of the listener, and no file is left behind. There is one name for the system's heddled
 * (root's, or that of the owner of /run/heddle) and one for each user:
 * - The system's heddled ignores users' claims; a user's heddled gives way to the system's.
 * - Two heddleds of one user exclude each other.
 * - The heddleds of two users do not know of each other. If they did, any user could shut out
 *   another by binding a name. */
#ifndef HEDDLE_DAEMON_CLAIM_H
#define HEDDLE_DAEMON_CLAIM_H

#include <sys/socket.h>

/* gpu: as in HELLO; what is no UUID of one is nobody's. 0: the caller's to serve, and to close
 * *ret_fd, on which others ask (accept, close), or -1: there is none. -EBUSY: the heddled of
 * *ret_holder serves it. Else negative errno. */
int claim_take(const char *gpu, int *ret_fd, struct ucred *ret_holder);

#endif
