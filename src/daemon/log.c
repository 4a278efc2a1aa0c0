/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* The log: one line an event on standard error, as service managers want it. */
#include "daemon.h"

#include <stdarg.h>
#include <stdio.h>

void hd_log(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* Names come from outside: nothing may look like a second line. */
	for (char *c = line; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
	}
	fprintf(stderr, "heddled: %s\n", line);
}
