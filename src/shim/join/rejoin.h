/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Handles the time when the daemon is gone or does not respond. Every launch that the daemon held
 * or preempted continues, and new launches are unmanaged. The agent thread repeatedly asks this
 * daemon or the next one to take the tenant back together with its page (hello.h). Only the agent
 * calls these functions, and none of them waits. */
#ifndef HEDDLE_SHIM_REJOIN_H
#define HEDDLE_SHIM_REJOIN_H

#include "shim/core/session.h"

void rejoin_begin(struct session *session); /* call it when the agent thread has got a daemon */
/* Descriptor to poll for input, or -1 if there is none now. */
int rejoin_fd(struct session *session);
uint64_t rejoin_next(struct session *session); /* time in ns until rejoin_look must be called */
/* Checks the connection. `revents` is poll's result for rejoin_fd. waited_for: a thread of the
 * program waits for heddled to grant SMs. Returns false if no daemon will ever take the tenant
 * back. */
bool rejoin_look(struct session *session, short revents, bool waited_for);
bool rejoin_open(struct session *session);

#endif
