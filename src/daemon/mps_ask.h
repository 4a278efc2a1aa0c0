/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Talks to an MPS control daemon through its control program, and checks whether processes are
 * alive. */
#ifndef HEDDLE_DAEMON_MPS_ASK_H
#define HEDDLE_DAEMON_MPS_ASK_H

#include "config.h"

#include <sys/types.h>

#define MPS_CONTROL "nvidia-cuda-mps-control"
/* timeout for the start of a server, in multiples of the timeout for a reply */
#define SERVER_ANSWERS 7u

/* Files and folders of the MPS that one heddled starts. */
struct mps_place {
	char pipe[108], log[108], record[108];
	unsigned answer_ms; /* timeout of one answer, in ms */
};
struct server;

/* Returns 0, -EINVAL or -ENAMETOOLONG. */
int mps_place(const struct hd_config *c, struct mps_place *ret);
/* Replaces the calling process, a child of heddled, by the control program. arg may be NULL. input,
 * output: descriptors, or -1 for none. */
_Noreturn void mps_become(const struct mps_place *p, const char *arg, int input, int output);
/* Sends one command and waits at most p->answer_ms for the reply. Returns 0, -ETIMEDOUT, -EIO (the
 * command failed), or another negative errno. */
int mps_ask(const struct mps_place *p, const char *command, char *ret, size_t max);
/* Checks that the control daemon and its servers reply. Returns 0 if all do, -EBUSY if a server is
 * not ready yet, or an error of mps_ask. ret_servers: the number of servers that were asked. The
 * check ends at the first one that is not ready or does not reply. */
int mps_answers(const struct mps_place *p, unsigned *ret_servers);
/* Makes the control daemon start a server for this user if there is none, and waits up to wait_ms
 * for its reply. Returns 0, -ENOENT (there is no server), -EBUSY (the server is not ready), or an
 * error of mps_ask. */
int mps_start_server(const struct mps_place *p, unsigned wait_ms);
/* Returns true if a living program uses this MPS, or if this is unknown. */
bool mps_has_clients(const struct mps_place *p);
/* Returns the start time of the process in clock ticks since boot, or 0 if there is no such process
 * or its state cannot be read. */
uint64_t mps_start_of(pid_t pid, char *ret_state);
bool mps_await_end(int pidfd, unsigned ms);
void mps_nap(unsigned ms);
/* ---- functions of mps.c that mps_health.c calls ---- */
/* Starts a new control daemon, which s watches from then on. Returns NULL, or the reason why this
 * failed. */
const char *mps_start_control(struct server *s, const struct mps_place *p);
/* Clears the state of a control daemon that has ended, and removes its record. */
void mps_forget(struct server *s, const struct mps_place *p);
/* Turns MPS off for the rest of heddled's life. */
void mps_off(struct server *s);

#endif
