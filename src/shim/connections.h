/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The hardware's channels, to which the driver assigns a program's streams (connections.c). */
#ifndef HEDDLE_SHIM_CONNECTIONS_H
#define HEDDLE_SHIM_CONNECTIONS_H

#define CONNECTIONS_MAX 32 /* that the driver makes */
/* Sets how many channels the driver makes, before it starts, unless the user has set that. */
void connections_init(void);
unsigned connections(void); /* how many there are */
/* The program needs n channels: its next start gets them, up to CONNECTIONS_MAX. */
void connections_wanted(unsigned n);

#endif
