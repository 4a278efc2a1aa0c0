/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The hardware channels to which the driver assigns a program's streams (connections.c). */
#ifndef HEDDLE_SHIM_CONNECTIONS_H
#define HEDDLE_SHIM_CONNECTIONS_H

#define CONNECTIONS_MAX 32 /* the driver makes at most this many */
/* Channels that are reserved:
 * - Three are for resumes (HELPERS in helpers.h).
 * - One is for the legacy default stream, where copies that are not counted and the shim's events
 *   may wait.
 * - One is for the driver itself, for example when it loads code. */
#define CONNECTIONS_SPARE 5
/* Sets how many channels the driver makes, unless the user has set the number. Call it before the
 * driver is initialised. */
void connections_init(void);
unsigned connections(void); /* the number of channels */
/* The number of channels without those that the shim reserves. */
unsigned connections_for_streams(void);
/* Records that the program needs n channels. Its next start gets n channels, at most
 * CONNECTIONS_MAX. */
void connections_wanted(unsigned n);

#endif
