/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Child processes of a verb: started with an environment of their own, their output collected while
 * they run, never left behind. One thread. */
#ifndef HEDDLE_CHILD_H
#define HEDDLE_CHILD_H

#include <sys/types.h>

#include "base/base.h"

struct child {
	pid_t pid; /* 0: none, or already reaped */
	int fd;    /* its standard output; -1 once at its end */
	struct strbuf out;
	int status; /* as waitpid gives it, once reaped */
};

/* argv[0] is looked up in PATH. env: "NAME=VALUE" sets, "NAME" unsets; NULL-terminated; may be
 * NULL. err_path: where its standard error goes; NULL: ours. The child dies when this process does.
 * Negative errno. */
int child_start(char *const argv[], char *const env[], const char *err_path, struct child *ret);
/* Collects until every child has closed its output and ended. -ETIMEDOUT after timeout_ms: those
 * left are killed and reaped. */
int child_wait(struct child *children, unsigned n, int timeout_ms);
/* SIGTERM, a second's patience, SIGKILL. */
void child_stop(struct child *c);
void child_finish(struct child *c); /* child_stop, and frees */
/* "exit status 3", "killed by SIGKILL"; buf at least 64 bytes. Returns buf. */
const char *child_status_text(const struct child *c, char *buf, size_t size);

#endif
