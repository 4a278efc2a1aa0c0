/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Two heddleds on one GPU would each decide without the other's programs. So a heddled that serves
 * a GPU listens on an abstract socket with the GPU's name. Linux reports the listener's uid, and no
 * file is left behind. For each GPU there is one name for the system's heddled (of root, or of the
 * owner of /run/heddle), and one for each user:
 * - The system's heddled ignores users' claims; a user's heddled yields to the system's.
 * - Two heddleds of one user exclude each other.
 * - Heddleds of different users ignore each other. Otherwise any user could exclude another by
 *   binding a name. */
#ifndef HEDDLE_DAEMON_CLAIM_H
#define HEDDLE_DAEMON_CLAIM_H

#include <sys/socket.h>

/* Claims a GPU for this heddled. gpu: the device's name from the tenant's first message; a name
 * that is not a GPU's UUID needs no claim. Returns 0 if this heddled may serve the GPU. *ret_fd is
 * then the listening socket of the claim, or -1 if there is none. Other heddleds find this one by
 * connecting to that socket. The caller accepts and closes these connections, and closes the socket
 * in the end. Returns -EBUSY if the heddled of *ret_holder serves the GPU, or else a negative
 * errno. */
int claim_take(const char *gpu, int *ret_fd, struct ucred *ret_holder);

#endif
