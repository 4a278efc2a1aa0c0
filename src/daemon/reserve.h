/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reservations of GPUs. Two heddleds on one GPU would each decide without knowing the other's
 * programs. So a heddled that serves a GPU listens on an abstract socket with the GPU's name. Linux
 * reports the listener's uid, and no file is left behind. For each GPU there is one socket name for
 * the system's heddled (of root, or of the owner of /run/heddle), and one for each user:
 * - The system's heddled ignores users' reservations; a user's heddled serves no GPU that the
 *   system's heddled serves.
 * - Two heddleds of one user exclude each other.
 * - Heddleds of different users ignore each other. Otherwise any user could exclude another by
 *   binding a name. */
#ifndef HEDDLE_DAEMON_RESERVE_H
#define HEDDLE_DAEMON_RESERVE_H

#include <sys/socket.h>

/* Reserves a GPU for this heddled. gpu: the device's name from the tenant's first message; a name
 * that is not a GPU's UUID needs no reservation. Returns:
 * - 0: this heddled may serve the GPU. *ret_fd is the listening socket of the reservation, or -1 if
 *   there is no reservation. Other heddleds find this one by connecting to that socket. The caller
 *   accepts and closes their connections, and closes the socket when it no longer serves the GPU.
 * - -EBUSY: another heddled serves the GPU; *ret_holder has its process.
 * - another negative errno */
int gpu_reserve(const char *gpu, int *ret_fd, struct ucred *ret_holder);

#endif
