/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Two heddleds on one GPU would each decide without the other's programs. So a heddled that
 * serves a GPU listens on an abstract socket with the GPU's name. The kernel reports the
 * listener's uid, and no file is left behind. There is one name for the system's heddled (of
 * root, or of the owner of /run/heddle), and one for each user:
 * - The system's heddled ignores users' claims; a user's heddled yields to the system's.
 * - Two heddleds of one user exclude each other.
 * - Heddleds of different users ignore each other. Otherwise any user could exclude another by
 *   binding a name. */
#ifndef HEDDLE_DAEMON_CLAIM_H
#define HEDDLE_DAEMON_CLAIM_H

#include <sys/socket.h>

/* Claims a GPU. gpu: the text in HELLO; a text that is no GPU's UUID needs no claim. 0: the
 * caller may serve the GPU. It closes *ret_fd, where other heddleds ask (accept and close); -1:
 * there is none. -EBUSY: the heddled of *ret_holder serves the GPU. Else a negative errno. */
int claim_take(const char *gpu, int *ret_fd, struct ucred *ret_holder);

#endif
