/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Child processes of a verb (a command of heddle, such as run). Each child has its own environment.
 * The verb collects the child's output while the child runs, and no child outlives the verb. Call
 * these functions from one thread only. */
#ifndef HEDDLE_CHILD_H
#define HEDDLE_CHILD_H

#include <sys/types.h>

#include "base/base.h"

struct child {
	pid_t pid; /* 0: not running, or already reaped */
	int fd;    /* the child's standard output; -1 after its end */
	int in;    /* the child's standard input after child_start_listening, else -1 or 0 */
	struct strbuf out;
	int status; /* as waitpid returns it; valid once the child is reaped */
};

/* Starts a child process, which dies with this process. Returns 0 or a negative errno.
 * - argv[0] is looked up in PATH.
 * - env ends with NULL and may itself be NULL: "NAME=VALUE" sets a variable, and "NAME" unsets it.
 * - err_path is the file for the child's standard error; NULL: the child inherits this
 * process's. */
int child_start(char *const argv[], char *const env[], const char *err_path, struct child *ret);
/* Starts a child as child_start does, with a standard input for child_tell. */
int child_start_listening(
	char *const argv[], char *const env[], const char *err_path, struct child *ret);
/* Writes text to the child's input. Returns 0 or a negative errno: -EPIPE if the child no longer
 * reads, -EINTR after a signal. */
int child_tell(struct child *c, const char *text);
/* Closes the child's standard input. */
void child_close_input(struct child *c);
/* Catches SIGINT, SIGTERM and SIGHUP, so that this process can clean up before it ends. The process
 * ends only when it calls child_end_if_interrupted. Each signal also makes one child_wait return
 * early. Signals that were ignored before stay ignored. */
void child_catch_signals(void);
bool child_interrupted(void);
/* If a signal was caught, ends this process by that signal. */
void child_end_if_interrupted(void);
/* Collects the children's output until every child has closed its output and ended. Returns
 * -ETIMEDOUT after timeout_ms and -EINTR after a signal; in both cases it kills and reaps the
 * remaining children. */
int child_wait(struct child *children, unsigned n, int timeout_ms);
/* Collects the children's output until every child has closed its output (returns 0), until
 * timeout_ms have passed (-ETIMEDOUT), or until a signal arrives (-EINTR). The children continue to
 * run. */
int child_collect(struct child *children, unsigned n, int timeout_ms);
/* Sends SIGTERM, after a second SIGKILL, and frees the child's memory. */
void child_finish(struct child *c);
/* Describes how the child ended: "exit status 3" or "killed by SIGKILL". buf has at least 64 bytes.
 * Returns buf. */
const char *child_status_text(const struct child *c, char *buf, size_t size);

#endif
