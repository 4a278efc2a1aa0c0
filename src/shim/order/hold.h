/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Holds the program's launches back while the shim loads code (form/placing.c). */
#ifndef HEDDLE_SHIM_HOLD_H
#define HEDDLE_SHIM_HOLD_H

#include "shim/core/session.h"

/* Waits until the shim no longer holds back launches in order to load code. It may hold them back
 * again immediately afterwards. */
void hold_await(struct session *session);
/* Call these around a launch. hold_pass waits while launches are held back; from then until
 * hold_passed this launch is not held back. Before hold_passed the launch must either have
 * failed or be counted as outstanding or in flight. */
void hold_pass(struct session *session);
void hold_passed(struct session *session);

/* Holds back all new launches: setting `closed` holds the unmanaged launches, and the fence holds
 * the managed ones. A managed launch counts as outstanding before it tests for a fence. So a launch
 * that does not see the fence is among those that the caller waits for. */
void hold_begin(struct session *session);
void hold_end(struct session *session);
/* Returns true if a launch is between hold_pass and hold_passed. */
bool hold_any_passing(struct session *session);
bool hold_open(struct session *session);

#endif
