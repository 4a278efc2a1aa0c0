/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle run -v: runs the program as a child, and reports on its launches after its end. */
#ifndef HEDDLE_CLI_RUN_WATCH_H
#define HEDDLE_CLI_RUN_WATCH_H

#include "cli/cli.h"

/* Becomes the operands' program; returns only on failure: the exit status, with errno set. */
int run_exec(const struct cli *c);
/* Starts the program, passes on signals meant for it, waits, and reports. If a signal ended the
 * program, ends by the same signal; otherwise returns the program's exit status. */
int run_watched(struct cli *c);

#endif
