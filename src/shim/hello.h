/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The conversation with one daemon after another: the second HELLO and all after it. Of the agent,
 * but where it says otherwise. */
#ifndef HEDDLE_SHIM_HELLO_H
#define HEDDLE_SHIM_HELLO_H

#include "shim/shim.h"

/* Connects where the first daemon was found, and says HELLO with the page: from then on the page's
 * words are the daemon's, shim->alone is false. Never waits. 0: *ret is to be watched for the
 * answer, and the caller's to close. -EBADF: the program has closed the page. Else negative errno,
 * shim->alone perhaps false. */
int hello_again(struct own_fd *ret);
/* There is something to be read, or sock is at its end. 0: welcome, sock and all else is shim's.
 * -EAGAIN: not yet. -EACCES: refused; -EPROTO: it speaks otherwise; or negative errno. */
int hello_answered(struct own_fd *sock);
void hello_ends(void); /* the daemon is to take us for gone */
/* Any thread: which socket it is now; false: none of ours. */
bool hello_socket(struct own_fd *ret);
/* Any thread: lets all that waits in streams begin, unless there was a HELLO since so many. */
bool hello_open_gate(unsigned joins);

/* Around the end of a context of the program's: meanwhile the program does not become a tenant, and
 * a tenant does not go on in another context, as both call the driver in a context. */
void hello_pause(void);
void hello_resume(void);

#endif
