/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Reports kernel faults and other problems of the virtual GPU to the destination that HEDDLE_VGPU's
 * report= names. The default is stderr, because users of a virtual GPU want the reason, and a
 * program's own output usually has only an error code. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drv.h"

void drv_report(const char *fmt, ...)
{
	char line[1024];
	const char *report = drv.config.report;
	struct sm_config early;
	int fd = STDERR_FILENO;
	va_list ap;

	/* cuInit has not set the destination yet. */
	if (!*report && sm_config_parse(secure_getenv("HEDDLE_VGPU"), &early) == 0)
		report = early.report;
	if (!strcmp(report, "none"))
		return;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n <= 0)
		return;
	n = (int)MIN((size_t)n, sizeof(line) - 1);
	if (*report && strcmp(report, "stderr")) {
		fd = open(report, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (fd < 0)
			return;
	}
	ssize_t done = write(fd, line, (size_t)n);
	(void)done; /* there is nowhere to report a failed write */
	if (fd != STDERR_FILENO)
		close(fd);
}

static const char *explain_error(int error)
{
	switch (error) {
	case -EAGAIN:
		return "no thread can be made to run it";
	case -ESTALE:
		return "another process took this one for dead and gave away its blocks; start it "
		       "again";
	default:
		return "no memory for its blocks";
	}
}

void drv_report_fault(const struct vgpu_fault *f, const char *kernel, int error)
{
	if (f)
		drv_report(
			"virtual GPU: %s%s%s\n", f->message, f->source[0] ? ": " : "", f->source);
	else
		drv_report("virtual GPU: %s: %s (%s)\n", kernel, explain_error(error),
			strerror(-error));
}
