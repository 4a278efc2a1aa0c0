/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The first messages between a process and heddled, for the shim and for libheddle: how the process
 * describes itself and its device, how it receives the reply, and the message for each failure. */
#ifndef HEDDLE_HOST_TENANT_H
#define HEDDLE_HOST_TENANT_H

#include "dev/dev.h"
#include "wire/wire.h"

union host_answer {
	char bytes[WIRE_MAX_BYTES];
	struct wire_head head;
	struct wire_welcome welcome;
	struct wire_refused refused;
};

/* Returns an attribute of the device, or 0 if the driver does not report it. */
uint32_t host_attribute(const struct cu_api *cu, CUdevice dev, CUdevice_attribute which);
/* Fills a HELLO message from the environment (priority, weight, class), the program's file and the
 * device. */
void host_hello(const struct cu_api *cu, CUdevice dev, struct wire_hello *ret);
/* Receives the reply to a HELLO. Returns 0 if it is a WELCOME; then the caller closes ret_fds.
 * After an error no descriptor is left open:
 * - -EACCES: heddled refuses, with the reason in *ret
 * - -EPROTO: heddled uses another protocol
 * - -ECONNRESET: heddled closed the connection without a reply
 * - another errno of the socket */
int host_await_answer(int sock, union host_answer *ret, int ret_fds[3]);
/* Returns the message for an error in finding (by_folder: of wire_socket_path) or greeting heddled.
 * -EPERM means that the system refused the connection. `where` is the socket's path, and `refusal`
 * is heddled's reason for -EACCES. The message may be in buf. */
#define HOST_FAILED 528
const char *host_greeting_failed(
	int error, bool by_folder, const char *where, const char *refusal, char buf[HOST_FAILED]);

#endif
