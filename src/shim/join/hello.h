/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The conversation with heddled: the first HELLO, and those to later daemons, after the first one has
 * ended. */
#ifndef HEDDLE_SHIM_HELLO_H
#define HEDDLE_SHIM_HELLO_H

#include "shim/core/lock.h"
#include "shim/core/session.h"

struct joining {
	struct lock start_lock;
	/* true: the thread that looks for the first daemon runs; guarded by start_lock */
	bool looking;
	bool socket_given; /* the environment names the socket */
	char report_to[108];
};

/* Takes the page and the connection of an accepted greeting. Returns 0, or a negative errno and
 * leaves nothing open. */
int hello_welcome(struct session *session, struct host_greeting *g);

/* ---- reconnecting; only the agent thread calls these ---- */
/* Connects to the first daemon's address, and sends HELLO together with the page. From then on the
 * new daemon writes the page, and session->alone is false. Never waits.
 * - Returns 0 on success. Then poll *ret for the reply, and close *ret when it is no longer needed.
 * - Returns -EBADF if the program has closed the page's descriptor, or another negative errno.
 *   session->alone may be false after an error, too, because it is cleared before HELLO is sent. */
int hello_again(struct session *session, struct host_fd *ret);
/* Reads the daemon's reply. Call it when the socket is readable or the peer has closed it. Returns:
 * - 0: heddled accepts the tenant; the session now owns the socket and everything that came with the
 *   reply
 * - -EAGAIN: the reply is not complete yet
 * - -EACCES: heddled refuses the tenant
 * - -EPROTO: the protocol does not match
 * - another negative errno */
int hello_answered(struct session *session, struct host_fd *sock);
/* Closes the connection, so that the daemon sees the end of this tenant. */
void hello_ends(struct session *session);

#endif
