/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Child processes of a verb: started with an environment of their own, their output collected while
 * they run, and always ended with the verb. One thread. */
#ifndef HEDDLE_CHILD_H
#define HEDDLE_CHILD_H

#include <sys/types.h>

#include "base/base.h"

struct child {
	pid_t pid; /* 0: none, or already reaped */
	int fd;    /* its standard output; -1 once at its end */
	int in;    /* its standard input, if child_start_listening opened one; else -1 or 0 */
	struct strbuf out;
	int status; /* as waitpid gives it, once reaped */
};

/* argv[0] is looked up in PATH. env: "NAME=VALUE" sets, "NAME" unsets; ends with NULL; may be NULL.
 * err_path: the file for its standard error; NULL: inherited. The child dies with this process.
 * Negative errno. */
int child_start(char *const argv[], char *const env[], const char *err_path, struct child *ret);
/* The same for a child that reads the input of child_tell. */
int child_start_listening(
	char *const argv[], char *const env[], const char *err_path, struct child *ret);
/* Negative errno: it no longer reads (-EPIPE), or a signal. */
int child_tell(struct child *c, const char *text);
/* Ends the child's input. */
void child_close_input(struct child *c);
/* From now on SIGINT, SIGTERM and SIGHUP end this process only in child_end_if_interrupted, so that
 * it can clean up first; each signal ends one child_wait early. Ignored signals stay ignored. */
void child_catch_signals(void);
bool child_interrupted(void);
/* Ends this process by the caught signal, if there was one. */
void child_end_if_interrupted(void);
/* Collects until every child has closed its output and ended. -ETIMEDOUT after timeout_ms, -EINTR
 * after a signal: then the remaining children are killed and reaped. */
int child_wait(struct child *children, unsigned n, int timeout_ms);
/* Collects for timeout_ms, or until every child has closed its output (0). -ETIMEDOUT at the end of
 * the time, -EINTR after a signal: the children continue. */
int child_collect(struct child *children, unsigned n, int timeout_ms);
/* SIGTERM, a second's patience, SIGKILL; and frees. */
void child_finish(struct child *c);
/* "exit status 3", "killed by SIGKILL"; buf at least 64 bytes. Returns buf. */
const char *child_status_text(const struct child *c, char *buf, size_t size);

#endif
