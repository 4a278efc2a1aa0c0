/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Work with files of ours in somebody else's process. Its descriptors are in a table that the
 * program does not see: the program may close any number, and give it to a file of its own, while
 * ours are in use. */
#ifndef HEDDLE_DEV_APART_H
#define HEDDLE_DEV_APART_H

/* Calls fn(arg) in a thread that has no descriptors but 0 to 2 and those that fn opens, and waits
 * for it; signals do not come there. Where the system has no such threads (Linux before 5.9) or
 * there is none to be had, fn has the program's own table. fn closes what it opens. */
void apart(void (*fn)(void *arg), void *arg);

#endif
