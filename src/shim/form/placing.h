/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Loads the shim's code into the program's context, and unloads it, while no work of the program
 * runs. */
#ifndef HEDDLE_SHIM_PLACING_H
#define HEDDLE_SHIM_PLACING_H

#include "shim/core/session.h"

/* Call these around driver calls that load or unload code. The calling thread makes forms
 * (preemptible kernels) and has called turn_begin. placing_begin waits until no kernel runs,
 * however long that takes, and lets another thread make forms meanwhile. Until placing_end the
 * shim's context is current, and the end of the program waits. placing_begin returns false if the
 * program or its context ends; then do not call placing_end. */
bool placing_begin(struct session *session, struct shim_inside *in);
void placing_end(struct session *session, struct shim_inside *in);

/* Call these around the end of the shim's context. placing_pause waits, for at most 2 s, until no
 * thread of the shim waits for the context's work. No thread begins such a wait until
 * placing_resume. */
struct session_ends;
void placing_pause(struct session *session, const struct session_ends *ends);
void placing_resume(struct session *session, const struct session_ends *ends);

bool placing_open(struct session *session);

#endif
