/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reserves local memory for kernels (locals.c). */
#ifndef HEDDLE_SHIM_LOCALS_H
#define HEDDLE_SHIM_LOCALS_H

#include "shim/core/session.h"

/* Reserves local memory, so that launches of kernels with up to `bytes` bytes of local memory per
 * thread do not wait (locals.c). Call between placing_begin and placing_end. */
void locals_make_room(struct session *session, uint32_t bytes);
struct session_ends;
void locals_forget(struct session *session, const struct session_ends *ends);
bool locals_open(struct session *session);

#endif
