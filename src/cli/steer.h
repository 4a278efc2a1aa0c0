/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The environment in which the program c->operands finds the shim in front of its driver. The verb
 * sets its own environment, and becomes the program, or has a child do so. */
#ifndef HEDDLE_CLI_STEER_H
#define HEDDLE_CLI_STEER_H

#include "cli/cli.h"

#define STEER_FAILED 125 /* exit status: heddle's own failure, as env(1) has it */
#define STEER_WHY    6400

/* The virtual GPU only where it is asked for (--device, HEDDLE_DEVICE): a machine that lost its
 * driver must not look alive. *ret_steer false: there is no driver. 0, the status to end
 * with, or -ENOMEM. */
int steer_device(const struct cli *c, bool *ret_steer);
/* The shim's folder in front of LD_LIBRARY_PATH. The same. */
int steer_shim(const struct cli *c);
/* Whether the program's file shows that its loader passes the shim by, and why. */
bool steer_obstacle(const struct cli *c, char ret_why[STEER_WHY]);
/* Says why the virtual GPU, if it is that, cannot run the program: it fails with a number alone. */
void steer_warn_of_virtual(const struct cli *c);

#endif
