/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The environment in which the program c->operands finds the shim before its driver. The verb sets
 * its own environment, and becomes the program, or starts a child that does. */
#ifndef HEDDLE_CLI_STEER_H
#define HEDDLE_CLI_STEER_H

#include "cli/cli.h"

#define STEER_FAILED 125 /* exit status: heddle's own failure, as env(1) has it */
#define STEER_WHY    6400

/* Uses the virtual GPU only on request (--device, HEDDLE_DEVICE): a machine that lost its driver
 * must not appear to work. *ret_steer false: there is no driver. 0, the exit status, or -ENOMEM. */
int steer_device(const struct cli *c, bool *ret_steer);
/* Puts the shim's folder before LD_LIBRARY_PATH. The same results. */
int steer_shim(const struct cli *c);
/* Does the program's file show that its loader bypasses the shim, and why? */
bool steer_obstacle(const struct cli *c, char ret_why[STEER_WHY]);
/* If the device is the virtual GPU, reports why it cannot run the program, which would otherwise
 * fail with only an error number. */
void steer_warn_of_virtual(const struct cli *c);

#endif
