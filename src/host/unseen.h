/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Runs file operations inside a program's process, but with a separate descriptor table, which the
 * program does not see. If heddle's descriptors were in the program's own table, the program might
 * close them and reuse their numbers for its own files in the middle of a file operation. */
#ifndef HEDDLE_HOST_UNSEEN_H
#define HEDDLE_HOST_UNSEEN_H

/* Calls fn(arg) in a thread whose only descriptors are 0 to 2 and those that fn opens, and waits
 * for the thread. The thread gets no signals. fn runs with the program's own table if the system
 * has no separate tables (Linux before 5.9), or if the thread cannot be made. fn must close the
 * descriptors that it opens. */
void host_run_unseen(void (*fn)(void *arg), void *arg);

#endif
