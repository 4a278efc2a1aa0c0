/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The exchange with later daemons: the second HELLO and everything after it. Only the agent calls
 * these functions, unless the comment says "any thread". */
#ifndef HEDDLE_SHIM_HELLO_H
#define HEDDLE_SHIM_HELLO_H

#include "shim/shim.h"

/* Connects to the first daemon's address, and sends HELLO with the page. From then on the daemon
 * writes the page's words, and shim->alone is false. Never waits. 0: watch *ret for the answer, and
 * close it. -EBADF: the program has closed the page. Otherwise negative errno; shim->alone may be
 * false. */
int hello_again(struct own_fd *ret);
/* Call when the socket is readable or at its end. 0: welcome; sock and all else belong to `shim`.
 * -EAGAIN: not yet; -EACCES: refused; -EPROTO: wrong protocol; or another negative errno. */
int hello_answered(struct own_fd *sock);
void hello_ends(void); /* makes the daemon see this tenant as gone */
/* Any thread: the present socket; false: there is none. */
bool hello_socket(struct own_fd *ret);
/* Any thread: opens the gate for all launches that wait in streams, unless a later HELLO than
 * number `joins` was sent. */
bool hello_open_gate(unsigned joins);

/* Around the end of one of the program's contexts. Meanwhile the program does not become a tenant,
 * and a tenant does not move to another context, since both call the driver in a context. */
void hello_pause(void);
void hello_resume(void);

#endif
