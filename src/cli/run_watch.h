/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* heddle run -v: the program as a child, and what became of its launches when it has ended. */
#ifndef HEDDLE_CLI_RUN_WATCH_H
#define HEDDLE_CLI_RUN_WATCH_H

#include "cli/cli.h"

/* Becomes the program of the operands; returns only when that fails: the exit status, errno set. */
int run_exec(const struct cli *c);
/* Starts it, passes on signals meant for it, waits, and reports. Ends by the signal that the
 * program ended by; else returns its exit status. */
int run_watched(struct cli *c);

#endif
