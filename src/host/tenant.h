/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The greeting between a process and heddled, for the shim and for libheddle: how the process
 * describes itself and its device, how it receives the answer, and the text of each failure. */
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

/* An attribute of the device; 0 if the driver does not give it. */
uint32_t host_attribute(const struct cu_api *cu, CUdevice dev, CUdevice_attribute which);
/* Fills a HELLO from the environment (priority, weight, class), the program's file and the
 * device. */
void host_hello(const struct cu_api *cu, CUdevice dev, struct wire_hello *ret);
/* Receives the answer to a HELLO. 0: a WELCOME; the caller closes ret_fds. After an error no
 * descriptor is left open: -EACCES: refused, with the reason in *ret; -EPROTO: another protocol;
 * -ECONNRESET: closed without an answer; or the socket's error. */
int host_await_answer(int sock, union host_answer *ret, int ret_fds[3]);
/* The text for an error in finding or greeting heddled. -EPERM: the system refused the connection;
 * -ENOTDIR: wire_socket_path gave -EPERM. where: the socket's path; refusal: the reason for
 * -EACCES. The text may be in buf. */
const char *host_greeting_failed(int error, const char *where, const char *refusal, char buf[400]);

#endif
