/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Finds out why a program under heddle run -v did not become a tenant, as far as this is visible
 * from outside the process. */
#ifndef HEDDLE_CLI_RUN_WHY_H
#define HEDDLE_CLI_RUN_WHY_H

#include "base/base.h"

#include <sys/types.h>

/* The state of the process according to /proc when it was last examined. */
struct run_seen {
	/* its environment has no HEDDLE_REPORT with the path of this heddle run */
	bool is_cleared;
	bool has_shim;     /* heddle's libcuda.so.1 is loaded */
	char foreign[256]; /* path of another libcuda.so.1 that is loaded; "": none */
};

/* Examines the process through /proc. If that is not possible, for example because the process has
 * ended, *io stays unchanged. */
void run_look(pid_t pid, const char *report_path, struct run_seen *io);

/* Writes the reason to buf and returns buf. name is the program as the user typed it. said is the
 * message from the program's shim, or "". */
const char *run_why(
	const char *name, const char *said, const struct run_seen *seen, char *buf, size_t size);

#endif
