/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Which of several devices --device means. */
#ifndef HEDDLE_CLI_DEVICE_H
#define HEDDLE_CLI_DEVICE_H

#include "cli/cli.h"

/* If --device names a device by number ("cuda:1"), makes it the only visible one for this process
 * and its children; the option's value is then "cuda". Call before loading a driver. 0; CLI_USAGE
 * or CLI_FAILED after it reported the error. */
int cli_device(struct cli *c);

#endif
