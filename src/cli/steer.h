/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prepares the environment so that the program in c->operands loads the shim instead of its driver.
 * These functions change the environment of the calling process. The caller then executes the
 * program, or starts it as a child. */
#ifndef HEDDLE_CLI_STEER_H
#define HEDDLE_CLI_STEER_H

#include "front/cli.h"

#define STEER_FAILED 125 /* exit status for heddle's own failures, as in env(1) */
#define STEER_WHY    6400

/* Selects the device. The virtual GPU is used only on request (--device, HEDDLE_DEVICE), because a
 * machine that lost its driver must not appear to work. *ret_steer is false if there is no driver.
 * Returns 0, the exit status after it reports an error, or a negative number if memory ran out. */
int steer_device(const struct cli *c, bool *ret_steer);
/* Puts the shim's folder at the front of LD_LIBRARY_PATH. Returns the same values as
 * steer_device. */
int steer_shim(const struct cli *c);
/* Returns whether the program's file shows that its loader would bypass the shim, and writes the
 * reason to ret_why. */
bool steer_obstacle(const struct cli *c, char ret_why[STEER_WHY]);
/* Returns a hint for a machine without a driver: use --device cpu. If the program's own arguments
 * include --device, the hint is written to buf, and says that heddle's options come before the
 * program. */
const char *steer_to_virtual(const struct cli *c, char buf[STEER_WHY]);
/* Explains a failed exec. If the file, or a file of this name in the current folder, is not a
 * program but needs to be built or run in another way, writes what it is and what to do, and
 * returns true. */
bool steer_no_program(const char *name, char ret_what[STEER_WHY], char ret_todo[STEER_WHY]);

#endif
