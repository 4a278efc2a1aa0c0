/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Porters: short-lived child processes that receive and close what clients send with SCM_RIGHTS.
 *
 * To close the last descriptor of a file can block for as long as the file's owner likes: a TCP socket
 * with SO_LINGER and unsent data, a file of a FUSE server that does not answer. It also blocks
 * heddled when nobody received the descriptor: the system closes what is still in a socket's queue
 * in the thread that closes the socket. So heddled's loop
 * - looks at each packet before it takes it (wire_peek), and takes no packet with descriptors,
 * - leaves a HELLO with a page to a porter, which receives it, checks that the one descriptor is a
 *   page, and passes that on,
 * - closes a socket only if no descriptor is left in it, and else leaves it to a porter.
 *
 * A porter inherits the sockets with fork, because to send them could fail: the system limits how
 * deep sockets may be nested in each other. It closes nothing but ends: in a process that ends,
 * sockets do not linger. If its end blocks nevertheless, it blocks no one. A user has at most two
 * porters for his pages; while both block, his connections are refused. */
#ifndef HEDDLE_DAEMON_PORTER_H
#define HEDDLE_DAEMON_PORTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct conn;
struct server;
struct watch;

#define PORTERS_PER_USER 2u
#define PORTER_NS        2000000000u /* after this time, heddled kills a porter */

/* Closes a client's Unix socket, either at once or in a porter. */
void porter_close(struct server *s, int sock, uid_t uid);
/* Leaves the next packet of the connection, a HELLO with descriptors, to a porter. While
 * c->at_porter is set, the caller does not read from the connection. Afterwards the porter's answer
 * goes to conn_brought. */
void porter_receive(struct server *s, struct conn *c);
/* Starts the porters that are needed; call it after each pass of the loop. Returns when to call
 * again, as a time of loop_now, or UINT64_MAX. */
uint64_t porters_look(struct server *s);
/* Call it when the channel is readable. */
void porter_answered(struct server *s, const struct watch *w);
void porter_ended(struct server *s, pid_t pid); /* call it when a child has ended */
/* Returns true if this user has as many blocked porters as allowed. */
bool porters_block(const struct server *s, uid_t uid);
/* Frees porters that have ended. Call it only when no event is pending. */
void porters_reap(struct server *s);
/* At heddled's end: leaves what is not closed yet to a last porter. */
void porters_finish(struct server *s);

#endif
