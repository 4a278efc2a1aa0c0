/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Selects one of several devices by --device, such as cuda:1. */
#ifndef HEDDLE_CLI_DEVICE_H
#define HEDDLE_CLI_DEVICE_H

#include "front/cli.h"

/* If --device names a device by number ("cuda:1"), makes that device the only visible one for this
 * process and its children, and sets the option's value to the kind of device ("cuda" or "cpu").
 * Call it before loading a driver. Returns 0, or CLI_USAGE or CLI_FAILED after it reports the
 * error. */
int cli_device(struct cli *c);

#endif
