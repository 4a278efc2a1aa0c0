/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A tenant's side of the conversation with heddled (wire/wire.h), for the shim and for libheddle:
 * the greeting, the page and the descriptors that come with the reply, the return to the next
 * daemon, and how the end of a daemon shows. These functions take no lock and start no thread. */
#ifndef HEDDLE_HOST_CLIENT_H
#define HEDDLE_HOST_CLIENT_H

#include "dev/dev.h"
#include "host/fd.h"
#include "host/silence.h"
#include "wire/wire.h"

union host_answer {
	char bytes[WIRE_MAX_BYTES];
	struct wire_head head;
	struct wire_welcome welcome;
	struct wire_refused refused;
};

struct host_client {
	struct wire_hello hello; /* sent to the first daemon and to each later one */
	char where[108];         /* path of heddled's socket */
	bool by_folder;          /* no trusted path was found, so an error is about `where` */
	/* with -EACCES: the reason that heddled gave */
	char refusal[sizeof(((struct wire_refused *)0)->why)];
	/* The client owns all four: the connection, the eventfd that wakes heddled, the one that
	 * wakes the tenant, and the page's descriptor, for the next daemon. */
	struct host_fd sock, kick, wake, page_fd;
	struct wire_page *page; /* the mapped page; NULL: no daemon has answered yet */
	struct wire_welcome welcome;
	struct silence silence;
};

/* An answer to a HELLO. After a WELCOME it owns the connection and three descriptors. */
struct host_greeting {
	union host_answer m;
	struct host_fd sock;
	int fds[3];
};

/* Returns an attribute of the device, or 0 if the driver does not report it. */
uint32_t host_attribute(const struct cu_api *cu, CUdevice dev, CUdevice_attribute which);
/* Fills a HELLO message from the environment (priority, weight, class), the program's file and the
 * device. */
void host_hello(const struct cu_api *cu, CUdevice dev, struct wire_hello *ret);

/* At first, the client has no daemon and no descriptors. */
void host_client_init(struct host_client *c);
/* Finds the path of heddled's socket. Returns 0, or the negative errno of wire_socket_path. */
int host_client_find(struct host_client *c);
/* Connects to the daemon at `where`, sends HELLO and waits for the reply. Returns 0 if the daemon
 * accepts the tenant; then pass *ret to host_client_accept or host_greeting_drop. Otherwise no
 * descriptor is left open:
 * - -EACCES: heddled refuses, with the reason in ret->m.refused
 * - -EPERM: the system refuses the connection
 * - -EPROTO: heddled uses another protocol
 * - -ECONNRESET: heddled closed the connection without a reply
 * - another errno of the socket */
int host_greet(
	const char *where, const struct wire_hello *h, int timeout_ms, struct host_greeting *ret);
void host_greeting_drop(struct host_greeting *g);
/* Maps the page, and moves everything of the greeting into the client. Returns 0, or -EBADF if the
 * program has closed the connection, or -EPROTO if the page is wrong; then nothing is left open. */
int host_client_accept(struct host_client *c, struct host_greeting *g);
/* Returns the message for an error of host_client_find or host_greet. The message may be in buf. */
#define HOST_FAILED 528
const char *host_client_why(const struct host_client *c, int error, char buf[HOST_FAILED]);

/* Wakes heddled: writes to `kick`, if the program has closed neither it nor the socket. Returns
 * false if it has. */
bool host_client_ring(const struct host_client *c, const struct host_fd *eventfd);
/* Reads the messages of heddled, which are all WIRE_WAKE. Never waits. Returns true if the
 * connection is over, or the program has closed the socket. *ret_woken: there was a message. */
bool host_client_is_over(const struct host_client *c, bool *ret_woken);
/* Returns true if the daemon has been silent for too long (silence.h). */
bool host_client_is_silent(struct host_client *c, uint64_t now_ns, bool waited_for);

/* ---- the next daemon, to which the tenant brings its page ---- */
/* Connects to the first daemon's address without waiting. Returns 0 and the socket in *ret, which
 * the caller closes; -EBADF if the program has closed the page's descriptor; or another negative
 * errno. */
int host_client_reconnect(const struct host_client *c, struct host_fd *ret);
/* Sends HELLO together with the page. Returns 0 or a negative errno. */
int host_client_bring_page(const struct host_client *c, const struct host_fd *sock);
/* Reads the reply when the socket is readable or the peer has closed it. Returns 0 if heddled
 * accepts the tenant with this page; then pass *ret to host_client_replace. Otherwise -EAGAIN if
 * the reply is not complete yet, an error as of host_greet, or -EPROTO also for another page. */
int host_client_answered(
	const struct host_client *c, const struct host_fd *sock, struct host_greeting *ret);
/* Takes the connection and the descriptors of the greeting, in place of the last daemon's, which
 * move to ret_old: the caller closes them. */
void host_client_replace(struct host_client *c, struct host_greeting *g, struct host_fd ret_old[3]);

#endif
