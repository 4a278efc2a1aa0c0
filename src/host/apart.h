/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* File work inside a program's process, in a descriptor table of its own. The program does not see
 * these descriptors. In a shared table, the program might close their numbers and reuse them for
 * its own files meanwhile. */
#ifndef HEDDLE_DEV_APART_H
#define HEDDLE_DEV_APART_H

/* Calls fn(arg) in a thread whose only descriptors are 0 to 2 and those that fn opens, and waits
 * for the thread. The thread gets no signals. If the system has no such threads (Linux before 5.9)
 * or cannot make one, fn uses the program's own table. fn closes the descriptors that it opens. */
void apart(void (*fn)(void *arg), void *arg);

#endif
