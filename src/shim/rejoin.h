/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* When the daemon is gone or does not respond: everything that it held or preempted continues,
 * new launches are unmanaged, and the agent repeatedly asks this daemon or the next one to take
 * the tenant back, with its page (hello.h). Only the agent calls these functions. None of them
 * waits. */
#ifndef HEDDLE_SHIM_REJOIN_H
#define HEDDLE_SHIM_REJOIN_H

#include <stdbool.h>
#include <stdint.h>

void rejoin_begin(void);    /* the thread has a daemon now */
int rejoin_fd(void);        /* to be polled for input; -1: nothing now */
uint64_t rejoin_next(void); /* in how many ns to look again, at the latest */
/* revents: of that descriptor; waited_for: a thread waits for the daemon's word. False: there will
 * be no daemon any more. */
bool rejoin_look(short revents, bool waited_for);

#endif
