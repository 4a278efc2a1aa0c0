/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A progress line on a terminal's standard error. All other output through the frame clears it
 * first, and it never fills the whole line. One for the process. */
#ifndef HEDDLE_CLI_PROGRESS_H
#define HEDDLE_CLI_PROGRESS_H

#include "base/base.h"

/* Sets the number of steps; 0: unknown. Shows nothing if standard error is no terminal, or a dumb
 * one. */
void progress_begin(unsigned steps);
/* Changes the number of steps. */
void progress_more(int steps);
/* The next step begins. */
void progress_step(const char *fmt, ...) HD_PRINTF(1, 2);
void progress_clear(void);
/* How wide the terminal behind fd is; 0: it is none. */
unsigned terminal_columns(int fd);

#endif
