/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Real daemons over real sockets, with tenants that a test simulates: they fill slots and write
 * what the device would. */
#ifndef HEDDLE_TESTS_HARNESS_H
#define HEDDLE_TESTS_HARNESS_H

#include "wire/wire.h"

#include <sys/types.h>

extern const char *heddled_path; /* argv[1] of the test */

/* Timeout for waits. It is generous because the machine may be slow (two cores, sanitizers, other
 * load). */
#define LIMIT_NS 30000000000ull

struct daemon {
	pid_t pid;
	char dir[64], socket[108];
};
/* args: additional arguments, NULL-terminated, or NULL. */
struct daemon daemon_start(char *const args[]);
struct daemon daemon_in(const char *dir, char *const args[]); /* in an existing folder */
/* Starts the daemon as a child process; does not wait for its socket. */
pid_t daemon_spawn(const char *socket, char *const args[], int stderr_fd);
int daemon_stop(struct daemon *d); /* sends SIGTERM; returns the exit status */
void daemon_kill(struct daemon *d);
void daemon_remove(struct daemon *d); /* removes its folder */
unsigned fds_of(pid_t pid);

struct tenant {
	int sock, kick, event, page_fd;
	struct wire_page *page;
	struct wire_welcome welcome;
	uint64_t next_id;
};
struct wire_hello tenant_hello(int priority);
/* Returns the reply's type (WIRE_WELCOME, WIRE_REFUSED), 0 at end of file, or negative errno. */
int tenant_hello_send(const char *socket, const struct wire_hello *h, struct tenant *ret);
/* Like tenant_hello_send, but also sends the descriptor fd (-1: none). */
int tenant_hello_with(const char *socket, const struct wire_hello *h, int fd, struct tenant *ret);
struct tenant tenant_join(const struct daemon *d, int priority);
void tenant_leave(struct tenant *t);
struct wire_slot *tenant_submit(struct tenant *t, unsigned slot, uint64_t total);
void tenant_kick(struct tenant *t);
void device_arrive(const struct tenant *t, struct wire_slot *w);
/* Reports that all workers of w have left, after quotas of zero were stored for them. */
void device_drain(const struct daemon *d, struct wire_slot *w);
void device_finish(struct wire_slot *w);
unsigned slot_allowed(struct wire_slot *w); /* number of SMs */
/* Waits until the slot may use n SMs; returns false on timeout. */
bool slot_await(struct wire_slot *w, unsigned n);
bool word_await(uint32_t *word, uint32_t value);
int status_of(const struct daemon *d, struct wire_status *ret);
bool status_await_tenants(const struct daemon *d, unsigned n);
uint64_t now_ns(void);

#endif
