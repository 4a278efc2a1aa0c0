/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* A common start for programs in separate processes. A small shared file has a barrier, and a word
 * by which the first program to launch reports that its kernel has started. A missing file or a
 * file of zeros is a new one. It can be used again when every program has left normally. No wait
 * takes longer than a minute. */
#ifndef HEDDLE_EXAMPLES_MEET_H
#define HEDDLE_EXAMPLES_MEET_H

#include <stdbool.h>
#include <stdint.h>

struct meet;

int meet_open(const char *path, unsigned parties, struct meet **ret_meet); /* negative errno */
void meet_close(struct meet *m);
int meet_all(struct meet *m); /* until every party is here; -ETIMEDOUT, -ECANCELED */
void meet_tell_started(struct meet *m, uint64_t now_ns);
int meet_await_started(struct meet *m, bool spin, uint64_t *ret_ns);
void meet_cancel(struct meet *m); /* the others stop waiting, with -ECANCELED */

#endif
