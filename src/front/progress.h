/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A progress line on standard error, if that is a terminal. All other output that the framework
 * prints clears the progress line first. Each process has one progress line, which never fills the
 * whole terminal line. */
#ifndef HEDDLE_CLI_PROGRESS_H
#define HEDDLE_CLI_PROGRESS_H

#include "base/base.h"

/* Sets the number of steps; 0 means unknown. Nothing is shown if standard error is not a terminal,
 * or is a dumb terminal. */
void progress_begin(unsigned steps);
/* Adds `steps` to the number of steps; negative: subtracts. */
void progress_more(int steps);
/* Begins the next step, and shows the text as its description. */
void progress_step(const char *fmt, ...) HD_PRINTF(1, 2);
void progress_clear(void);
/* Returns the width of the terminal behind fd, or 0 if fd is not a terminal. */
unsigned terminal_columns(int fd);

#endif
