/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Joins a new daemon after the first one has ended: the second HELLO message and everything after
 * it. Only the agent thread calls these functions, unless the comment says "any thread". */
#ifndef HEDDLE_SHIM_HELLO_H
#define HEDDLE_SHIM_HELLO_H

#include "shim/shim.h"

/* Connects to the first daemon's address, and sends HELLO together with the page. From then on the
 * new daemon writes the page, and shim->alone is false. Never waits.
 * - Returns 0 on success. Then poll *ret for the reply, and close *ret when it is no longer needed.
 * - Returns -EBADF if the program has closed the page's descriptor, or another negative errno.
 *   shim->alone may be false after an error, too, because it is cleared before HELLO is sent. */
int hello_again(struct own_fd *ret);
/* Reads the daemon's reply. Call it when the socket is readable or the peer has closed it. Returns:
 * - 0: heddled accepts the tenant; `shim` now owns the socket and everything that came with the
 *   reply
 * - -EAGAIN: the reply is not complete yet
 * - -EACCES: heddled refuses the tenant
 * - -EPROTO: the protocol does not match
 * - another negative errno */
int hello_answered(struct own_fd *sock);
void hello_ends(void); /* makes the daemon see this tenant as gone */
/* Any thread: the present socket; false: there is none. */
bool hello_socket(struct own_fd *ret);
/* Any thread: opens the gate (gate.c) for all launches that wait in streams. Does nothing and
 * returns false if a later HELLO than number `joins` was sent. */
bool hello_open_gate(unsigned joins);

/* Call these around the end of one of the program's contexts. Until hello_resume, the program does
 * not become a tenant, and no tenant moves to another context, because both need driver calls in a
 * context. */
void hello_pause(void);
void hello_resume(void);

#endif
