/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* When the daemon is gone, or says nothing: all that it held or preempted goes on, new launches go
 * as they are, and it, or the one after it, is asked again and again to take the tenant back, with
 * its page (hello.h). All of this is the agent's; nothing waits. */
#ifndef HEDDLE_SHIM_REJOIN_H
#define HEDDLE_SHIM_REJOIN_H

#include <stdbool.h>
#include <stdint.h>

void rejoin_begin(void);    /* the thread has a daemon now */
int rejoin_fd(void);        /* to be polled for input; -1: nothing now */
uint64_t rejoin_next(void); /* in how many ns to look again, at the latest */
/* revents: of that descriptor; waited_for: somebody waits for the daemon's word. False: there will
 * be no daemon any more. */
bool rejoin_look(short revents, bool waited_for);

#endif
