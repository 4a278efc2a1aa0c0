/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Asking heddled: one question, one answer. */
#ifndef HEDDLE_CLI_ASK_H
#define HEDDLE_CLI_ASK_H

#include "wire/wire.h"

struct cli;

/* socket: as on the command line; NULL: the default places. All return 0 or a negative errno:
 * -ENOENT or -ECONNREFUSED: no daemon; -EPROTO: another version; -EACCES: the socket is not
 * safe. */
int ask_path(const char *socket, char *ret, size_t max);
int ask_status(const char *socket, struct wire_status *ret);
/* Calls fn for each row, in order. */
int ask_list(const char *socket, void (*fn)(void *user, const struct wire_row *row), void *user);
/* Calls fn for each kernel (shape is NULL) and then for each of its shapes (kernel is NULL). A
 * reply with a shape before any kernel is refused (-EPROTO). */
typedef void ask_profile_fn(
	void *user, const struct wire_kernel *kernel, const struct wire_shape *shape);
int ask_profile(const char *socket, ask_profile_fn *fn, void *user);
/* Sets a tenant's priority and weight. -ESRCH: no such tenant; -EPERM: not this user's. */
/* priority WIRE_AS_IT_IS, weight 0: not to change. */
int ask_set(const char *socket, uint32_t tenant, int priority, uint32_t weight);
/* Says why asking failed; CLI_FAILED. */
int ask_failed(const struct cli *c, const char *socket, int error);
/* Is it valid for HEDDLE_PRIORITY: one of the words below, or a number? */
bool ask_is_priority(const char *word);
int ask_priority(const char *word); /* of high, normal, low; -1: none of them */
const char *ask_priority_name(int priority, char *buf, size_t size);

#endif
