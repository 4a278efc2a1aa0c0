/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The agent thread of a session (agent.c). */
#ifndef HEDDLE_SHIM_AGENT_H
#define HEDDLE_SHIM_AGENT_H

#include "shim/core/session.h"

/* Starts the session's agent thread. Returns 0 or a negative errno. */
int agent_start(struct session *session);

#endif
