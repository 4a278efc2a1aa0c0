/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Functions that ask heddled one question and wait for its answer. */
#ifndef HEDDLE_CLI_ASK_H
#define HEDDLE_CLI_ASK_H

#include "wire/wire.h"

struct cli;
struct wire_unreached;

/* The functions ask_path to ask_set send a request to heddled. socket is the path given on the
 * command line; NULL means the default paths. They return 0 or a negative errno, among others:
 * - -ENOENT or -ECONNREFUSED: no heddled is running
 * - -EPROTO: heddled speaks another protocol version
 * - -EACCES: heddled refuses, the system does not let this user in, or the socket's folder is not
 *   safe to use
 * - -EDQUOT: heddled's limits for one user are reached */
int ask_path(const char *socket, char *ret, size_t max);
int ask_status(const char *socket, struct wire_status *ret);
/* Calls fn for each tenant and each launch that heddled lists, in its order. */
int ask_list(const char *socket, void (*fn)(void *user, const struct wire_row *row), void *user);
/* Called once for each kernel (with shape NULL), and after it once for each of the kernel's shapes
 * (with kernel NULL). ask_profile returns -EBADMSG if heddled's reply has a shape before any
 * kernel, or more shapes of a kernel than it announced. */
typedef void ask_profile_fn(
	void *user, const struct wire_kernel *kernel, const struct wire_shape *shape);
int ask_profile(const char *socket, ask_profile_fn *fn, void *user);
/* Sets a tenant's priority and weight. Returns -ESRCH if there is no such tenant, and -EPERM if the
 * tenant belongs to another user. Priority WIRE_AS_IT_IS and weight 0 leave the tenant's value
 * unchanged. */
int ask_set(const char *socket, uint32_t tenant, int priority, uint32_t weight);
/* Explains, in *ret, an error that one of these functions returned. */
void ask_explain(const char *socket, int error, struct wire_unreached *ret);
/* Reports why a question to heddled failed. Returns CLI_FAILED. */
int ask_failed(const struct cli *c, const char *socket, int error);
/* Returns whether HEDDLE_PRIORITY accepts this string: high, normal, low or a number of at most
 * three digits. */
bool ask_is_priority(const char *word);
/* returns the priority for "high", "normal" or "low", else -1 */
int ask_priority(const char *word);
const char *ask_priority_name(int priority, char *buf, size_t size);

#endif
