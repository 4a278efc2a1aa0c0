/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Which of several devices --device means. */
#ifndef HEDDLE_CLI_DEVICE_H
#define HEDDLE_CLI_DEVICE_H

#include "cli/cli.h"

/* Where --device names a device by number ("cuda:1"), shows this process and its children that one
 * alone; the option's value is "cuda" from then on. Before a driver is loaded. 0, or CLI_USAGE or
 * CLI_FAILED, said. */
int cli_device(struct cli *c);

#endif
