/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle run -v runs the program as a child process, and reports on its launches after it ends. */
#ifndef HEDDLE_CLI_RUN_WATCH_H
#define HEDDLE_CLI_RUN_WATCH_H

#include "front/cli.h"

/* Replaces this process with the program named by the operands (exec). Returns only after a
 * failure, which it reports. The result is the exit status. */
int run_exec(const struct cli *c);
/* Starts the program, passes on signals meant for it, waits, and reports. If a signal ended the
 * program, this process ends by the same signal. Otherwise returns the program's exit status. */
int run_watched(struct cli *c);

#endif
