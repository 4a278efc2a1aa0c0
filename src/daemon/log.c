/* SPDX-License-Identifier: Apache-2.0
 * Copyright 2026 The heddle authors */

/* Writes one line for each message to standard error. If JOURNAL_STREAM is set, standard error is
 * the journal, and the line begins with the journal's prefix for the level. Otherwise it begins
 * with "heddled: ", and for warnings and errors also with the name of the level. */
#include "base/text.h"
#include "daemon.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_NS    1000000000u
#define LIMIT_LINES 20u

#define LINE_MAX_BYTES 8192 /* enough for a message with a path and an error text */

static uint32_t most = HD_LOG_INFO;
static const char *const words[] = {"error", "warning", "info", "debug"};

void hd_log_set_level(uint32_t level)
{
	most = level;
}

int hd_log_level_parse(const char *word, uint32_t *ret)
{
	for (unsigned i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i], word) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

bool hd_log_may(struct hd_log_limit *l, uint64_t now_ns, enum hd_log_level level, const char *what)
{
	if (now_ns - l->since_ns >= LIMIT_NS) {
		if (l->n > LIMIT_LINES)
			hd_log_at(level, "%s %u more", what, l->n - LIMIT_LINES);
		l->since_ns = now_ns;
		l->n = 0;
	}
	return l->n++ < LIMIT_LINES;
}

const char *hd_priority_name(int priority, char *buf)
{
	static const char *const names[] = {"low", "normal", "high"};

	if (priority >= 0 && priority < (int)ARRAY_LEN(names))
		snprintf(buf, 16, "%s", names[priority]);
	else
		snprintf(buf, 16, "%d", priority);
	return buf;
}

/* Formats a whole line with its newline, and returns its length. */
static size_t format_line(
	char ret[LINE_MAX_BYTES], enum hd_log_level level, const char *fmt, va_list ap)
{
	static const char *const journal[] = {"<3>", "<4>", "<6>", "<7>"};
	int n;

	if (getenv("JOURNAL_STREAM"))
		n = snprintf(ret, LINE_MAX_BYTES, "%s", journal[level]);
	else
		n = snprintf(ret, LINE_MAX_BYTES, "heddled: %s%s",
			level < HD_LOG_INFO ? words[level] : "", level < HD_LOG_INFO ? ": " : "");
	vsnprintf(ret + n, LINE_MAX_BYTES - 1 - (size_t)n, fmt, ap);
	/* Names come from other programs, and must not be able to start a second line. */
	text_plain(ret, strlen(ret), "");
	return strlen(strcat(ret, "\n"));
}

void hd_log_at(enum hd_log_level level, const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;

	if (level > most)
		return;
	va_start(ap, fmt);
	format_line(line, level, fmt, ap);
	va_end(ap);
	fputs(line, stderr);
}

void hd_log_last(const char *fmt, ...)
{
	struct pollfd p = {.fd = 2, .events = POLLOUT};
	char line[LINE_MAX_BYTES];
	size_t n;
	va_list ap;

	va_start(ap, fmt);
	n = format_line(line, HD_LOG_ERROR, fmt, ap);
	va_end(ap);
	if (poll(&p, 1, 0) == 1 && write(2, line, n) < 0)
		return;
}
