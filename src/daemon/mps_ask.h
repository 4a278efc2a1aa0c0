/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Talking to an MPS control daemon, through its control program; and whether processes live. */
#ifndef HEDDLE_DAEMON_MPS_ASK_H
#define HEDDLE_DAEMON_MPS_ASK_H

#include "config.h"

#include <sys/types.h>

#define MPS_CONTROL "nvidia-cuda-mps-control"
/* A server may take as long to start as so many answers. */
#define SERVER_ANSWERS 7u

/* Where a heddled has its own. */
struct mps_place {
	char pipe[108], log[108], record[108];
	unsigned answer_ms; /* so long one answer may take */
};
struct server;

int mps_place(const struct hd_config *c, struct mps_place *ret); /* 0, -EINVAL, -ENAMETOOLONG */
/* In a child: becomes the control program; arg may be NULL; input, output: descriptors, -1: none.
 */
_Noreturn void mps_become(const struct mps_place *p, const char *arg, int input, int output);
/* One command. Waits p->answer_ms at most: 0, -ETIMEDOUT, -EIO (it failed), or negative errno. */
int mps_ask(const struct mps_place *p, const char *command, char *ret, size_t max);
/* Do the control daemon and its servers answer? 0, -EBUSY: a server is not ready yet, or what
 * mps_ask says. ret_servers: how many there are, up to the one that does not answer. */
int mps_answers(const struct mps_place *p, unsigned *ret_servers);
/* Has the control daemon start a server for this user, unless it has one, and waits some wait_ms
 * at most until that answers. 0; -ENOENT: there is no server; -EBUSY: it is not ready; or what
 * mps_ask says. */
int mps_start_server(const struct mps_place *p, unsigned wait_ms);
/* Some program that lives is there, or nobody can tell. */
bool mps_has_clients(const struct mps_place *p);
/* When the process began, in ticks since the start of the system; 0: there is none. */
uint64_t mps_start_of(pid_t pid, char *ret_state);
bool mps_await_end(int pidfd, unsigned ms);
void mps_nap(unsigned ms);
/* ---- mps.c, for mps_health.c ---- */
/* A new control daemon, which s watches then. NULL, or why there is none. */
const char *mps_start_control(struct server *s, const struct mps_place *p);
/* Of one that has ended. */
void mps_forget(struct server *s, const struct mps_place *p);
/* MPS is off from now on. */
void mps_off(struct server *s);

#endif
