/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Talking to an MPS control daemon, through its control program; and whether processes live. */
#ifndef HEDDLE_DAEMON_MPS_ASK_H
#define HEDDLE_DAEMON_MPS_ASK_H

#include "config.h"

#include <sys/types.h>

#define MPS_CONTROL "nvidia-cuda-mps-control"

/* Where a heddled has its own. */
struct mps_place {
	char pipe[108], log[108], record[108];
};

int mps_place(const struct hd_config *c, struct mps_place *ret); /* 0, -EINVAL, -ENAMETOOLONG */
/* In a child: becomes the control program; arg may be NULL; input, output: descriptors, -1: none.
 */
_Noreturn void mps_become(const struct mps_place *p, const char *arg, int input, int output);
/* One command. Waits some seconds at most: 0, -ETIMEDOUT, -EIO (it failed), or negative errno. */
int mps_ask(const struct mps_place *p, const char *command, char *ret, size_t max);
/* Some program that lives is there, or nobody can tell. */
bool mps_has_clients(const struct mps_place *p);
/* When the process began, in ticks since the start of the system; 0: there is none. */
uint64_t mps_start_of(pid_t pid, char *ret_state);
bool mps_await_end(int pidfd, unsigned ms);
void mps_nap(unsigned ms);

#endif
