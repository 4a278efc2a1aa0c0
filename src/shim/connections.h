/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The hardware's channels, on which the driver puts a program's streams (connections.c). */
#ifndef HEDDLE_SHIM_CONNECTIONS_H
#define HEDDLE_SHIM_CONNECTIONS_H

#define CONNECTIONS_MAX 32 /* that the driver makes */
/* Says to the driver, ahead of its start, how many it is to make, unless the user has. */
void connections_init(void);
unsigned connections(void); /* how many there are */
/* So many would have been needed: the program's next start gets them, as far as there are any. */
void connections_wanted(unsigned n);

#endif
