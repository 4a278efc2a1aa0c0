/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* One line on a terminal's standard error that says how far a verb is. It is never in the way:
 * whatever else is written through the frame clears it first, and it never fills the line. One for
 * the process. */
#ifndef HEDDLE_CLI_PROGRESS_H
#define HEDDLE_CLI_PROGRESS_H

#include "base/base.h"

/* So many steps are to come; 0: nobody knows. Nothing is shown where standard error is no terminal,
 * or a dumb one. */
void progress_begin(unsigned steps);
/* So many steps more than was thought, or fewer. */
void progress_more(int steps);
/* The next step begins. */
void progress_step(const char *fmt, ...) HD_PRINTF(1, 2);
void progress_clear(void);
/* How wide the terminal behind fd is; 0: it is none. */
unsigned terminal_columns(int fd);

#endif
