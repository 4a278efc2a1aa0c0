/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The conversation with heddled: the first HELLO, and those to later daemons, after the first one has
 * ended. */
#ifndef HEDDLE_SHIM_HELLO_H
#define HEDDLE_SHIM_HELLO_H

#include "host/tenant.h"
#include "shim/core/session.h"

struct joining {
	pthread_mutex_t start_lock;
	/* true: the thread that looks for the first daemon runs; guarded by start_lock */
	bool looking;
	/* `hello` is the message for the first daemon and each later one. `where` is the path of
	 * heddled's socket; it is a copy, because the program may change its environment. */
	struct wire_hello hello;
	char where[108];
	bool socket_given; /* the environment says where */
	char report_to[108];
	char refusal[sizeof(((struct wire_refused *)0)->why)]; /* of the first greeting */
	bool by_folder; /* it failed before: no path could be trusted, or looked at */
};

/* ---- the first daemon (start.c) ---- */
/* An answer, and after a welcome also the connection. */
struct greeting {
	union host_answer m;
	struct own_fd sock;
	int fds[3];
};

/* Connects to the daemon, sends HELLO and waits for the reply. Returns 0 if the daemon accepts the
 * program. Otherwise returns a negative errno and leaves no descriptor open. Uses no field of
 * `shim`. */
int hello_first(const char *path, const struct wire_hello *h, int timeout_ms, struct greeting *ret);
void hello_drop(struct greeting *g); /* closes all that it holds */
/* Moves the page and the descriptors of an accepted greeting into `shim`. Returns 0 or a negative
 * errno. */
int hello_welcome(struct session *session, struct greeting *g);

/* ---- later daemons: only the agent thread calls these ---- */
/* Connects to the first daemon's address, and sends HELLO together with the page. From then on the
 * new daemon writes the page, and session->alone is false. Never waits.
 * - Returns 0 on success. Then poll *ret for the reply, and close *ret when it is no longer needed.
 * - Returns -EBADF if the program has closed the page's descriptor, or another negative errno.
 *   session->alone may be false after an error, too, because it is cleared before HELLO is sent. */
int hello_again(struct session *session, struct own_fd *ret);
/* Reads the daemon's reply. Call it when the socket is readable or the peer has closed it. Returns:
 * - 0: heddled accepts the tenant; `shim` now owns the socket and everything that came with the
 *   reply
 * - -EAGAIN: the reply is not complete yet
 * - -EACCES: heddled refuses the tenant
 * - -EPROTO: the protocol does not match
 * - another negative errno */
int hello_answered(struct session *session, struct own_fd *sock);
void hello_ends(struct session *session); /* makes the daemon see this tenant as gone */

#endif
