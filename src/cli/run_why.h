/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Why a program under heddle run -v did not become a tenant, as far as can be known from outside.
 */
#ifndef HEDDLE_CLI_RUN_WHY_H
#define HEDDLE_CLI_RUN_WHY_H

#include "base/base.h"

#include <sys/types.h>

/* The process as /proc showed it when we last looked. */
struct run_seen {
	bool is_cleared;   /* its environment has no HEDDLE_REPORT, with this path */
	bool has_shim;     /* heddle's libcuda.so.1 is loaded */
	char foreign[256]; /* another libcuda.so.1 is, from this path; empty: none */
};

/* Looks at the process; where it cannot be looked at (it has ended), *io stays as it was. */
void run_look(pid_t pid, const char *report_path, struct run_seen *io);

/* name: as the program was called; said: what its shim said, or "". Returns buf. */
const char *run_why(
	const char *name, const char *said, const struct run_seen *seen, char *buf, size_t size);

#endif
