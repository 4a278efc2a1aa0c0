/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Keeps the program's end, and the end of a context, waiting while a thread of the shim is in the
 * driver. */
#ifndef HEDDLE_SHIM_INSIDE_H
#define HEDDLE_SHIM_INSIDE_H

#include "shim/core/session.h"

/* Call these two around driver calls of a thread for which the program's end would not wait by
 * itself. The driver shuts down at the program's end. So the program's end, and the end of a
 * context, wait while a thread is between the two calls. inside_begin returns false if the
 * program or the context has begun to end; then do not call the driver. */
bool inside_begin(struct session *session);
void inside_end(struct session *session);
/* Call these around the end of the shim's context. inside_pause waits until no thread is inside
 * (inside_begin), and no thread can go inside until inside_resume. */
struct session_ends;
void inside_pause(struct session *session, const struct session_ends *ends);
void inside_resume(struct session *session, const struct session_ends *ends);
/* Registers the exit handler that waits. Exit handlers run in reverse order of registration, so
 * call this again when a library may have registered a later one that must run after it. */
void inside_at_exit(void);
bool inside_open(struct session *session);
void inside_after_fork(void);

#endif
