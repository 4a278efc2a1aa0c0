/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reads any bytes as a message: an accepted message has the size of its type, and every string in
 * it is terminated. */
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void ends(const char *text, size_t max)
{
	if (strnlen(text, max) == max)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	union {
		struct wire_head head;
		struct wire_hello hello;
		struct wire_welcome welcome;
		struct wire_refused refused;
		struct wire_row row;
		struct wire_status status;
		struct wire_kernel kernel;
		char bytes[WIRE_MAX_BYTES];
	} m;
	char *exact;

	if (len > sizeof(m))
		return 0;
	/* Allocates the exact size, so that a sanitizer sees a read past the end. */
	exact = malloc(len + !len);
	if (!exact)
		return 0;
	memcpy(exact, data, len);
	if (wire_check(exact, len) == 0) {
		memcpy(m.bytes, exact, len);
		if (m.head.type == WIRE_HELLO) {
			ends(m.hello.device, sizeof(m.hello.device));
			ends(m.hello.name, sizeof(m.hello.name));
			ends(m.hello.group, sizeof(m.hello.group));
			ends(m.hello.driver, sizeof(m.hello.driver));
			if (m.hello.n_sms > CTL_MAX_SMS || !m.hello.n_sms || !m.hello.weight)
				abort();
		} else if (m.head.type == WIRE_ROW) {
			ends(m.row.name, sizeof(m.row.name));
		} else if (m.head.type == WIRE_KERNEL) {
			ends(m.kernel.name, sizeof(m.kernel.name));
			ends(m.kernel.device, sizeof(m.kernel.device));
			ends(m.kernel.driver, sizeof(m.kernel.driver));
		} else if (m.head.type == WIRE_STATUS) {
			ends(m.status.socket, sizeof(m.status.socket));
		} else if (m.head.type == WIRE_WELCOME) {
			ends(m.welcome.mps_pipe, sizeof(m.welcome.mps_pipe));
		} else if (m.head.type == WIRE_REFUSED) {
			ends(m.refused.why, sizeof(m.refused.why));
		}
	}
	free(exact);
	return 0;
}
