/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Counts how often the program has waited for the device (sync.c). */
#ifndef HEDDLE_SHIM_SYNC_H
#define HEDDLE_SHIM_SYNC_H

#include "shim/core/session.h"

void sync_done(struct session *session);      /* the program has waited for the device */
unsigned sync_count(struct session *session); /* number of waits, from 1 on (sync.c) */
bool sync_open(struct session *session);

#endif
