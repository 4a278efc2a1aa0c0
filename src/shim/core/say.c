/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Prints lines on standard error, and sends the reason of a failure to `heddle run -v`. */
#include "shim/core/say.h"

#include "host/client.h"
#include "wire/wire.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void shim_say(const char *text, const char *more)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "heddle: %s%s\n", text, more);

	if (write(STDERR_FILENO, line, (size_t)MIN(n, (int)sizeof(line) - 1)) < 0)
		return; /* the message cannot be reported */
}

void shim_tell_watcher(const char *why)
{
	const char *path = secure_getenv(WIRE_REPORT_ENV);
	struct wire_refused m = {0};
	int sock = path && *path ? wire_connect(path, REPORT_MS) : -1;

	if (sock < 0)
		return;
	wire_head_init(&m.head, WIRE_REFUSED, sizeof(m));
	snprintf(m.why, sizeof(m.why), "%s", why);
	wire_send(sock, &m, NULL, 0);
	close(sock);
}

void shim_warn(const char *why)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;
	char line[HOST_FAILED + 80];
	int n;

	if (atomic_flag_test_and_set(&said))
		return;
	n = snprintf(line, sizeof(line), "heddle: %s; running natively\n", why);
	if (write(STDERR_FILENO, line, (size_t)MIN(n, (int)sizeof(line) - 1)) < 0)
		return; /* the message cannot be reported */
}

uint64_t shim_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
