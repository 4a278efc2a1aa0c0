/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Makes the program a tenant of heddled (start.c). */
#ifndef HEDDLE_SHIM_START_H
#define HEDDLE_SHIM_START_H

#include "shim/core/session.h"

/* Implements `start` of struct session_calls. */
void start_session(struct session *session, bool is_launch);

/* While a context may end, the program does not become a tenant, and no tenant moves to another
 * context, because both need driver calls in a context. */
struct session_ends;
void joining_pause(struct session *session, const struct session_ends *ends);
void joining_forget(struct session *session, const struct session_ends *ends);
void joining_resume(struct session *session, const struct session_ends *ends);
bool joining_open(struct session *session);
void joining_after_fork(void);

#endif
