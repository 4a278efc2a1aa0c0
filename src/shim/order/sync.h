/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Counts how often the program has waited for the device (sync.c). */
#ifndef HEDDLE_SHIM_SYNC_H
#define HEDDLE_SHIM_SYNC_H

#include "shim/core/session.h"

/* Call this when the program has waited for the device. */
void sync_done(struct session *session);
/* Number of times that the program has waited, plus 1 (sync.c). */
unsigned sync_count(struct session *session);
bool sync_open(struct session *session);

#endif
