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
	int in;    /* its standard input, where child_start_listening opened one; else -1 or 0 */
	struct strbuf out;
	int status; /* as waitpid gives it, once reaped */
};

/* argv[0] is looked up in PATH. env: "NAME=VALUE" sets, "NAME" unsets; NULL-terminated; may be
 * NULL. err_path: where its standard error goes; NULL: ours. The child dies when this process does.
 * Negative errno. */
int child_start(char *const argv[], char *const env[], const char *err_path, struct child *ret);
/* The same for one that reads: what child_tell writes. */
int child_start_listening(
	char *const argv[], char *const env[], const char *err_path, struct child *ret);
/* Negative errno: it no longer reads (-EPIPE), or a signal. */
int child_tell(struct child *c, const char *text);
/* Nothing more will be told. */
void child_close_input(struct child *c);
/* From now on SIGINT, SIGTERM and SIGHUP end this process only at child_end_if_interrupted, so that
 * what it started and wrote can be cleared away; each cuts one child_wait short. What was ignored
 * stays ignored. */
void child_catch_signals(void);
bool child_interrupted(void);
/* Ends this process by the signal that was caught, if one was. */
void child_end_if_interrupted(void);
/* Collects until every child has closed its output and ended. -ETIMEDOUT after timeout_ms, -EINTR
 * by a signal: those left are killed and reaped. */
int child_wait(struct child *children, unsigned n, int timeout_ms);
/* Collects for so long, or until every child has closed its output (0). -ETIMEDOUT when the time is
 * over, -EINTR by a signal: the children go on. */
int child_collect(struct child *children, unsigned n, int timeout_ms);
/* SIGTERM, a second's patience, SIGKILL; and frees. */
void child_finish(struct child *c);
/* "exit status 3", "killed by SIGKILL"; buf at least 64 bytes. Returns buf. */
const char *child_status_text(const struct child *c, char *buf, size_t size);

#endif
